//! What the main constructs look like.
