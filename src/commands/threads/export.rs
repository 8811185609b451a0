//! `threads export`: one conversation, whole, to standard output or into a new file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::outcome::{ThreadFacts, ending};
use super::show::{named, observation_line, speaker};
use crate::cli::{Exit, ExportFormat};
use crate::commands::cli_context::CliContext;
use crate::commands::terminal::{call_line, moment, one_line};
use crate::domain::{MessageId, ThreadId};
use crate::phrases::commands as words;
use crate::ports::StoreError;
use crate::uimessage::{Part, Role, UiMessage};

/// Messages per page; one page is in memory at once.
const PAGE: usize = 256;

/// Most columns of a line about a tool or a file.
const COLUMNS: usize = 200;

/// Exports a whole thread. An existing file is left unchanged, and a file that cannot be written completely is not
/// created.
pub(super) fn export(
    context: &CliContext,
    thread: &ThreadId,
    format: ExportFormat,
    file: Option<&Path>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(path) = file else {
        let mut out = BufWriter::new(out);
        write_thread(context, thread, format, &mut out)?;
        out.flush()?;
        return Ok(Exit::Ok);
    };
    // Checked first, so that a long export is not refused at its end.
    if path.symlink_metadata().is_ok() {
        writeln!(err, "{}", words::export_exists(path.display(), context.language))?;
        return Ok(Exit::Failed);
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temp = NamedTempFile::new_in(dir)?;
    let mut writer = BufWriter::new(&mut temp);
    write_thread(context, thread, format, &mut writer)?;
    writer.flush()?;
    drop(writer);
    temp.as_file().sync_all()?;
    match temp.persist_noclobber(path) {
        Ok(_) => Ok(Exit::Ok),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {
            writeln!(err, "{}", words::export_exists(path.display(), context.language))?;
            Ok(Exit::Failed)
        }
        Err(refused) => Err(refused.error.into()),
    }
}

fn write_thread(
    context: &CliContext,
    thread: &ThreadId,
    format: ExportFormat,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if format == ExportFormat::Markdown {
        writeln!(out, "# {thread}")?;
    }
    let mut records = match format {
        ExportFormat::Jsonl => ThreadFacts::default(),
        ExportFormat::Markdown => ThreadFacts::read(context),
    };
    let mut write = |message: &UiMessage| match format {
        ExportFormat::Jsonl => writeln!(out, "{}", serde_json::to_string(message)?),
        ExportFormat::Markdown => {
            records.learn(std::slice::from_ref(message));
            write!(out, "\n{}", markdown(context, &records, message))
        }
    };
    // The export ends with the message that is the newest now.
    let Some(last) = context.wait(context.store.threads.page(thread, None, 1))?.pop() else { return Ok(()) };
    for end in page_ends(context, thread, &last.id)? {
        for message in context.wait(context.store.threads.page(thread, Some(&end), PAGE))? {
            write(&message)?;
        }
    }
    write(&last)?;
    Ok(())
}

/// Before which messages the pages end, the oldest page first. Pages can only be had from the newest backwards,
/// so they are walked once for their ends and once for their content.
fn page_ends(
    context: &CliContext,
    thread: &ThreadId,
    last: &MessageId,
) -> Result<Vec<MessageId>, StoreError> {
    let mut ends = Vec::new();
    let mut end = last.clone();
    loop {
        let page = context.wait(context.store.threads.page(thread, Some(&end), PAGE))?;
        let Some(first) = page.first() else { break };
        ends.push(std::mem::replace(&mut end, first.id.clone()));
    }
    ends.reverse();
    Ok(ends)
}

fn markdown(context: &CliContext, records: &ThreadFacts, message: &UiMessage) -> String {
    let at = moment(message.metadata.timestamp, &context.zone);
    if let Some((said, record)) = records.exchange(message) {
        let role = words::speaker(Role::User, context.language);
        let speaker = named(records.name(&record.author), role);
        let said = said.map(|said| format!("## {speaker} · {at}\n\n{said}\n\n")).unwrap_or_default();
        return format!("{said}## {} · {at}\n\n{}\n", words::daemon(context.language), record.reply);
    }
    let ending = ending(message.metadata.status, context.language);
    let ending = ending.map(|ending| format!(" ({ending})")).unwrap_or_default();
    let mut text = format!("## {} · {at}{ending}\n", speaker(context, message));
    let mut before = ExportBlock::Words;
    for part in &message.parts {
        let Some((block, words)) = block(context, records, part) else { continue };
        // The lines of a list stand together, everything else apart.
        if block == ExportBlock::Words || before == ExportBlock::Words {
            text.push('\n');
        }
        text.push_str(&words);
        text.push('\n');
        before = block;
    }
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportBlock {
    Words,
    Item,
}

fn block(context: &CliContext, records: &ThreadFacts, part: &Part) -> Option<(ExportBlock, String)> {
    Some(match part {
        Part::Text(text) if !text.text.trim().is_empty() => {
            (ExportBlock::Words, text.text.trim_matches('\n').to_owned())
        }
        Part::Tool(tool) => {
            let input = tool.state.input().cloned().unwrap_or_default();
            let call = code(&call_line(tool.tool.name(), &input));
            let below = match records.lines(context, tool).as_slice() {
                [only] if only.starts_with("! ") => format!(": {}", only.trim_start_matches("! ")),
                lines => lines.iter().map(|line| format!("\n  - {}", code(line))).collect(),
            };
            (ExportBlock::Item, format!("- {call}{below}"))
        }
        Part::File(file) => {
            let name = file.filename.as_ref().unwrap_or(&file.url);
            (ExportBlock::Item, format!("- {} {}", file.media_type, code(&one_line(name, COLUMNS))))
        }
        Part::Error(record) => (ExportBlock::Words, format!("> {}", record.text.replace('\n', "\n> "))),
        Part::Checkpoint(record) => {
            let notes = record.observations.iter().map(|one| format!("\n  - {}", observation_line(one)));
            let heading = words::checkpoint(record.messages, context.language);
            (ExportBlock::Item, format!("- {heading}{}", notes.collect::<String>()))
        }
        Part::Command(_) | Part::Text(_) | Part::Reasoning(_) | Part::StepStart | Part::Other(_) => {
            return None;
        }
    })
}

/// A text as code, fenced by more backticks than stand in it.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_fenced_by_more_backticks_than_it_has() {
        for (text, expected) in [("ls", "`ls`"), ("a `b` c", "`` a `b` c ``"), ("```", "```` ``` ````")] {
            assert_eq!(code(text), expected);
        }
    }
}
