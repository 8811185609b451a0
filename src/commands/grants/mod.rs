//! `shipagent grants`: looks at what was allowed for longer than once, and takes it back, beside a running daemon or
//! without one.

mod list;
mod run;

pub use run::run;
