//! Has the linker pack the table of relocations where the system's loader supports that: the table is a megabyte that
//! would otherwise be read at every start and stay in memory.

#![expect(clippy::disallowed_methods, reason = "what cargo has to say it says in the environment")]

use std::env;
use std::process::Command;

/// The first glibc whose loader supports a packed table.
const FIRST: (u32, u32) = (2, 36);

fn main() {
    cargo("rerun-if-changed=src/build.rs");
    if is_native_gnu_linux() && glibc().is_some_and(|version| version >= FIRST) {
        cargo("rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn cargo(order: &str) {
    println!("cargo::{order}");
}

/// Whether the binary is linked with the libraries of this machine.
fn is_native_gnu_linux() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|known| known == value);
    is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var("HOST").is_ok_and(|host| is("TARGET", &host))
}

fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}
