//! The settings of a project, for commands that can do nothing without them.

use std::io::{self, Write};
use std::path::Path;

use crate::config::{Env, Settings};
use crate::ports::AdapterTable;

/// The settings; nothing where they are not as they should be, which then has been said.
pub(super) fn load_or_say(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    err: &mut dyn Write,
) -> io::Result<Option<Settings>> {
    match Settings::load(project, env, adapters) {
        Ok(settings) => Ok(Some(settings)),
        Err(errors) => writeln!(err, "{errors}").map(|()| None),
    }
}
