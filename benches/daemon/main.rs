//! What the daemon costs, measured from the outside: the real binary over the loopback, in scratch projects, against
//! a scripted model. Prints one table.
//!
//! ```text
//! cargo bench                                      every figure
//! cargo bench --bench daemon -- start message      these figures
//! cargo bench --bench daemon -- size --build       and the time of a clean release build
//! cargo bench --bench daemon -- histories          memory of long histories, which takes ten minutes
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

mod conversation;
mod crowd;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/fakes/mod.rs"]
mod fakes;
mod groups;
mod histories;
mod ledger;
mod long_thread;
#[path = "../common/measure.rs"]
mod measure;
mod memory_use;
mod message;
#[path = "../common/process.rs"]
mod process;
mod site;
mod size;
mod start;
#[path = "../common/table.rs"]
mod table;
mod tasks;
mod thread_files;

use table::Table;

/// What can be measured, in the order of the table.
const FIGURES: [&str; 13] = [
    "start",
    "idle",
    "message",
    "files",
    "ledger",
    "tasks",
    "long",
    "memory",
    "crowd",
    "together",
    "throughput",
    "groups",
    "size",
];

/// What takes too long to be measured unless it is asked for.
const ON_REQUEST: [&str; 1] = ["histories"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` runs this too, unoptimised and among other tests: nothing worth measuring.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("the figures are measured by `cargo bench`");
        return;
    }
    let build = args.iter().any(|arg| arg == "--build");
    let asked: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
    let known: Vec<&str> = FIGURES.into_iter().chain(ON_REQUEST).collect();
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        panic!("there is no figure {unknown:?}: there are {}", known.join(", "));
    }
    measure::allow_many_sockets();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut table = Table::new(["Figure", "Target", "Measured", "Met"]);
    let wanted = |figure: &&str| {
        if asked.is_empty() { FIGURES.contains(figure) } else { asked.contains(figure) }
    };
    for figure in known.iter().filter(|figure| wanted(figure)) {
        eprintln!("measuring: {figure}");
        match *figure {
            "start" => start::to_ready(&mut table),
            "idle" => start::idle(&mut table),
            "message" => runtime.block_on(message::overhead(&mut table)),
            "files" => start::with_many_files(&mut table),
            "ledger" => ledger::many_lines(&mut table),
            "tasks" => tasks::many(&mut table),
            "long" => runtime.block_on(long_thread::first_reply(&mut table)),
            "memory" => runtime.block_on(memory_use::figures(&mut table)),
            "crowd" => runtime.block_on(crowd::at_once(&mut table)),
            "together" => runtime.block_on(crowd::together(&mut table)),
            "groups" => runtime.block_on(groups::together(&mut table)),
            "histories" => runtime.block_on(histories::memory(&mut table)),
            "throughput" => runtime.block_on(crowd::throughput(&mut table)),
            _ => size::size(&mut table, build),
        }
    }
    println!("\n{table}");
}
