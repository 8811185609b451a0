//! Parses the head of a thread file's line: its ids, role and time, without its parts.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::domain::{AuthorId, CorrelationId, MessageId, ThreadId, Timestamp};
use crate::uimessage::{Metadata, Role, RunStatus, UiMessage};

/// How thoroughly lines are parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParseDepth {
    /// The head only. Several times faster, and correct for every line we write.
    Glance,
    /// The whole message: for a file with unexpected content.
    Whole,
}

/// The head of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head {
    pub(super) id: MessageId,
    pub(super) role: Role,
    pub(super) run: CorrelationId,
    pub(super) at: Timestamp,
    /// Whether it is a checkpoint.
    pub(super) checkpoint: bool,
}

/// A message without its parts: parts of any shape are readable.
#[derive(Deserialize)]
struct MessageShape<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    role: Role,
    #[serde(borrow)]
    metadata: MetadataShape<'a>,
    #[serde(rename = "parts")]
    _parts: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataShape<'a> {
    #[serde(borrow, rename = "platform")]
    _platform: Cow<'a, str>,
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    #[serde(default)]
    author_id: Option<String>,
    #[serde(default, rename = "authorName")]
    _author_name: Option<String>,
    #[serde(default, rename = "messageId")]
    _message_id: Option<String>,
    timestamp: Timestamp,
    #[serde(borrow)]
    correlation_id: Cow<'a, str>,
    #[serde(default, rename = "status")]
    _status: Option<RunStatus>,
    #[serde(default, rename = "context")]
    _context: bool,
    #[serde(default)]
    checkpoint: bool,
}

/// Parses lines of one file. The same few ids are in every line; each is validated once.
#[derive(Debug)]
pub(super) struct HeadParser {
    care: ParseDepth,
    thread: String,
    author: String,
}

impl HeadParser {
    pub(super) fn new(care: ParseDepth, thread: &ThreadId) -> Self {
        Self { care, thread: thread.as_str().to_owned(), author: String::new() }
    }

    /// The head of the line; `None` where it is no message.
    pub(super) fn look(&mut self, line: &[u8]) -> Option<Head> {
        match self.care {
            ParseDepth::Glance => self.glance(line),
            ParseDepth::Whole => {
                let UiMessage { id, role, metadata, .. } = serde_json::from_slice(line).ok()?;
                let Metadata { correlation_id: run, timestamp: at, checkpoint, .. } = metadata;
                Some(Head { id, role, run, at, checkpoint })
            }
        }
    }

    fn glance(&mut self, line: &[u8]) -> Option<Head> {
        let MessageShape { id, role, metadata, .. } = serde_json::from_slice(line).ok()?;
        if metadata.thread_id != self.thread {
            self.thread =
                metadata.thread_id.parse::<ThreadId>().ok().map(|_| metadata.thread_id.into_owned())?;
        }
        if let Some(author) = metadata.author_id
            && author != self.author
        {
            author.parse::<AuthorId>().ok()?;
            self.author = author;
        }
        let run = metadata.correlation_id.parse().ok()?;
        let (at, checkpoint) = (metadata.timestamp, metadata.checkpoint);
        Some(Head { id: id.parse().ok()?, role, run, at, checkpoint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_sees_what_a_whole_look_sees() {
        let good = r#"{"id":"u\u0031","role":"user","metadata":{"platform":"web","threadId":"web:chat:1","authorId":"web:user:7","authorName":"\"A\"","messageId":"9","timestamp":5,"correlationId":"r","status":"done","context":true,"more":[1]},"parts":[{"type":"text","text":"x"},7]}"#;
        let bent = [
            ("", ""),
            (r#""id":"u\u0031","#, ""),
            (r#"u\u0031"#, ""),
            (r#"u\u0031"#, r#"a\nb"#),
            ("user\",\"meta", "robot\",\"meta"),
            ("web:chat:1", "web:room:1"),
            ("web:chat:1", "web:chat:2"),
            ("web:user:7", "7"),
            (r#""web:user:7""#, "null"),
            ("\"timestamp\":5,", ""),
            ("\"timestamp\":5", "\"timestamp\":\"5\""),
            (r#","correlationId":"r""#, ""),
            (r#""correlationId":"r""#, r#""correlationId":"""#),
            ("done", "undone"),
            ("true", "1"),
            (r#""context":true"#, r#""checkpoint":true"#),
            (r#""context":true"#, r#""checkpoint":1"#),
            (r#""platform":"web","#, ""),
            (r#""messageId":"9""#, r#""messageId":9"#),
            (r#""parts":["#, r#""prats":["#),
            (r#"[{"type":"text","text":"x"},7]"#, "{}"),
            ("]}", "]"),
            ("]}", "]} "),
            ("]}", "]}]"),
        ];
        let thread = "web:chat:1".parse().unwrap();
        for (from, to) in bent {
            let line = good.replacen(from, to, 1);
            let glance = HeadParser::new(ParseDepth::Glance, &thread).look(line.as_bytes());
            assert_eq!(glance, HeadParser::new(ParseDepth::Whole, &thread).look(line.as_bytes()), "{line}");
        }
        assert!(HeadParser::new(ParseDepth::Glance, &thread).look(good.as_bytes()).is_some());
        assert!(HeadParser::new(ParseDepth::Glance, &thread).look(b"{\"id\": \xff").is_none());
    }
}
