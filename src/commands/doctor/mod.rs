//! `shipagent doctor`: checks everything the agent needs and advises.
//!
//! `probes`, `model`, `platforms` and `voice` find facts, `fact` rates them, `fact_text` phrases them, `report` orders and prints them;
//! `checkup` has the parts of this machine.

mod checkup;
mod fact;
mod fact_text;
mod groups;
mod model;
mod platforms;
mod probes;
mod report;
mod voice;

pub use checkup::{DaemonCheckup, doctor_here};
pub use model::{ListModels, ModelFactory};
pub use platforms::HttpFactory;
pub use report::{DoctorInput, doctor};
pub use voice::{SpeechFactory, SpeechProviders};
