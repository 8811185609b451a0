//! Makes the console's bundle, and has the linker pack the table of relocations where the system's loader supports that:
//! the table is a megabyte that would otherwise be read at every start and stay in memory.

#![expect(clippy::disallowed_methods, reason = "what cargo has to say it says in the environment")]

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[path = "adapters/web/bundle.rs"]
mod bundle;

/// The sources of the console.
const PAGE: &str = "src/adapters/web/page";

/// The first glibc whose loader supports a packed table.
const FIRST: (u32, u32) = (2, 36);

fn main() -> Result<(), Box<dyn Error>> {
    cargo("rerun-if-changed=src/build.rs");
    bundle_page()?;
    if is_native_gnu_linux() && glibc().is_some_and(|version| version >= FIRST) {
        cargo("rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    Ok(())
}

/// Writes the bundle to the build output, and passes the names it is served under to the compiler.
fn bundle_page() -> Result<(), Box<dyn Error>> {
    cargo("rerun-if-changed=src/adapters/web/bundle.rs");
    cargo(&format!("rerun-if-changed={PAGE}"));
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(PAGE)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(name, fs::read_to_string(path)?);
    }
    let made = bundle::bundle(&files)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("page.html"), made.html)?;
    fs::write(out.join("page.js"), &made.script.text)?;
    fs::write(out.join("page.css"), &made.style.text)?;
    let mut table = String::from("&[");
    for chunk in &made.chunks {
        let file = out.join(&chunk.name);
        fs::write(&file, &chunk.text)?;
        table.push_str(&format!("({:?}, include_str!({:?})),", format!("/assets/{}", chunk.name), file));
    }
    fs::write(out.join("page_chunks.rs"), table + "]")?;
    cargo(&format!("rustc-env=PAGE_SCRIPT={}", made.script.name));
    cargo(&format!("rustc-env=PAGE_STYLE={}", made.style.name));
    Ok(())
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
