//! A proposed change of a file: for previewing and for applying it.

use std::io::Read;

use serde_json::json;

use super::confine::{Confinement, Inside};
use super::exec_shell::Redact;
use super::file_change::{diff, version_of};
use super::sniff::binary_kind;
use crate::ports::{TextChange, ToolFailure, ToolOutcome};

/// Largest file that is written or edited.
pub(super) const FILE_BYTES: usize = 4 * 1024 * 1024;

/// A proposed change of one file.
#[derive(Debug)]
pub(super) struct FileChange {
    pub(super) inside: Inside,
    pub(super) before: Option<String>,
    pub(super) after: String,
}

impl FileChange {
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

impl From<FileChange> for TextChange {
    fn from(FileChange { inside, before, after }: FileChange) -> Self {
        Self { path: inside.shown(), before, after, explanation: None }
    }
}

/// A change as a redacted unified diff.
pub fn redacted_diff(change: &TextChange, redact: &Redact) -> String {
    // Redacted before the comparison: the marks of a diff would split a secret of several lines.
    let before = change.before.as_deref().map(|text| redact.apply(text));
    diff(&change.path, before.as_deref(), &redact.apply(&change.after))
}

/// The current text of a file to change; `None` where there is none.
pub(super) fn current_text(
    confinement: &Confinement,
    inside: &Inside,
) -> Result<Option<String>, ToolFailure> {
    let shown = inside.shown();
    let Some(opened) = confinement.open_if_there(inside)? else { return Ok(None) };
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

/// Refuses content that is too large for one file.
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
    use serde_json::Value;

    use super::*;
    use crate::ports::Tool;
    use crate::tools::testing::Project;
    use crate::tools::{EditFile, ReadFile, WriteFile};

    #[test]
    fn a_change_is_shown_before_it_is_made_and_changes_nothing() {
        let project = Project::new();
        project.file("a.txt", "one\ntwo\n");
        let redact = Redact::new(|text| text.replace("hunter2", "[redacted]"));
        let context = project.context();
        let preview = |tool: &dyn Tool, arguments: Value| {
            Some(tool.preview(&arguments, context.site())?.map(|change| redacted_diff(&change, &redact)))
        };
        let call = json!({"path": "a.txt", "old": "two", "new": "2"});
        let shown = preview(&EditFile, call).unwrap().unwrap();
        assert!(shown.contains("-two\n+2\n"), "{shown}");
        let call = json!({"path": "b/c.txt", "content": "new hunter2\n"});
        let shown = preview(&WriteFile, call).unwrap().unwrap();
        assert!(shown.ends_with("+new [redacted]\n"), "{shown}");
        assert!(shown.contains("--- /dev/null\n+++ b/b/c.txt\n"), "{shown}");
        assert!(preview(&EditFile, json!({"path": "a.txt", "old": "x", "new": "y"})).unwrap().is_err());
        assert!(preview(&WriteFile, json!({"path": ".env", "content": ""})).unwrap().is_err());
        assert!(preview(&ReadFile, json!({"path": "a.txt"})).is_none());
        assert_eq!(std::fs::read(project.path("a.txt")).unwrap(), b"one\ntwo\n");
        assert!(!project.path("b").exists());
    }
}
