//! `shipagent service`: installs the project's daemon as a systemd service and looks after it.

mod run;
mod unit;

pub(super) use run::run;
