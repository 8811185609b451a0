//! Approvals: the questions, what people reply, and what a reply means. No code outside this folder touches a field of
//! [`Approvals`].
//!
//! [`Approvals`]: approvals::Approvals

pub(super) mod approvals;
pub(super) mod audit;
pub(super) mod question;
pub(super) mod replies;
pub(super) mod visibility;
