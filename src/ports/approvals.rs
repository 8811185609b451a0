//! The record of questions to people and their answers.

use super::{BoxFuture, StoreError};
use crate::domain::{Approval, ApprovalId, ApprovalNumber, ThreadId};

/// The record. What it was told is on the disk before it says so.
pub trait ApprovalBook: Send + Sync + std::fmt::Debug {
    /// A number nobody has used in this project.
    fn next_number(&self) -> BoxFuture<'_, Result<ApprovalNumber, StoreError>>;

    /// Writes a question down, or what became of it.
    fn save(&self, approval: Approval) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The question of this id.
    fn get(&self, id: &ApprovalId) -> BoxFuture<'_, Result<Option<Approval>, StoreError>>;

    /// Every question there is, newest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;

    /// The questions that wait for an answer, newest first. Costs nothing for those that were answered.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;

    /// The questions of this thread that the last daemon left without an answer; some may have one by now.
    fn left_pending(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Vec<ApprovalId>, StoreError>>;

    /// The questions that people call so, of this thread.
    fn numbered(
        &self,
        thread: &ThreadId,
        numbers: Vec<ApprovalNumber>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;

    /// The questions of these ids that belong to this thread.
    fn of_thread(
        &self,
        thread: &ThreadId,
        ids: Vec<ApprovalId>,
    ) -> BoxFuture<'_, Result<Vec<Approval>, StoreError>>;
}
