//! The files of a new project: their contents, and how they are written.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::choices::{AGENT_TEMPLATES, ModelAnswer, NewProject, text, usable_name};
use super::env_file;
use crate::config::file::DEFAULT_BASE_URL;
use crate::domain::Language;
use crate::fail_point::fail_point;

/// The comment on the key of a server that may need none.
const EMPTY_KEY_IS_FINE: &str =
    "    // From the environment or .env; it may stay empty where the server needs no key.";
/// The comment on a key without which only the built-in model works.
const EMPTY_KEY_IS_OFFLINE: &str =
    "    // From the environment or .env; until it is set, the built-in offline model answers.";

/// Paths for `.gitignore`.
const IGNORED: [&str; 2] = [".ship/", ".env"];

/// The file that holds secrets is readable by its owner only.
const ENV_MODE: u32 = 0o600;

/// An `Agent.md` of the template, with the name and what the agent is for.
fn agent_md(project: &NewProject) -> String {
    let language = project.language.unwrap_or_default();
    let template = AGENT_TEMPLATES.iter().find(|(of, _)| *of == language).map_or("", |(_, text)| text);
    let rest = template.split_once('\n').map_or("", |(_, rest)| rest);
    let rest = match &project.purpose {
        None => rest.to_owned(),
        // The first list is what the agent is for.
        Some(purpose) => rest.replacen("\n- ", &format!("\n- {}\n- ", purpose.replace('\n', "\n  ")), 1),
    };
    format!("# {}\n{rest}", project.name)
}

/// A short first `ship.json`.
fn ship_json(answers: &NewProject) -> String {
    let mut lines = vec![
        "// Check this file with `shipagent config check`; `shipagent config schema` prints every key."
            .to_owned(),
        "{".to_owned(),
        format!("  \"name\": {},", text(&answers.name)),
    ];
    if let Some(language) = answers.language {
        lines.push(format!("  \"language\": {},", json!(language)));
    }
    lines.push("  \"llm\": {".to_owned());
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
    lines.extend(["  },".to_owned(), "}".to_owned()]);
    lines.join("\n") + "\n"
}

/// The variables the project needs, as an example of a `.env`.
fn env_example(answers: &NewProject) -> String {
    let mut lines = vec!["# Copy this file to .env and fill it in. Never check .env in.".to_owned()];
    lines.extend(variables(answers).into_iter().map(|name| format!("{name}=")));
    lines.join("\n") + "\n"
}

/// The variables the project needs.
pub(crate) fn variables(answers: &NewProject) -> Vec<String> {
    let model = match &answers.model {
        ModelAnswer::Offline => None,
        ModelAnswer::Server { key_variable, .. } => key_variable.clone(),
    };
    let adapters = answers.adapters.iter().flat_map(|adapter| adapter.def.credentials());
    model.into_iter().chain(adapters.map(|(_, variable)| variable.to_owned())).collect()
}

/// The lines that a `.gitignore` lacks, if any.
fn gitignore(existing: &str) -> Option<String> {
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

/// How to treat a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfExists {
    Keep,
    Replace,
}

/// The result of writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteResult {
    Written,
    /// It was replaced.
    Replaced,
    /// It was left unchanged.
    Kept,
}

/// How to treat each file that exists. `.env` and `.gitignore` only get what they lack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverwriteRules {
    pub(crate) agent_md: IfExists,
    pub(crate) ship_json: IfExists,
    pub(crate) env_example: IfExists,
}

/// The files in the order in which people are told about them, with what became of each.
pub(crate) type FileWritten = (&'static str, WriteResult);

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub(crate) struct WriteError {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// Writes the files of a project, each atomically and `ship.json` last: whenever the process ends, what is there is a
/// project that starts.
pub(crate) fn write_project(
    project: &Path,
    answers: &NewProject,
    rules: OverwriteRules,
) -> Result<Vec<FileWritten>, WriteError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError { path, source }
    };
    fs::create_dir_all(project).map_err(failed(project))?;
    let existing = |name: &str| {
        let path = project.join(name);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path)(error)),
            read => Ok(read.unwrap_or_default()),
        }
    };
    let mut written = Vec::new();
    let mut write = |name: &'static str, text: &str, rule, mode| {
        let path = project.join(name);
        written.push((name, place(&path, text, rule, mode).map_err(failed(&path))?));
        Ok::<_, WriteError>(())
    };
    if in_git_repository(project)
        && let Some(text) = gitignore(&existing(".gitignore")?)
    {
        write(".gitignore", &text, IfExists::Replace, None)?;
    }
    if !variables(answers).is_empty() {
        write(".env.example", &env_example(answers), rules.env_example, None)?;
    }
    if !answers.secrets.is_empty() {
        let text = env_file::with_values(&existing(".env")?, &answers.secrets);
        write(".env", &text, IfExists::Replace, Some(ENV_MODE))?;
    }
    fail_point("onboarding-env-written");
    write("Agent.md", &agent_md(answers), rules.agent_md, None)?;
    fail_point("onboarding-agent-written");
    write("ship.json", &ship_json(answers), rules.ship_json, None)?;
    let order = ["Agent.md", "ship.json", ".env.example", ".env", ".gitignore"];
    written.sort_by_key(|(name, _)| order.iter().position(|known| known == name));
    Ok(written)
}

/// Writes the template of an `Agent.md` where there is none.
pub(crate) fn write_template(project: &Path, language: Language) -> Result<(), WriteError> {
    let resolved = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let name = resolved.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.and_then(|name| usable_name(&name, language).ok());
    let answers = NewProject {
        name: name.unwrap_or_else(|| "my-agent".to_owned()),
        purpose: None,
        language: Some(language),
        model: ModelAnswer::Offline,
        adapters: Vec::new(),
        secrets: Vec::new(),
    };
    let path = project.join("Agent.md");
    match place(&path, &agent_md(&answers), IfExists::Keep, None) {
        Ok(_) => Ok(()),
        Err(source) => Err(WriteError { path, source }),
    }
}

fn in_git_repository(project: &Path) -> bool {
    let resolved = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    resolved.ancestors().any(|dir| dir.join(".git").exists())
}

/// Writes a file atomically, with this mode or the one that it has.
fn place(path: &Path, text: &str, existing: IfExists, mode: Option<u32>) -> io::Result<WriteResult> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let kept = || fs::metadata(path).ok().map(|old| old.permissions().mode() & 0o777);
    let mut file = tempfile::Builder::new()
        .prefix(".shipagent-")
        .permissions(Permissions::from_mode(mode.or_else(kept).unwrap_or(0o666)))
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
