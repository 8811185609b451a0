//! `shipagent doctor`: checks everything the agent needs and advises.
//!
//! `probes`, `model` and `platforms` find facts, `fact` rates them, `fact_text` phrases them, `run` orders and prints them.

mod fact;
mod fact_text;
mod model;
mod platforms;
mod probes;
mod run;

pub use model::{ListModels, ModelFactory};
pub use platforms::HttpFactory;
pub use run::{DoctorInput, doctor};
