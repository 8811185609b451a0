//! What the agent can do. A new tool is one file here and one line in `registry.rs`.
