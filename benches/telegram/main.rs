//! What the Telegram adapter costs, measured from the outside: the real binary against a Bot API and a model on the
//! loopback, with everything kept on the disk, beside `examples/bare_teloxide.rs`, which makes the same model call and
//! keeps nothing. Prints one table.
//!
//! ```text
//! cargo bench --bench telegram                        every figure
//! cargo bench --bench telegram -- start overhead      these figures
//! cargo bench --bench telegram -- crowd --alone       without the bare bot
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark that cannot measure has nothing better to do than to say so and stop"
)]

mod bot_api;
mod bots;
mod compare;
mod crowd;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/fakes/mod.rs"]
mod fakes;
#[expect(dead_code, reason = "the daemon's benchmark uses all of it")]
#[path = "../common/measure.rs"]
mod measure;
mod model;
mod overhead;
#[path = "../common/process.rs"]
mod process;
mod start;
#[expect(dead_code, reason = "the daemon's benchmark uses all of it")]
#[path = "../common/table.rs"]
mod table;

use compare::Comparison;
use table::Table;

/// What can be measured, in the order of the table.
const FIGURES: [&str; 5] = ["start", "idle", "overhead", "crowd", "size"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` runs this too, unoptimised and among other tests: nothing worth measuring.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("the figures are measured by `cargo bench`");
        return;
    }
    let bare = !args.iter().any(|arg| arg == "--alone");
    let asked: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
    if let Some(unknown) = asked.iter().find(|name| !FIGURES.contains(name)) {
        panic!("there is no figure {unknown:?}: there are {}", FIGURES.join(", "));
    }
    if bare {
        bots::build_example();
    }
    measure::allow_many_sockets();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let table = Table::new(["Figure", "Target", "shipagent", "bare teloxide"]);
    let mut comparison = Comparison { table, bare };
    for figure in FIGURES.iter().filter(|figure| asked.is_empty() || asked.contains(*figure)) {
        eprintln!("measuring: {figure}");
        match *figure {
            "start" => runtime.block_on(start::to_first_poll(&mut comparison)),
            "idle" => runtime.block_on(start::idle(&mut comparison)),
            "overhead" => runtime.block_on(overhead::overhead(&mut comparison)),
            "crowd" => runtime.block_on(crowd::crowd(&mut comparison)),
            _ => runtime.block_on(start::size(&mut comparison)),
        }
    }
    println!("\n{}", comparison.table);
}
