//! The part of a message that its author said themselves: no quotes, no forwarded or pasted text, no code.

use crate::policy::shell::is_invisible;
use crate::uimessage::{Role, UiMessage};

/// A longer message was pasted from somewhere.
const LONGEST: usize = 2000;
/// A quotation of more characters than this is the words of another.
const LONGEST_QUOTATION: usize = 12;
/// Marks in metadata of messages that are not the author's words, or that no person wrote.
const FOREIGN: [&str; 4] = ["forwardedFrom", "task", "heartbeat", "automatic"];

/// Lines behind one that begins like this belong to another message.
const FORWARD_LINES: [&str; 14] = [
    "---------- forwarded",
    "-----original message",
    "----- original message",
    "begin forwarded message",
    "forwarded from",
    "forwarded message",
    "fwd:",
    "fw:",
    "from:",
    "发件人",
    "转发",
    "原始邮件",
    "以下是转发",
    "引用",
];

/// Pairs of quotation marks. The apostrophe is none: it stands inside of words.
const QUOTATION_MARKS: [(char, char); 7] =
    [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』'), ('《', '》')];

/// What the author of a message said to the agent in their own words; nothing for messages that are no source of
/// knowledge: of the agent, of the daemon, commands, forwarded ones, pasted ones, and what was not said to the agent.
pub fn own_words(message: &UiMessage) -> Option<String> {
    let metadata = &message.metadata;
    let said = message.role == Role::User && !metadata.command && !metadata.context && !metadata.checkpoint;
    if !said || metadata.author_id.is_none() || FOREIGN.iter().any(|mark| metadata.extra.contains_key(*mark))
    {
        return None;
    }
    let text = without_invisible(&message.text());
    if text.chars().count() > LONGEST {
        return None;
    }
    let own = without_quotations(&own_lines(&text));
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    (!own.is_empty()).then_some(own)
}

/// The lines that are neither quoted nor code nor behind the head of another message.
fn own_lines(text: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim();
        let marks = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, marks) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let low = line.to_lowercase();
                let wrote = (low.starts_with("on ") && low.ends_with("wrote:")) || low.ends_with("写道：");
                if wrote || FORWARD_LINES.iter().any(|head| low.starts_with(head)) {
                    break;
                }
                if !line.starts_with(['>', '＞', '|', '┃']) {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
    }
    out
}

/// The text without longer quotations and without code in backticks of more than one word.
fn without_quotations(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.chars().next() {
        let behind = rest.get(open.len_utf8()..).unwrap_or_default();
        let close = QUOTATION_MARKS.iter().find(|(mark, _)| *mark == open).map(|(_, close)| *close);
        let close = close.or_else(|| (open == '`').then_some('`'));
        let quoted = close.and_then(|close| behind.split_once(close));
        match quoted {
            Some((inside, after)) if is_long(inside) => {
                out.push(' ');
                rest = after;
            }
            Some((inside, after)) => {
                out.push_str(inside);
                rest = after;
            }
            // A quotation that is never closed reaches to the end.
            None if close.is_some() && is_long(behind) && open != '"' => break,
            None => {
                out.push(open);
                rest = behind;
            }
        }
    }
    out
}

fn is_long(quotation: &str) -> bool {
    quotation.chars().count() > LONGEST_QUOTATION
}

/// A text without characters that people cannot see.
pub fn without_invisible(text: &str) -> String {
    let seen = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || is_invisible(*c));
    text.chars().filter(seen).collect()
}
