//! `shipagent doctor`: looks at everything the agent needs and says what to do.
//!
//! `probes` and `model` find facts, `fact` judges them, `words` says them to people, `run` puts them in order.

mod fact;
mod model;
mod probes;
mod run;
mod words;

pub use model::ModelFactory;
pub use run::{Surgery, doctor};
