//! The files of the project that no tool may access: the daemon's own state, its settings, and secrets. Pure.

use std::ffi::OsStr;
use std::path::Path;

use crate::policy::paths;

/// Whether a path, relative to the project, is reserved. `own_files` is the one folder of the daemon's state that the
/// thread of the call may use.
pub(super) fn is_reserved(relative: &Path, own_files: &Path) -> bool {
    let rest = relative.strip_prefix(own_files).unwrap_or(relative);
    rest.iter().any(is_reserved_name)
}

/// Whether a file or folder of this name is reserved at any place.
pub(super) fn is_reserved_name(name: &OsStr) -> bool {
    paths::is_reserved_name(&name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = ".ship/files/web%3Achat%3A1";

    fn reserved(path: &str) -> bool {
        is_reserved(Path::new(path), Path::new(OWN))
    }

    #[test]
    fn state_settings_and_secrets_are_out_of_reach_in_every_spelling() {
        for path in [
            ".ship",
            ".ship/run/token",
            ".ship/files",
            ".ship/files/web%3Achat%3A2/a.png",
            ".ship/files/web%3Achat%3A10",
            ".SHIP/run",
            ".Ship/files/web%3Achat%3A1/a.png",
            ".\u{17f}hip/run",
            ".sh\u{200d}ip/run",
            "ship.json",
            "SHIP.JSON",
            "ship.json.",
            "sub/ship.json",
            ".env",
            ".ENV",
            ".env ",
            ".env.local",
            ".Env.Production",
            "deep/down/.env",
            ".env/inner",
            ".ship/files/web%3Achat%3A1/.env",
        ] {
            assert!(reserved(path), "{path:?}");
        }
    }

    #[test]
    fn everything_else_is_within_reach() {
        for path in [
            "",
            "src/main.rs",
            ".env.example",
            ".envrc",
            "env",
            "ship.jsonc",
            "my-ship.json",
            "ships/a",
            ".shipping",
            ".ship/files/web%3Achat%3A1",
            ".ship/files/web%3Achat%3A1/a.png",
            "文档/说明.md",
        ] {
            assert!(!reserved(path), "{path:?}");
        }
    }
}
