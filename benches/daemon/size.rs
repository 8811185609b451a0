//! What a newcomer builds and what comes out.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::table::Table;

const BINARY: &str = env!("CARGO_BIN_EXE_shipagent");
const CARGO: &str = env!("CARGO");

pub(crate) fn size(table: &mut Table, build: bool) {
    let bytes = std::fs::metadata(BINARY).unwrap().len();
    table.plain(
        "size of the binary",
        &format!("{:.1} MB", u32::try_from(bytes).map(f64::from).unwrap() / 1e6),
    );
    let (linked, compiled) = (crates("normal,no-proc-macro"), crates("normal,build"));
    table.plain("crates", &format!("{linked} linked, {compiled} compiled"));
    let figure = "clean release build";
    if build {
        let took = clean_build();
        table.target(figure, "≤ 360 s", &format!("{took:.0} s"), took <= 360.0);
    } else {
        table.skipped(figure, "≤ 360 s", "run with --build");
    }
}

/// How many crates other than this one are reached over these edges.
fn crates(edges: &str) -> usize {
    let tree = Command::new(CARGO)
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}", "--edges", edges])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).unwrap();
    let names: BTreeSet<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    names.len().saturating_sub(1)
}

/// Seconds from nothing, with what is downloaded already left out.
fn clean_build() -> f64 {
    let target = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let status = Command::new("nice")
        .args([CARGO, "build", "--release", "--locked", "--target-dir"])
        .arg(target.path())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "the build failed");
    begun.elapsed().as_secs_f64()
}
