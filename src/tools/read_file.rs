//! `read_file`: the text of a file, or a part of it.

use std::io::{self, Read};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::bounds::{OUTPUT_BYTES, OutputBudget};
use super::confine::{Confinement, Inside};
use super::file_change::VersionOf;
use super::lines::{LineContent, TextLine, TextLineReader};
use super::schema::schema_of;
use super::{arguments, job};
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};

/// The default number of lines.
const DEFAULT_LINES: u64 = 2_000;

/// Files up to this size are read to their end, so that their lines can be counted.
const COUNTED_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The file, relative to the project directory.
    path: String,
    /// The first line to read, counted from 1. Default: 1.
    start_line: Option<u64>,
    /// How many lines to read at most. Default: 2000.
    max_lines: Option<u64>,
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file",
            description: "Reads a text file of the project. Long files come in parts: when `truncated` is true, \
                          call again with the `startLine` that `note` names. Binary files are described, not shown."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<Arguments>(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        job::call(arguments, context, read)
    }
}

fn read(arguments: &Arguments, context: &ToolContext, cancel: &CancellationToken) -> ToolOutcome {
    let confinement = Confinement::new(context);
    let inside = confinement.resolve(&arguments.path)?;
    let opened = confinement.open(&inside)?;
    let size = opened.size;
    let failed = |error: io::Error| {
        if cancel.is_cancelled() {
            return job::stopped();
        }
        ToolFailure::Failed(format!("{} cannot be read: {error}", inside.shown()))
    };
    let mut lines = match LineContent::of(opened, cancel.clone()).map_err(failed)? {
        LineContent::Text(lines) => lines,
        LineContent::Binary(kind) => {
            let note = "a binary file: its content is not shown";
            return Ok(
                json!({"path": inside.shown(), "binary": true, "type": kind, "size": size, "note": note}),
            );
        }
    };
    let start = arguments.start_line.unwrap_or(1).max(1);
    let wanted = arguments.max_lines.unwrap_or(DEFAULT_LINES).max(1);
    let part = FileExcerpt::collect(&mut lines, start, wanted, size).map_err(failed)?;
    let mut output = part.into_output(inside.shown(), start, size)?;
    if let Some(version) = version(&confinement, &inside, size).map_err(failed)? {
        output.insert("version".into(), version.into());
    }
    Ok(Value::Object(output))
}

/// The version of the content, with which `write_file` checks that it was seen; `None` for large files.
fn version(confinement: &Confinement, inside: &Inside, size: u64) -> io::Result<Option<String>> {
    if size > COUNTED_BYTES {
        return Ok(None);
    }
    let Ok(opened) = confinement.open(inside) else { return Ok(None) };
    let mut version = VersionOf::new();
    let mut file = opened.file.take(COUNTED_BYTES);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            return Ok(Some(version.finish()));
        }
        version.add(chunk.get(..length).unwrap_or_default());
    }
}

/// The part that was read.
#[derive(Debug, Default)]
struct FileExcerpt {
    content: String,
    lines: u64,
    /// The number of lines of the file, where it was read to its end.
    total: Option<u64>,
    /// Whether there is more after this part.
    more: bool,
    /// Whether the part ends inside a line that is too long to be shown.
    cut_line: bool,
    /// Whether invalid UTF-8 was replaced.
    lossy: bool,
}

impl FileExcerpt {
    fn collect<R: Read>(
        lines: &mut TextLineReader<R>,
        start: u64,
        wanted: u64,
        size: u64,
    ) -> io::Result<Self> {
        let mut part = Self::default();
        let mut budget = OutputBudget::new(OUTPUT_BYTES);
        let mut seen = 0;
        loop {
            let next = seen + 1;
            let taking = next >= start && !part.more;
            let Some(line) = lines.next(if taking { OUTPUT_BYTES } else { 0 })? else { break };
            seen = line.number;
            if taking {
                part.more = part.lines >= wanted || !part.add(&line, &mut budget);
            }
            if part.more && size > COUNTED_BYTES {
                return Ok(part);
            }
        }
        part.total = Some(seen);
        part.more = part.more && start.saturating_add(part.lines) <= seen;
        Ok(part)
    }

    /// Adds a line; `false` when the part is full, possibly with only the line's beginning.
    fn add(&mut self, line: &TextLine<'_>, budget: &mut OutputBudget) -> bool {
        let text = String::from_utf8_lossy(line.bytes);
        let fits = !line.cut && budget.take(&text);
        if !fits && self.lines > 0 {
            return false;
        }
        // A cut inside a character does not make the file invalid.
        let broken_by_us =
            line.cut && std::str::from_utf8(line.bytes).is_err_and(|e| e.error_len().is_none());
        self.lossy |= matches!(text, std::borrow::Cow::Owned(_)) && !broken_by_us;
        self.content.push_str(if fits { &text } else { budget.clip(&text).trim_end_matches('\u{fffd}') });
        self.lines += 1;
        self.cut_line = !fits;
        fits
    }

