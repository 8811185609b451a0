//! `shipagent doctor`: checks everything the agent needs and advises.
//!
//! `probes`, `model` and `chats` find facts, `fact` rates them, `words` phrases them, `run` orders and prints them.

mod chats;
mod fact;
mod model;
mod probes;
mod run;
mod words;

pub use chats::HttpFactory;
pub use model::{ListModels, ModelFactory};
pub use run::{DoctorInput, doctor};
