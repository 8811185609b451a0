//! Grants: approvals for more than one call, and whether they cover a call.

mod covering;
mod grant;
#[cfg(test)]
mod tests;

pub(super) use covering::grantable;
pub use covering::{CallFacts, Proposal, covering, covers, holds, proposed};
pub use grant::{Calls, Grant, GrantedCommand, Pattern};
