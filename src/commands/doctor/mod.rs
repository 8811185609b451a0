//! `shipagent doctor`: looks at everything the agent needs and says what to do.
//!
//! `probes`, `model` and `chats` find facts, `fact` judges them, `words` says them to people, `run` puts them in order.

mod chats;
mod fact;
mod model;
mod probes;
mod run;
mod words;

pub use chats::HttpFactory;
pub use model::{ListModels, ModelFactory};
pub use run::{DoctorInput, doctor};
