//! Intents to blocks, phrases in the person's language, text that is split to fit. Pure.
