//! `shipagent memory` and `shipagent tasks`.

mod change;
mod export;
mod import;
mod run;
mod search;
mod show;

pub use run::run;
pub use show::tasks;
