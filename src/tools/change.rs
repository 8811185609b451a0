//! A change of a file that is worked out but not made: for showing it, and for making it.

use std::io::Read;

use serde_json::{Value, json};

use super::confine::{Confinement, Inside};
use super::diff::{Diff, diff};
use super::edit_file::plan_edit;
use super::exec_shell::Redact;
use super::sniff::binary_kind;
use super::version::version_of;
use super::write_file::plan_write;
use crate::ports::{ToolFailure, ToolOutcome};

/// The most that is written, and that is read to be changed.
pub(super) const FILE_BYTES: usize = 4 * 1024 * 1024;

/// A change of one file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) inside: Inside,
    /// What is there now.
    pub(super) before: Option<String>,
    /// What is to be there.
    pub(super) after: String,
}

impl Change {
    /// Makes the change.
    pub(super) fn make(&self, confinement: &Confinement) -> ToolOutcome {
        if self.before.as_deref() != Some(self.after.as_str()) {
            confinement.replace(&self.inside, self.after.as_bytes())?;
        }
        Ok(json!({
            "path": self.inside.shown(),
            "created": self.before.is_none(),
            "size": self.after.len(),
            "version": version_of(self.after.as_bytes()),
        }))
    }
}

/// What a call of `write_file` or `edit_file` would change, as a unified diff without secrets; nothing for any other
/// tool. Fails as the call would. Touches the disk, but changes nothing.
pub fn preview(
    tool: &str,
    arguments: &Value,
    confinement: &Confinement,
    redact: &Redact,
) -> Option<Result<Diff, ToolFailure>> {
    let change = match tool {
        "write_file" => plan_write(arguments.clone(), confinement),
        "edit_file" => plan_edit(arguments.clone(), confinement).map(|(change, _)| change),
        _ => return None,
    };
    Some(change.map(|change| {
        // Before they are compared: the marks of a diff would stand between the lines of a secret.
        let before = change.before.as_deref().map(|text| redact.apply(text));
        diff(&change.inside.shown(), before.as_deref(), &redact.apply(&change.after))
    }))
}

/// The text of a file that is to be changed; nothing where there is none.
pub(super) fn current_text(
    confinement: &Confinement,
    inside: &Inside,
) -> Result<Option<String>, ToolFailure> {
    if !confinement.absolute(inside).try_exists().unwrap_or(true) {
        return Ok(None);
    }
    let shown = inside.shown();
    let opened = confinement.open(inside)?;
    if opened.size > FILE_BYTES as u64 {
        return Err(ToolFailure::Refused(format!("{shown} is too large to be changed here")));
    }
    let mut bytes = Vec::new();
    opened
        .file
        .take(FILE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ToolFailure::Failed(format!("{shown} cannot be read: {error}")))?;
    let text = if binary_kind(&bytes).is_some() { None } else { String::from_utf8(bytes).ok() };
    text.map(Some)
        .ok_or_else(|| ToolFailure::Refused(format!("{shown} is not a text in UTF-8; it is left as it is")))
}

/// Refuses what is too much for one file.
pub(super) fn check_size(bytes: usize) -> Result<(), ToolFailure> {
    if bytes <= FILE_BYTES {
        return Ok(());
    }
    let most = FILE_BYTES / (1024 * 1024);
    Err(ToolFailure::BadArguments(format!(
        "the content is larger than {most} MiB; write it in several files"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    #[test]
    fn a_change_is_shown_before_it_is_made_and_changes_nothing() {
        let project = Project::new();
        project.file("a.txt", "one\ntwo\n");
        let redact = Redact::new(|text| text.replace("hunter2", "[redacted]"));
        let confinement = Confinement::new(&project.context());
        let preview = |tool, arguments: Value| preview(tool, &arguments, &confinement, &redact);
        let call = json!({"path": "a.txt", "old": "two", "new": "2"});
        let shown = preview("edit_file", call).unwrap().unwrap().text;
        assert!(shown.contains("-two\n+2\n"), "{shown}");
        let call = json!({"path": "b/c.txt", "content": "new hunter2\n"});
        let shown = preview("write_file", call).unwrap().unwrap().text;
        assert!(shown.ends_with("+new [redacted]\n"), "{shown}");
        assert!(shown.contains("--- /dev/null\n+++ b/b/c.txt\n"), "{shown}");
        assert!(preview("edit_file", json!({"path": "a.txt", "old": "x", "new": "y"})).unwrap().is_err());
        assert!(preview("write_file", json!({"path": ".env", "content": ""})).unwrap().is_err());
        assert!(preview("read_file", json!({"path": "a.txt"})).is_none());
        assert_eq!(std::fs::read(project.path("a.txt")).unwrap(), b"one\ntwo\n");
        assert!(!project.path("b").exists());
    }
}
