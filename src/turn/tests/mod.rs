//! The machine, driven by hand: no model, no disk, no clock.

mod driver;
mod flow;
mod recovery;
mod waiting;
