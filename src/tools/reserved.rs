//! Which files of the project no tool may reach: the daemon's own state, its settings, and secrets. Pure.

use std::ffi::OsStr;
use std::path::Path;

/// Whether a path, relative to the project, is out of reach. `own_files` is the one folder of the daemon's
/// state that the asking thread may use.
pub(super) fn is_reserved(relative: &Path, own_files: &Path) -> bool {
    let rest = relative.strip_prefix(own_files).unwrap_or(relative);
    rest.iter().any(is_reserved_name)
}

/// Whether a file or folder of this name is out of reach wherever it stands.
pub(super) fn is_reserved_name(name: &OsStr) -> bool {
    let name = folded(&name.to_string_lossy());
    match name.as_str() {
        ".ship" | "ship.json" | ".env" => true,
        ".env.example" => false,
        other => other.starts_with(".env."),
    }
}

/// The name as a file system that folds case, drops invisible characters or trailing dots would take it.
fn folded(name: &str) -> String {
    let visible: String = name.chars().filter(|letter| !invisible(*letter)).collect();
    // Upper first: letters such as the long s have a plain upper case but no other lower case.
    visible.to_uppercase().to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

fn invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(u32::from(letter), 0xAD | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0xFE00..=0xFE0F | 0xFEFF)
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
