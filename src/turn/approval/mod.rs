//! Approvals: the questions, what people reply, and what a reply means.

pub(super) mod approvals;
pub(super) mod audit;
pub(super) mod classified;
pub(super) mod long_question;
pub(super) mod replies;
pub(super) mod visibility;
