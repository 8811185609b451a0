//! Platforms. A new one is a folder here and a line in the [`table`](builtin), which the rest of the program iterates
//! over.
//!
//! Nothing here runs agent logic: an adapter submits events to the threads and delivers their output.

pub mod chat;
pub mod feishu;
mod health;
pub mod qq;
mod registry;
mod reloadable;
mod submission;
mod supervise;
mod surface;
mod table;
pub mod telegram;
pub mod web;

pub use crate::domain::Backoff;
pub use health::{AdapterHealths, Health, HealthReport};
pub use registry::AdapterSet;
pub use reloadable::ReloadableAdapter;
pub use supervise::supervise;
pub use surface::PullSurface;
pub use table::builtin;
