//! The turn: what happens next, decided without doing it.
//!
//! [`Conversation`] is a machine: events go in, effects come out. Nothing here awaits, reads a clock or touches
//! a file, so a crash, a stop or a double message is a table in a test.

mod answers;
mod asking;
mod audit;
mod budget;
mod calls;
mod commands;
mod company;
mod conversation;
mod effect;
mod endings;
mod event;
mod guard;
mod intake;
mod ledger;
mod long_question;
mod prompt;
mod reading;
mod recover;
mod replies;
mod run;
mod sight;
mod steps;
mod tail;
mod voice;
mod withdrawal;

pub use budget::{estimate_tokens, fit};
pub use conversation::{Conversation, EffectsOf, Rules};
pub use effect::{Effect, Spoken};
pub use event::{Brought, Event, Seat, Ticket};
pub use prompt::{Facts, build_prompt, system_prompt};

#[cfg(test)]
mod tests;
