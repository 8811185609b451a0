//! The languages of the daemon's own texts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language of the daemon's own texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    En,
    Zh,
}

/// How many characters are examined.
const LOOKED_AT: usize = 2000;

impl Language {
    /// As it stands in ship.json and answers.
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The language of a text: any Han character near its beginning makes it Chinese.
    pub fn of(text: &str) -> Self {
        let han = |c: char| matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FA1F);
        if text.chars().take(LOOKED_AT).any(han) { Self::Zh } else { Self::En }
    }
}
