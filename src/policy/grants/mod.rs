//! Grants: approvals for more than one call, and whether they cover a call.

mod covering;
mod grant;
#[cfg(test)]
mod tests;

pub use covering::{CallFacts, GrantProposal, covering, covers, holds, offered, proposed};
pub(super) use covering::{grantable, named_program};
pub use grant::{Calls, Grant, GrantedCommand, Pattern};