    fn into_output(self, path: String, start: u64, size: u64) -> Result<Map<String, Value>, ToolFailure> {
        if let (0, Some(total)) = (self.lines, self.total)
            && start > 1
        {
            return Err(ToolFailure::BadArguments(format!(
                "`startLine` is {start}, but {path} has only {total} lines; use a smaller one"
            )));
        }
        let mut notes = Vec::new();
        if self.cut_line {
            notes.push("the last line shown is too long and was cut".to_owned());
        }
        if self.more {
            notes.push(format!("to go on, call again with startLine {}", start.saturating_add(self.lines)));
        }
        if self.lossy {
            notes.push("the file is not UTF-8; what could not be read stands as \u{fffd}".to_owned());
        }
        let mut output = Map::new();
        output.insert("path".into(), path.into());
        output.insert("content".into(), self.content.into());
        output.insert("startLine".into(), start.into());
        output.insert("lines".into(), self.lines.into());
        if let Some(total) = self.total {
            output.insert("totalLines".into(), total.into());
        }
        output.insert("size".into(), size.into());
        output.insert("truncated".into(), (self.more || self.cut_line).into());
        if !notes.is_empty() {
            output.insert("note".into(), notes.join("; ").into());
        }
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    async fn call(project: &Project, arguments: Value) -> ToolOutcome {
        ReadFile.call(arguments, project.context()).await
    }

    #[tokio::test]
    async fn a_file_is_read_whole_or_in_part() {
        let project = Project::new();
        project.file("a.txt", "one\r\ntwo\nthree");
        assert_eq!(
            call(&project, json!({"path": "a.txt"})).await,
            Ok(json!({"path": "a.txt", "content": "one\r\ntwo\nthree", "startLine": 1, "lines": 3,
                      "totalLines": 3, "size": 14, "truncated": false, "version": "a001fb8bcb239ae1"}))
        );
        assert_eq!(
            call(&project, json!({"path": "./a.txt", "startLine": "2", "max_lines": 1})).await,
            Ok(json!({"path": "a.txt", "content": "two\n", "startLine": 2, "lines": 1, "totalLines": 3,
                      "size": 14, "truncated": true, "note": "to go on, call again with startLine 3",
                      "version": "a001fb8bcb239ae1"}))
        );
        project.file("empty", "");
        let empty = call(&project, json!({"path": "empty"})).await.unwrap();
        assert_eq!((&empty["content"], &empty["totalLines"]), (&json!(""), &json!(0)));
    }

    #[tokio::test]
    async fn the_parts_of_a_long_file_make_the_whole() {
        let project = Project::new();
        let text: String = (0..9_000).map(|n| format!("line {n} \"中文\"\n")).collect();
        project.file("long.txt", &text);
        let (mut start, mut joined) = (1, String::new());
        loop {
            let part = call(&project, json!({"path": "long.txt", "startLine": start})).await.unwrap();
            assert!(part.to_string().len() < OUTPUT_BYTES + 1_000);
            joined.push_str(part["content"].as_str().unwrap());
            start += part["lines"].as_u64().unwrap();
            if part["truncated"] == false {
                break;
            }
            assert_eq!(part["note"], format!("to go on, call again with startLine {start}"));
        }
        assert_eq!(joined, text);
    }

    #[tokio::test]
    async fn a_huge_file_is_read_at_its_beginning_only() {
        let project = Project::new();
        project.file("huge.log", "first\n".repeat(100));
        let file = std::fs::OpenOptions::new().append(true).open(project.path("huge.log")).unwrap();
        // Sparse: the length of a huge file without its disk space.
        file.set_len(3_000_000_000).unwrap();
        let part = call(&project, json!({"path": "huge.log", "maxLines": 10})).await;
        assert_eq!(part.unwrap()["type"], "application/octet-stream");
        project.file("big.log", "first\n".repeat(4_000_000));
        let part = call(&project, json!({"path": "big.log", "maxLines": 10})).await.unwrap();
        assert_eq!((&part["lines"], part.get("totalLines")), (&json!(10), None));
        assert_eq!(part["truncated"], true);
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut() {
        let project = Project::new();
        project.file("min.js", "中".repeat(100_000));
        let part = call(&project, json!({"path": "min.js"})).await.unwrap();
        assert_eq!(
            (&part["lines"], &part["totalLines"], &part["truncated"]),
            (&json!(1), &json!(1), &json!(true))
        );
        assert_eq!(part["note"], "the last line shown is too long and was cut");
        let content = part["content"].as_str().unwrap();
        assert!(content.len() > OUTPUT_BYTES - 10 && content.chars().all(|c| c == '中'));
    }

    #[tokio::test]
    async fn what_is_not_utf8_is_shown_as_far_as_it_can_be() {
        let project = Project::new();
        project.file("latin.txt", b"caf\xe9 au lait\n");
        let part = call(&project, json!({"path": "latin.txt"})).await.unwrap();
        assert_eq!(part["content"], "caf\u{fffd} au lait\n");
        assert!(part["note"].as_str().unwrap().contains("not UTF-8"));
        project.file("a.png", b"\x89PNG\r\n\x1a\n....");
        let part = call(&project, json!({"path": "a.png"})).await.unwrap();
        assert_eq!(
            (&part["binary"], &part["type"], &part["size"]),
            (&json!(true), &json!("image/png"), &json!(12))
        );
    }

    #[tokio::test]
    async fn mistakes_are_answered_with_the_way_to_mend_them() {
        let project = Project::new();
        project.file("dir/a.txt", "one\n");
        for (arguments, expected) in [
            (json!({"path": "dir"}), "use list_files"),
            (json!({"path": "gone.txt"}), "does not exist"),
            (json!({"path": "dir/a.txt/x"}), "cannot be read"),
            (json!({"path": "dir/a.txt", "startLine": 7}), "has only 1 lines"),
            (json!({"path": "../x"}), "leads out of the project"),
            (json!({}), "`path` is missing"),
        ] {
            let failure = call(&project, arguments.clone()).await.unwrap_err().to_string();
            assert!(failure.contains(expected), "{arguments}: {failure}");
        }
    }

    #[tokio::test]
    async fn a_cancelled_call_ends() {
        let project = Project::new();
        project.file("a.txt", "one\n");
        project.cancel();
        assert_eq!(call(&project, json!({"path": "a.txt"})).await, Err(job::stopped()));
    }
}
