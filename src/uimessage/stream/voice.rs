//! The stream events of text and of reasoning.

use crate::uimessage::Chunk;

/// Two kinds of text with the same events under different names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Voice {
    Words,
    Thinking,
}

impl Voice {
    pub(super) const fn start(self, id: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextStart { id },
            Self::Thinking => Chunk::ReasoningStart { id },
        }
    }

    pub(super) const fn delta(self, id: String, delta: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextDelta { id, delta },
            Self::Thinking => Chunk::ReasoningDelta { id, delta },
        }
    }

    pub(super) const fn end(self, id: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextEnd { id },
            Self::Thinking => Chunk::ReasoningEnd { id },
        }
    }
}
