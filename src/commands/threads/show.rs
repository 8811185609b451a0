//! `threads show`: one conversation, to read.

use std::io::{self, Write};

use serde_json::json;

use super::run::Look;
use super::words;
use crate::cli::{Exit, Output};
use crate::commands::terminal::{Surface, call_line, moment, one_line};
use crate::domain::ThreadId;
use crate::uimessage::{Part, ToolState, UiMessage};

/// The widest an error of a tool is shown.
const ERROR_COLUMNS: usize = 100;

/// Shows the newest messages, the oldest of them first.
pub(super) fn show(
    look: &Look,
    thread: &ThreadId,
    limit: usize,
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let messages = look.reader.page(thread, None, limit)?;
    if output.json {
        writeln!(out, "{:#}", json!({ "messages": messages }))?;
        return Ok(Exit::Ok);
    }
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_message(look, message, out)?;
    }
    Ok(Exit::Ok)
}

fn write_message(look: &Look, message: &UiMessage, out: &mut dyn Write) -> io::Result<()> {
    let at = moment(message.metadata.timestamp, &look.zone);
    let ending = words::ending(message.metadata.status, look.language);
    let ending = ending.map(|ending| format!(" ({ending})")).unwrap_or_default();
    let speaker = look.surface.strong(&speaker(look, message));
    writeln!(out, "{speaker}  {}", look.surface.dim(&format!("{at}{ending}")))?;
    for line in lines(message, look.surface) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Who speaks, by name where there is one.
pub(super) fn speaker(look: &Look, message: &UiMessage) -> String {
    let role = words::speaker(message.role, look.language);
    match &message.metadata.author_name {
        Some(name) => format!("{} ({role})", one_line(name, ERROR_COLUMNS)),
        None => role.to_owned(),
    }
}

/// What a message says and does, part by part.
fn lines(message: &UiMessage, surface: Surface) -> Vec<String> {
    let mut lines = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) if !text.text.trim().is_empty() => {
                lines.push(surface.clean(text.text.trim_matches('\n')).into_owned());
            }
            Part::Tool(tool) => {
                let input = tool.state.input().cloned().unwrap_or_default();
                lines.push(surface.dim(&format!("· {}", call_line(tool.tool.name(), &input))));
                if let ToolState::OutputError { error_text, .. } = &tool.state {
                    lines.push(surface.dim(&format!("  ! {}", one_line(error_text, ERROR_COLUMNS))));
                }
            }
            Part::File(file) => {
                let name = file.filename.as_ref().unwrap_or(&file.url);
                let line = format!("[{}: {}]", file.media_type, name);
                lines.push(surface.dim(&one_line(&line, ERROR_COLUMNS)));
            }
            Part::Command(record) => {
                lines.push(surface.dim(&one_line(&record.command, ERROR_COLUMNS)));
                lines.push(surface.clean(&record.reply).into_owned());
            }
            Part::Error(record) => {
                let words = record.detail.iter().map(String::as_str);
                for text in std::iter::once(record.text.as_str()).chain(words) {
                    lines.push(surface.alarm(&surface.clean(text)));
                }
            }
            Part::Text(_) | Part::Reasoning(_) | Part::StepStart | Part::Other(_) => {}
        }
    }
    lines
}
