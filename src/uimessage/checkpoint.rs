//! A checkpoint: what a stretch of a conversation came to. It stands in the thread file behind the messages it covers;
//! in the prompt it takes their place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Part, Role, UiMessage};
use crate::domain::{MessageId, Timestamp};

/// The only version there is. A checkpoint of another one is passed over.
pub const CHECKPOINT_VERSION: u32 = 1;
/// The longest record, in bytes of JSON.
pub const CHECKPOINT_BYTES: usize = 8 * 1024;

/// Why a checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckpointReason {
    /// The next prompt would have filled the window.
    Threshold,
    /// The provider found a prompt too long.
    Overflow,
    /// A person asked for it.
    Manual,
    /// The window was well filled, and nothing else was to be done.
    Idle,
}

/// Who wrote the observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WrittenBy {
    Model,
    /// The first lines of what was said: no model gave anything usable.
    Rules,
}

/// Something that happened or was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    pub at: Timestamp,
    /// The name of the person, or `agent`.
    pub who: String,
    pub text: String,
    /// The messages it is taken from.
    pub ids: Vec<MessageId>,
}

/// Something a person asked for that was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAsk {
    pub text: String,
    /// The messages that ask for it.
    pub ids: Vec<MessageId>,
}

/// What a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRecord {
    pub version: u32,
    /// Counts up in a thread.
    pub number: u32,
    /// The first message that is covered.
    pub from: MessageId,
    /// The last one. The prompt goes on behind it.
    pub through: MessageId,
    /// The checkpoint before this one; none at the start of a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev: Option<MessageId>,
    /// The numbers of earlier checkpoints whose observations are retold here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<u32>,
    pub reason: CheckpointReason,
    /// How many messages are covered, those of superseded checkpoints included.
    pub messages: u64,
    pub observations: Vec<Observation>,
    pub open: Vec<OpenAsk>,
    /// The notes that were taken from the same messages.
    pub flushed: Vec<String>,
    /// Tokens of the whole prompt before.
    pub tokens_before: u64,
    /// And with the checkpoint.
    pub tokens_after: u64,
    pub by: WrittenBy,
}

impl UiMessage {
    /// The checkpoint that this message is; nothing for any other message.
    pub fn checkpoint(&self) -> Option<&CheckpointRecord> {
        match self.parts.as_slice() {
            [Part::Checkpoint(record)] if self.metadata.checkpoint && self.role == Role::Assistant => {
                Some(record)
            }
            _ => None,
        }
    }
}

/// The checkpoints that hold, oldest first, of all that stand in a thread file, in the file's order. Of two with the same
/// number the first counts.
pub fn checkpoint_chain(lines: Vec<UiMessage>) -> Vec<UiMessage> {
    let mut known: Vec<UiMessage> = Vec::new();
    for line in lines {
        let number = |message: &UiMessage| message.checkpoint().map(|record| record.number);
        let Some(new) = number(&line) else { continue };
        if known.iter().all(|earlier| number(earlier) != Some(new)) {
            known.push(line);
        }
    }
    known.sort_by_key(|message| message.checkpoint().map(|record| record.number));
    let begins = |message: &UiMessage| {
        message.checkpoint().is_some_and(|record| record.prev.is_none() || !record.supersedes.is_empty())
    };
    let start = known.iter().rposition(begins).unwrap_or(0);
    known.split_off(start)
}

/// Folded messages of a whole thread as an actor takes it up: the checkpoints that hold, and the messages behind them. A
/// checkpoint whose last message is not there is passed over.
pub fn behind_checkpoints(messages: Vec<UiMessage>) -> (Vec<UiMessage>, Vec<UiMessage>) {
    let mut chain = checkpoint_chain(messages.clone());
    let place = |last: &UiMessage| {
        let through = &last.checkpoint()?.through;
        messages.iter().position(|message| message.id == *through)
    };
    while let Some(last) = chain.last() {
        if let Some(at) = place(last) {
            let tail = messages.into_iter().skip(at + 1).collect();
            return (chain, tail);
        }
        chain.pop();
    }
    (chain, messages)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line(id: &str, number: u32, prev: Option<&str>, supersedes: &[u32]) -> UiMessage {
        let mut data = json!({
            "version": 1, "number": number, "from": "m1", "through": "m9", "reason": "idle", "messages": 3,
            "observations": [{ "at": 5, "who": "Ann", "text": "likes tea", "ids": ["m1"] }],
            "open": [], "flushed": [], "tokensBefore": 9, "tokensAfter": 3, "by": "model",
        });
        if let Some(prev) = prev {
            data["prev"] = json!(prev);
        }
        if !supersedes.is_empty() {
            data["supersedes"] = json!(supersedes);
        }
        message(id, data)
    }

    fn message(id: &str, data: Value) -> UiMessage {
        serde_json::from_value(json!({
            "id": id, "role": "assistant",
            "metadata": { "platform": "web", "threadId": "web:chat:1", "timestamp": 5, "correlationId": id,
                "status": "done", "checkpoint": true },
            "parts": [{ "type": "data-checkpoint", "data": data }],
        }))
        .unwrap()
    }

    fn ids(lines: Vec<UiMessage>) -> Vec<String> {
        checkpoint_chain(lines).iter().map(|message| message.id.to_string()).collect()
    }

    #[test]
    fn a_checkpoint_is_written_as_it_was_read() {
        let written = line("k1", 1, None, &[]);
        assert_eq!(written.checkpoint().unwrap().observations[0].text, "likes tea");
        let again: UiMessage = serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();
        assert_eq!(again, written);
    }

    #[test]
    fn checkpoints_are_chained_from_the_last_that_begins_or_retells() {
        let (one, two, three) =
            (line("a", 1, None, &[]), line("b", 2, Some("a"), &[]), line("c", 3, Some("b"), &[]));
        assert_eq!(ids(vec![one.clone(), two.clone(), three.clone()]), ["a", "b", "c"]);
        let retold = line("d", 4, Some("c"), &[1, 2, 3]);
        let next = line("e", 5, Some("d"), &[]);
        assert_eq!(ids(vec![one.clone(), two.clone(), three, retold, next]), ["d", "e"]);
        let anew = line("n", 3, None, &[]);
        assert_eq!(ids(vec![one, two, anew]), ["n"]);
        assert_eq!(ids(Vec::new()), Vec::<String>::new());
    }

    #[test]
    fn of_two_with_one_number_the_first_counts_and_unknown_ones_are_passed_over() {
        let (one, two) = (line("a", 1, None, &[]), line("b", 2, Some("a"), &[]));
        assert_eq!(ids(vec![one.clone(), two.clone(), line("late", 2, Some("a"), &[])]), ["a", "b"]);
        let mut data = serde_json::to_value(two.checkpoint().unwrap()).unwrap();
        data["version"] = json!(2);
        let newer = message("z", data);
        assert!(matches!(newer.parts[0], Part::Other(_)), "kept as it is");
        assert_eq!(ids(vec![one.clone(), newer, message("y", json!("torn"))]), ["a"]);
        let mut unmarked = two;
        unmarked.metadata.checkpoint = false;
        assert_eq!(ids(vec![one, unmarked]), ["a"]);
    }
}
