//! What people agreed to for more than once, and whether it covers a call.

mod covering;
mod grant;
#[cfg(test)]
mod tests;

pub use covering::{CallFacts, Proposal, covering, covers, holds, offered, proposed};
pub(super) use covering::{grantable, named_program};
pub use grant::{Calls, Grant, GrantedCommand, Pattern};
