//! The `shipagent` program: [`shipagent::program`] with the platforms of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    shipagent::program::run(&shipagent::adapters::builtin())
}
