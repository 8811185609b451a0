//! What people agreed to for more than once, and whether it covers a call.

mod covering;
mod grant;
#[cfg(test)]
mod tests;

pub(super) use covering::grantable;
pub use covering::{CallFacts, Proposal, covering, covers, holds, proposed};
pub use grant::{Calls, Grant, GrantedCommand, Pattern};
