//! `shipagent access`: who was let in beyond what `ship.json` says. Works beside a running daemon or without one.

mod list;
mod run;

pub use run::run;
