//! The run in flight: its message, its steps and its calls. No code outside this folder touches a field of [`Run`].
//!
//! [`Run`]: run::Run

mod calls;
mod closed_calls;
mod loop_guard;
pub(super) mod open_calls;
pub(super) mod over_budget;
pub(super) mod promotion;
pub(super) mod recover;
pub(super) mod run;
pub(super) mod run_messages;
pub(super) mod steps;
