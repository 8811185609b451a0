//! `shipagent service`: installs the project's daemon as a systemd service and looks after it.

mod service_command;
mod unit;

pub(super) use service_command::run;
