//! The files that `init` writes: their contents, and how they are written.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::answers::{Answers, ModelAnswer};
use crate::config::file::DEFAULT_BASE_URL;

/// The template of `Agent.md` below its first line, the name.
const AGENT_MD: &str = include_str!("../../../Agent.md.example");

/// The comment on the key of a server that may need none.
const EMPTY_KEY_IS_FINE: &str =
    "    // From the environment or .env; it may stay empty where the server needs no key.";
/// The comment on a key without which only the built-in model works.
const EMPTY_KEY_IS_OFFLINE: &str =
    "    // From the environment or .env; until it is set, the built-in offline model answers.";

/// Paths for `.gitignore`.
const IGNORED: [&str; 2] = [".ship/", ".env"];

pub(super) fn agent_md(answers: &Answers) -> String {
    let rest = AGENT_MD.split_once('\n').map_or("", |(_, rest)| rest);
    format!("# {}\n{rest}", answers.name)
}

/// A short first `ship.json`.
pub(super) fn ship_json(answers: &Answers) -> String {
    let mut lines = vec![
        "// Check this file with `shipagent config check`; `shipagent config schema` prints every key."
            .to_owned(),
        "{".to_owned(),
        format!("  \"name\": {},", text(&answers.name)),
        "  \"llm\": {".to_owned(),
    ];
    match &answers.model {
        ModelAnswer::Offline => lines.push("    \"provider\": \"offline\",".to_owned()),
        ModelAnswer::Server { base_url, model, key_variable } => {
            if let Some(url) = base_url {
                lines.push(format!("    \"baseUrl\": {},", text(url)));
            }
            if let Some(variable) = key_variable {
                let own =
                    base_url.as_deref().is_some_and(|url| url.trim_end_matches('/') != DEFAULT_BASE_URL);
                lines.push(if own { EMPTY_KEY_IS_FINE } else { EMPTY_KEY_IS_OFFLINE }.to_owned());
                lines.push(format!("    \"apiKey\": \"${{{variable}:-}}\","));
            }
            lines.push(format!("    \"model\": {},", text(model)));
        }
    }
    lines.extend(["  },".to_owned(), "  \"adapters\": {".to_owned()]);
    for adapter in &answers.adapters {
        let keys: Vec<String> =
            adapter.keys.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        lines.push(format!("    \"{}\": {{ {} }},", adapter.def.name, keys.join(", ")));
    }
    lines.push("    \"web\": { \"listen\": \"127.0.0.1:7717\" },".to_owned());
    lines.extend(["  },".to_owned(), "}".to_owned()]);
    lines.join("\n") + "\n"
}

/// The variables the project needs, as an example of a `.env`.
pub(super) fn env_example(answers: &Answers) -> String {
    let mut lines = vec!["# Copy this file to .env and fill it in. Never check .env in.".to_owned()];
    lines.extend(variables(answers).into_iter().map(|name| format!("{name}=")));
    lines.join("\n") + "\n"
}

/// The variables the project needs.
pub(super) fn variables(answers: &Answers) -> Vec<String> {
    let model = match &answers.model {
        ModelAnswer::Offline => None,
        ModelAnswer::Server { key_variable, .. } => key_variable.clone(),
    };
    let adapters = answers.adapters.iter().flat_map(|adapter| adapter.def.credentials());
    model.into_iter().chain(adapters.map(|(_, variable)| variable.to_owned())).collect()
}

/// The lines that a `.gitignore` lacks, if any.
pub(super) fn gitignore(existing: &str) -> Option<String> {
    let present = |entry: &str| {
        let bare = entry.trim_matches('/');
        existing.lines().any(|line| line.trim().trim_matches('/') == bare)
    };
    let missing: Vec<&str> = IGNORED.into_iter().filter(|entry| !present(entry)).collect();
    if missing.is_empty() {
        return None;
    }
    let mut text = existing.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text + &missing.join("\n") + "\n")
}

/// A JSON string in which `${` is escaped.
pub(super) fn text(raw: &str) -> String {
    Value::String(raw.replace("${", "$${")).to_string()
}

/// How to treat a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfExists {
    Keep,
    Replace,
}

/// The result of writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteResult {
    Written,
    /// It was replaced.
    Replaced,
    /// It was left unchanged.
    Kept,
}

/// Writes a file atomically.
pub(super) fn place(path: &Path, text: &str, existing: IfExists) -> io::Result<WriteResult> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mode = fs::metadata(path).ok().map_or(0o666, |old| old.permissions().mode() & 0o777);
    let mut file = tempfile::Builder::new()
        .prefix(".shipagent-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let there = path.symlink_metadata().is_ok();
    match existing {
        IfExists::Replace => {
            file.persist(path).map_err(|failed| failed.error)?;
            Ok(if there { WriteResult::Replaced } else { WriteResult::Written })
        }
        IfExists::Keep => match file.persist_noclobber(path) {
            Ok(_) => Ok(WriteResult::Written),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(WriteResult::Kept),
            Err(failed) => Err(failed.error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gitignore_gets_only_what_it_lacks() {
        for (existing, expected) in [
            ("", Some(".ship/\n.env\n")),
            ("target", Some("target\n.ship/\n.env\n")),
            (".env\n", Some(".env\n.ship/\n")),
            ("/.ship\n", Some("/.ship\n.env\n")),
            (" .ship/ \n.env", None),
        ] {
            assert_eq!(gitignore(existing).as_deref(), expected, "{existing:?}");
        }
    }
}
