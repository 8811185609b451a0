//! The outer helper: sets up namespaces, starts the keeper, and ends when no process of the command is left.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use super::control::{Control, HelperReport};
use super::helper_stage::{FLAG, HelperStage};
use super::linux;
use super::spec::{Isolation, Spec};

pub(super) fn run() -> ExitCode {
    let Ok(mut control) = Control::from_stdin() else { return ExitCode::FAILURE };
    match control
        .spec()
        .map_err(|error| format!("the spec cannot be read: {error}"))
        .and_then(|spec| supervise(&spec))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            control.report(&HelperReport::Failed { why });
            ExitCode::FAILURE
        }
    }
}

fn supervise(spec: &Spec) -> Result<(), String> {
    // A new session, without a terminal to read from or write to. It fails only where we have one already.
    rustix::process::setsid().ok();
    linux::adopt_orphans().map_err(|error| format!("orphans cannot be adopted: {error}"))?;
    if spec.isolation == Isolation::Namespaces {
        linux::separate(spec)?;
    }
    let mut keeper = Command::new(linux::SELF)
        .arg0("shipagent")
        .args([FLAG, HelperStage::Keep.name()])
        .stdin(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("the inner helper cannot be started: {error}"))?;
    // The inner helper has reported its own outcome; the supervisor only ends the processes that remain.
    let waited: io::Result<_> = keeper.wait();
    linux::end_children();
    waited.map(drop).map_err(|error| format!("the inner helper cannot be waited for: {error}"))
}
