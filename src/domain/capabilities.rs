//! What a platform can do, as facts. Core decides by these, never by a platform's name.

use serde::Serialize;

/// How a reply reaches people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// Clients read the thread themselves; nothing is sent, so nothing can be lost on the way.
    Pull,
    /// Each reply is sent, with a receipt.
    Push,
}

/// What a platform counts when it limits the length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LengthUnit {
    Chars,
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl LengthUnit {
    /// The length of a text in this unit.
    pub fn measure(self, text: &str) -> usize {
        match self {
            Self::Chars => text.chars().count(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// What an adapter's platform can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// How replies reach people.
    pub delivery: Delivery,
    /// Buttons under a message.
    pub buttons: bool,
    pub rich_cards: bool,
    /// A sent message can be changed.
    pub edits: bool,
    /// A reply can be shown while it is being written.
    pub streaming: bool,
    pub voice: bool,
    /// Files, in and out.
    pub files: bool,
    /// Replies that point at a message.
    pub threaded_replies: bool,
    pub reactions: bool,
    /// Longest message; nothing means no limit.
    pub max_length: Option<usize>,
    /// What `max_length` counts.
    pub length_unit: LengthUnit,
    /// How many replies one inbound message allows; nothing means no limit.
    pub replies_per_message: Option<u32>,
    /// After how many seconds the platform's typing indicator ends; `None`: it has none.
    pub typing_secs: Option<u64>,
}

impl Capabilities {
    /// A platform that is sent plain messages of this length, and has nothing else.
    pub const fn plain_text(max_length: usize, length_unit: LengthUnit) -> Self {
        Self {
            delivery: Delivery::Push,
            buttons: false,
            rich_cards: false,
            edits: false,
            streaming: false,
            voice: false,
            files: false,
            threaded_replies: false,
            reactions: false,
            max_length: Some(max_length),
            length_unit,
            replies_per_message: None,
            typing_secs: None,
        }
    }

    /// A surface that reads threads itself and shows them as they grow.
    pub const fn pull() -> Self {
        Self {
            delivery: Delivery::Pull,
            buttons: true,
            rich_cards: true,
            edits: true,
            streaming: true,
            voice: false,
            files: true,
            threaded_replies: false,
            reactions: false,
            max_length: None,
            length_unit: LengthUnit::Chars,
            replies_per_message: None,
            typing_secs: None,
        }
    }
}
