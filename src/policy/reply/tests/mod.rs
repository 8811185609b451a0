//! The reader of replies against a corpus and against what must hold for every reply.

mod closed_grammar;
mod corpus;
mod pending_approvals;
mod properties;
