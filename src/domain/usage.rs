//! What calls of models and other paid services use and cost: the normal form of usage, and the lines of the ledger.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AuthorId, CorrelationId, ErrorKind, ThreadId, Timestamp};

/// Tokens of one call in normal form: `input` is all input, `output` is all output including reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// The part of the input that was read from the provider's cache.
    pub cached: u64,
    /// The part of the input that was written to the provider's cache.
    pub cache_write: u64,
    /// The part of the output that is reasoning.
    pub reasoning: u64,
    /// The part of the input that is sound.
    pub audio_in: u64,
    /// The part of the output that is sound.
    pub audio_out: u64,
    /// The cost in millionths of a US dollar, where the server states it or the price is known.
    pub cost: Option<u64>,
    /// Whether the server sent no counts.
    pub estimated: bool,
}

/// What a call is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A step of a turn.
    Turn,
    /// A step of a scheduled task's turn.
    Task,
    /// Looks for what is worth remembering.
    Distil,
    /// Sums up a long conversation.
    Summary,
    /// Decides whether the agent speaks up in a group.
    Gate,
    /// Names a thread.
    Title,
    /// Classifies the reply to a question.
    Reply,
    /// Turns texts into vectors for the search.
    Embedding,
    /// Turns speech into text.
    Stt,
    /// Turns text into speech.
    Tts,
    #[serde(other)]
    #[default]
    Other,
}

impl Purpose {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Task => "task",
            Self::Distil => "distil",
            Self::Summary => "summary",
            Self::Gate => "gate",
            Self::Title => "title",
            Self::Reply => "reply",
            Self::Embedding => "embedding",
            Self::Stt => "stt",
            Self::Tts => "tts",
            Self::Other => "other",
        }
    }

    /// Whether it is the agent's own work, not part of an answer.
    pub const fn is_helper(self) -> bool {
        match self {
            Self::Distil | Self::Summary | Self::Gate | Self::Title | Self::Reply | Self::Embedding => true,
            Self::Turn | Self::Task | Self::Stt | Self::Tts | Self::Other => false,
        }
    }
}

/// For whom a call is made, and what for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payer {
    pub thread: Option<ThreadId>,
    pub turn: Option<CorrelationId>,
    /// The model call within the turn, from 1.
    pub step: u32,
    /// The person whose message led to it.
    pub author: Option<AuthorId>,
    /// Whether this person is an owner.
    pub owner: bool,
    pub task: Option<String>,
    /// The most that the turn may cost, where its task says so, in millionths of a US dollar.
    pub max_cost: Option<u64>,
    pub purpose: Purpose,
}

/// Where the numbers of an entry come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageSource {
    /// The server counted the tokens.
    #[default]
    Reported,
    /// The server stated the cost as well.
    GatewayCost,
    /// Tokens were estimated: the server sent no usage, or the answer was cut off.
    Estimated,
    /// The request was sent and nothing is known of its end: the whole prompt counts.
    Uncertain,
}

/// A price in millionths of a US dollar: for a million tokens each, and for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    pub input: u64,
    pub cached_input: u64,
    pub cache_write: u64,
    pub output: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub per_call: u64,
    /// For a million characters.
    #[serde(skip_serializing_if = "is_zero")]
    pub characters: u64,
    /// For an hour of sound.
    #[serde(skip_serializing_if = "is_zero")]
    pub hour: u64,
}

/// What a line of the ledger records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A call is about to be sent: the most that it may use.
    Reserve,
    /// A call has ended: what it used.
    Settle,
}

/// A call in the ledger. Contains no text of a prompt or an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageEntry {
    pub t: EntryKind,
    /// The same in the two lines of a call.
    pub id: String,
    #[serde(with = "rfc3339")]
    pub at: Timestamp,
    #[serde(rename = "threadId", default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Arc<str>>,
    #[serde(rename = "turnId", default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub step: u32,
    #[serde(rename = "authorId", default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Arc<str>>,
    #[serde(rename = "taskId", default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
    #[serde(default)]
    pub purpose: Purpose,
    /// The host of the server.
    #[serde(default)]
    pub provider: Arc<str>,
    #[serde(default)]
    pub model: Arc<str>,
    #[serde(rename = "in", default)]
    pub input: u64,
    #[serde(rename = "inCached", default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    #[serde(rename = "inCacheWrite", default, skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    #[serde(rename = "out", default)]
    pub output: u64,
    #[serde(rename = "outReasoning", default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub audio_in: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub audio_out: u64,
    /// Milliseconds of sound that were turned into text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sound_ms: u64,
    /// Characters that were turned into speech.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chars: u64,
    /// In millionths of a US dollar; absent where the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// The price that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    #[serde(default)]
    pub source: UsageSource,
    /// Whether the server's counts are absurd for the prompt.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspect: bool,
    /// How the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// Why this model was called in place of the first choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<ErrorKind>,
    /// How long the call took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ms: u64,
}

impl UsageEntry {
    /// An entry without numbers.
    pub fn new(t: EntryKind, id: String, at: Timestamp, payer: &Payer) -> Self {
        let text = |text: String| Arc::<str>::from(text);
        Self {
            t,
            id,
            at,
            thread: payer.thread.as_ref().map(|thread| text(thread.to_string())),
            turn: payer.turn.as_ref().map(|turn| text(turn.to_string())),
            step: payer.step,
            author: payer.author.as_ref().map(|author| text(author.to_string())),
            task: payer.task.as_deref().map(Arc::from),
            purpose: payer.purpose,
            provider: Arc::from(""),
            model: Arc::from(""),
            input: 0,
            cached: 0,
            cache_write: 0,
            output: 0,
            reasoning: 0,
            audio_in: 0,
            audio_out: 0,
            sound_ms: 0,
            chars: 0,
            cost: None,
            price: None,
            source: UsageSource::Reported,
            suspect: false,
            error: None,
            fallback: None,
            ms: 0,
        }
    }

    /// Takes in token counts.
    pub fn count(&mut self, usage: &Usage) {
        self.input = usage.input;
        self.cached = usage.cached;
        self.cache_write = usage.cache_write;
        self.output = usage.output;
        self.reasoning = usage.reasoning;
        self.audio_in = usage.audio_in;
        self.audio_out = usage.audio_out;
    }

    /// Its tokens in normal form.
    pub const fn usage(&self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cached: self.cached,
            cache_write: self.cache_write,
            reasoning: self.reasoning,
            audio_in: self.audio_in,
            audio_out: self.audio_out,
            cost: self.cost,
            estimated: matches!(self.source, UsageSource::Estimated | UsageSource::Uncertain),
        }
    }

    /// Input and output together.
    pub const fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero_u32(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Times as RFC 3339.
pub mod rfc3339 {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Timestamp;

    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&at.rfc3339())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Timestamp::parse_rfc3339(&text).ok_or_else(|| serde::de::Error::custom("not a time"))
    }
}
