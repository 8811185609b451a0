//! `threads show`: one thread, for reading.

use std::io::{self, Write};

use serde_json::json;

use super::outcome::{ThreadFacts, ending};
use crate::cli::{Exit, Output};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{call_line, moment, one_line, sanitized};
use crate::domain::ThreadId;
use crate::phrases::commands as words;
use crate::uimessage::{Observation, Part, Role, UiMessage};

/// Most columns of the name of a person or file.
const COLUMNS: usize = 100;

/// Shows the newest messages, the oldest of them first.
pub(super) fn show(
    context: &CliContext,
    thread: &ThreadId,
    limit: usize,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let messages = context.wait(context.store.threads.page(thread, None, limit))?;
    if output.json {
        writeln!(out, "{:#}", json!({ "messages": messages }))?;
        return Ok(Exit::Ok);
    }
    let mut records = ThreadFacts::read(context);
    records.learn(&messages);
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_message(context, &records, message, out)?;
    }
    Ok(Exit::Ok)
}

fn write_message(
    context: &CliContext,
    records: &ThreadFacts,
    message: &UiMessage,
    out: &mut dyn Write,
) -> io::Result<()> {
    let at = moment(message.metadata.timestamp, &context.zone);
    if let Some((said, record)) = records.exchange(message) {
        if let Some(said) = said {
            let role = words::speaker(Role::User, context.language);
            let speaker = named(records.name(&record.author), role);
            write_words(context, (&speaker, &at), said, out)?;
            writeln!(out)?;
        }
        return write_words(context, (words::daemon(context.language), &at), &record.reply, out);
    }
    let ending = ending(message.metadata.status, context.language);
    let ending = ending.map(|ending| format!(" ({ending})")).unwrap_or_default();
    write_head(context, &speaker(context, message), &format!("{at}{ending}"), out)?;
    for line in lines(context, records, message) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn write_words(
    context: &CliContext,
    (speaker, at): (&str, &str),
    text: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_head(context, speaker, at, out)?;
    writeln!(out, "{}", sanitized(text))
}

fn write_head(context: &CliContext, speaker: &str, facts: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}  {}", context.surface.strong(speaker), context.surface.dim(facts))
}

/// The author's display name, else the role.
pub(super) fn speaker(context: &CliContext, message: &UiMessage) -> String {
    named(message.metadata.author_name.as_deref(), words::speaker(message.role, context.language))
}

/// A speaker by name and role.
pub(super) fn named(name: Option<&str>, role: &str) -> String {
    match name {
        Some(name) => format!("{} ({role})", one_line(name, COLUMNS)),
        None => role.to_owned(),
    }
}

/// The lines of a message, part by part.
fn lines(context: &CliContext, records: &ThreadFacts, message: &UiMessage) -> Vec<String> {
    let surface = context.surface;
    let mut lines = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) if !text.text.trim().is_empty() => {
                lines.push(sanitized(text.text.trim_matches('\n')));
            }
            Part::Tool(tool) => {
                let input = tool.state.input().cloned().unwrap_or_default();
                lines.push(surface.dim(&format!("· {}", call_line(tool.tool.name(), &input))));
                let below = records.lines(context, tool).into_iter();
                lines.extend(below.map(|line| surface.dim(&format!("  {line}"))));
            }
            Part::File(file) => {
                let name = file.filename.as_ref().unwrap_or(&file.url);
                let line = format!("[{}: {}]", file.media_type, name);
                lines.push(surface.dim(&one_line(&line, COLUMNS)));
            }
            Part::Error(record) => {
                for text in std::iter::once(&record.text).chain(&record.detail) {
                    lines.push(surface.alarm(&sanitized(text)));
                }
            }
            Part::Checkpoint(record) => {
                lines.push(surface.dim(&words::checkpoint(record.messages, context.language)));
                let notes = record.observations.iter().map(observation_line);
                lines.extend(notes.map(|line| surface.dim(&format!("  · {line}"))));
            }
            Part::Command(_) | Part::Text(_) | Part::Reasoning(_) | Part::StepStart | Part::Other(_) => {}
        }
    }
    lines
}

/// One item of a checkpoint, on one line.
pub(super) fn observation_line(one: &Observation) -> String {
    format!("{} {}: {}", one.at.day(), sanitized(&one.who), sanitized(&one.text))
}
