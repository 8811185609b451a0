//! The capabilities of a platform. Core decides by these, never by a platform's name.

use serde::Serialize;

use super::VoiceFormat;

/// How replies reach people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// Clients read the thread themselves; nothing is sent.
    Pull,
    /// Each reply is sent, with a receipt.
    Push,
}

/// The unit of a platform's message length limit.
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

/// The capabilities of an adapter's platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    pub delivery: Delivery,
    /// Buttons under a message.
    pub buttons: bool,
    pub rich_cards: bool,
    /// A sent message can be edited.
    pub edits: bool,
    /// A reply can be shown while it is being generated.
    pub streaming: bool,
    /// The form of its voice messages; `None` where it has none.
    pub voice: Option<VoiceFormat>,
    /// Files, inbound and outbound.
    pub files: bool,
    /// Replies that refer to a message.
    pub threaded_replies: bool,
    pub reactions: bool,
    /// Longest message; `None` means no limit.
    pub max_length: Option<usize>,
    /// The unit of `max_length`.
    pub length_unit: LengthUnit,
    /// Most replies per inbound message; `None` means no limit.
    pub replies_per_message: Option<u32>,
    /// After how many seconds the platform's typing indicator ends; `None`: it has none.
    pub typing_secs: Option<u64>,
    /// Its threads are runs, perhaps without people in them.
    pub unattended: bool,
}

impl Capabilities {
    /// A platform with plain messages of this length and no other capability.
    pub const fn plain_text(max_length: usize, length_unit: LengthUnit) -> Self {
        Self {
            delivery: Delivery::Push,
            buttons: false,
            rich_cards: false,
            edits: false,
            streaming: false,
            voice: None,
            files: false,
            threaded_replies: false,
            reactions: false,
            max_length: Some(max_length),
            length_unit,
            replies_per_message: None,
            typing_secs: None,
            unattended: false,
        }
    }

    /// A surface whose clients read threads themselves and show them as they grow.
    pub const fn pull() -> Self {
        Self {
            delivery: Delivery::Pull,
            buttons: true,
            rich_cards: true,
            edits: true,
            streaming: true,
            voice: None,
            files: true,
            threaded_replies: false,
            reactions: false,
            max_length: None,
            length_unit: LengthUnit::Chars,
            replies_per_message: None,
            typing_secs: None,
            unattended: false,
        }
    }
}
