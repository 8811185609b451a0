//! What concerns all chat platforms.

mod enrich;
mod irc;
mod shown;
mod soak;
mod table;
mod targets;
mod together;

use std::path::PathBuf;
use std::process::Command;

use crate::fakes::daemon::Project;

/// The same command line as for the program of the crate, with the program of an example. Cargo builds it with the tests.
fn example(name: &str, project: &Project, args: &[&str]) -> Command {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_shipagent")).with_file_name("examples").join(name);
    assert!(built.is_file(), "{} is missing: run `cargo build --example {name}`", built.display());
    let own = project.command(args);
    let mut command = Command::new(built);
    command.args(own.get_args()).env_clear();
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}
