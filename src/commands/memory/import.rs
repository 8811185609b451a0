//! `shipagent memory import`: conversations from `*.jsonl` files become notes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::cli_context::CliContext;
use crate::cli::{Exit, Output};
use crate::domain::{Language, ScopeKey, Timestamp};
use crate::phrases::commands::{memory_cannot_read, memory_imported, memory_not_imported};
use crate::ports::{Note, NotesAdded};

/// So many bad lines are told one by one; the others are counted.
const TOLD_PROBLEMS: usize = 10;
const LONGEST_ID: usize = 512;
const READ_AT_ONCE: usize = 256 * 1024;

/// A line of a file.
#[derive(Debug, Deserialize)]
struct ImportedLine<'a> {
    /// Text or a whole number.
    #[serde(borrow)]
    id: &'a RawValue,
    /// When it was said, in milliseconds.
    at: i64,
    #[serde(default)]
    author: String,
    text: String,
}

/// What the files hold.
#[derive(Debug, Default)]
struct Read {
    notes: Vec<Note>,
    bad: usize,
    /// The first of the bad lines: file, line and what is wrong.
    problems: Vec<String>,
}

pub(super) fn import(
    context: &CliContext,
    folder: &Path,
    scope: &ScopeKey,
    Output { json }: Output,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut read = Read::default();
    let files = match jsonl_files(folder) {
        Ok(files) => files,
        Err(error) => return cannot_read(folder, &error, context.language, err),
    };
    for path in &files {
        if let Err(error) = read.add_file(path) {
            return cannot_read(path, &error, context.language, err);
        }
    }
    for problem in &read.problems {
        writeln!(err, "{problem}")?;
    }
    let done = match context.wait(context.store.memory.add_notes(scope, read.notes)) {
        Ok(done) => done,
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    };
    let NotesAdded { added, known, forgotten } = done;
    let (files, bad) = (files.len(), read.bad);
    if json {
        let told = json!({
            "files": files, "added": added, "known": known, "forgotten": forgotten, "bad": bad,
        });
        writeln!(out, "{told}")?;
    } else {
        let words = memory_imported(added, scope, files, known, bad, context.language);
        writeln!(out, "{words}")?;
        if forgotten > 0 {
            writeln!(out, "{}", memory_not_imported(forgotten, context.language))?;
        }
    }
    Ok(if bad == 0 { Exit::Ok } else { Exit::Failed })
}

impl Read {
    fn add_file(&mut self, path: &Path) -> io::Result<()> {
        let mut file = BufReader::with_capacity(READ_AT_ONCE, File::open(path)?);
        let mut line = Vec::new();
        let mut number = 0_usize;
        while file.read_until(b'\n', &mut line)? > 0 {
            number = number.saturating_add(1);
            if !line.trim_ascii().is_empty() {
                match note_of(&line) {
                    Ok(note) => self.notes.push(note),
                    Err(problem) => {
                        self.bad = self.bad.saturating_add(1);
                        if self.problems.len() < TOLD_PROBLEMS {
                            self.problems.push(format!("{}:{number}: {problem}", path.display()));
                        }
                    }
                }
            }
            line.clear();
        }
        Ok(())
    }
}

fn note_of(line: &[u8]) -> Result<Note, String> {
    let ImportedLine { id, at, author, text } =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let raw = id.get();
    let id = match serde_json::from_str::<String>(raw) {
        Ok(id) => id,
        Err(_) if raw.parse::<i64>().is_ok() => raw.to_owned(),
        Err(_) => return Err("`id` is neither text nor a whole number".to_owned()),
    };
    if id.is_empty() || id.len() > LONGEST_ID {
        return Err(format!("`id` has 1 to {LONGEST_ID} bytes"));
    }
    Ok(Note { id, at: Timestamp::from_millis(at), author, text })
}

fn jsonl_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn cannot_read(
    path: &Path,
    error: &io::Error,
    language: Language,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    writeln!(err, "{}", memory_cannot_read(path.display(), error, language))?;
    Ok(Exit::Failed)
}
