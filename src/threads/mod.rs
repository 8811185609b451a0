//! The actors: one per thread, and the router that finds them.
//!
//! An actor owns its thread's history, run and jobs; everybody else sends it messages. It decides nothing by
//! itself: `turn` does, and the actor performs what it says. Knows no platform, file or HTTP.

mod actor;
mod arrivals;
mod asking;
mod count;
mod deliver;
mod discreet;
mod execution;
mod governing;
mod jobs;
mod mailbox;
mod outbound;
mod perform;
mod progress;
mod redaction;
mod remembering;
mod resting;
mod router;
mod stage;
mod waiters;
mod workshop;
mod wound;

pub use discreet::DiscreetModel;
pub use router::Router;
pub use workshop::{AgentFacts, Asking, Limits, Workshop};
