//! Observations without a model: the first line of each thing said, with the names of tools and files.

use serde_json::Value;

use super::check::{record_of, sizes};
use super::shown::inert;
use super::span::{CompactionSpan, is_conversation};
use super::summary::{AGENT, Draft, speaker};
use crate::uimessage::{CHECKPOINT_BYTES, Observation, Part, ToolPart, UiMessage, WrittenBy};

/// How many characters of a line are kept, from the first try on.
const LINE_CHARS: [usize; 4] = [200, 120, 80, 60];
/// How many tools one message tells of.
const MOST_TOOLS: usize = 6;

/// A draft that fits, unless nothing would be gained. What people said goes before what the agent answered.
pub fn by_rules(span: &CompactionSpan) -> Option<Draft> {
    let fits = |draft: &Draft| {
        record_of(span, draft).is_some_and(|record| {
            let (bytes, tokens) = sizes(&record);
            // Ids of notes are added later.
            bytes <= CHECKPOINT_BYTES - 512 && tokens <= span.most_tokens.min(span.tokens / 2)
        })
    };
    let draft = |observations: Vec<Observation>| Draft {
        observations,
        open: span.asks.clone(),
        notes: Vec::new(),
        by: WrittenBy::Rules,
    };
    for chars in LINE_CHARS {
        let whole = draft(observations(span, chars));
        if !whole.observations.is_empty() && fits(&whole) {
            return Some(whole);
        }
    }
    let shortest = LINE_CHARS.last().copied().unwrap_or_default();
    let people: Vec<Observation> =
        observations(span, shortest).into_iter().filter(|one| one.who != AGENT).collect();
    (1..=people.len()).map(|step| draft(thinned(&people, step))).find(|thin| fits(thin))
}

/// Every `step`th, so that what is left is spread over the whole time.
fn thinned(observations: &[Observation], step: usize) -> Vec<Observation> {
    observations.iter().step_by(step).cloned().collect()
}

fn observations(span: &CompactionSpan, chars: usize) -> Vec<Observation> {
    let retold = span
        .retold
        .iter()
        .flat_map(|record| &record.observations)
        .map(|one| Observation { text: shortened(&one.text, chars), ..one.clone() });
    let said = span.messages.iter().filter(|message| is_conversation(message));
    let said = said.filter_map(|message| {
        let text = first_line(message, chars);
        let ids = vec![message.id.clone()];
        (!text.is_empty()).then(|| Observation {
            at: message.metadata.timestamp,
            who: speaker(message),
            text,
            ids,
        })
    });
    retold.chain(said).collect()
}

fn first_line(message: &UiMessage, chars: usize) -> String {
    let text = message.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut told = shortened(line, chars);
    let tools: Vec<String> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Tool(tool) => Some(tool_name(tool)),
            Part::File(file) => file.filename.as_deref().map(|name| format!("file {}", inert(name))),
            Part::Error(error) => Some(format!("failed: {}", shortened(&error.text, chars))),
            _ => None,
        })
        .take(MOST_TOOLS)
        .collect();
    if !tools.is_empty() {
        let space = if told.is_empty() { "" } else { " " };
        told.push_str(&format!("{space}({})", shortened(&tools.join(", "), chars)));
    }
    told
}

fn tool_name(tool: &ToolPart) -> String {
    let path = tool.state.input().and_then(|input| input.get("path")?.as_str().map(inert));
    let command =
        || tool.state.input().and_then(|input| input.get("command").and_then(Value::as_str).map(inert));
    match path.or_else(command) {
        Some(what) => format!("{} {what}", tool.tool.name()),
        None => tool.tool.name().to_owned(),
    }
}

fn shortened(text: &str, chars: usize) -> String {
    let flat = inert(text);
    if flat.chars().count() <= chars {
        flat
    } else {
        format!("{}…", flat.chars().take(chars).collect::<String>())
    }
}
