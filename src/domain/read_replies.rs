//! Who reads a reply to an approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who reads a reply to a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadReplies {
    /// The rules alone.
    #[default]
    Rules,
    /// Where the rules cannot read it, a model may. It sees the reply alone, and all it can bring about is a question
    /// back.
    Model,
}
