//! Small projects to try things on.

use std::fs::File;
use std::io::Write;

use tempfile::TempDir;

use crate::adapters::builtin;
use crate::config::{ConfigErrors, Env, Settings};

/// A directory with these files.
pub(super) fn project(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        File::create(dir.path().join(name)).unwrap().write_all(text.as_bytes()).unwrap();
    }
    dir
}

/// What becomes of a project with this `ship.json`.
pub(super) fn load(ship: &str, env: &Env) -> Result<Settings, ConfigErrors> {
    Settings::load(project(&[("Agent.md", "Be kind."), ("ship.json", ship)]).path(), env, &builtin())
}
