//! The access records over a stored document. The rules are in `access_records`; this adds new codes and the audit
//! trail.

use std::sync::Arc;

use super::access_records::{self, AccessRecords};
use super::document::{Document, Modified};
use crate::domain::{Author, AuthorId, Platform, Role, ThreadId, Timestamp};
use crate::ports::{
    AccessList, AccessStore, AccessSubject, Audit, AuditEvent, AuditLine, AuditOutcome, BoxFuture,
    Invitation, Member, PairingConfirmation, PairingRequest, StoreError, StoreErrorKind,
};

fn fresh_code() -> Result<String, StoreError> {
    access_records::fresh().map_err(|source| StoreError::new(StoreErrorKind::Unavailable, "access", source))
}

/// The access records over a document.
#[derive(Debug)]
pub struct DocumentAccess<D> {
    records: D,
    audit: Arc<dyn Audit>,
}

impl<D: Document<AccessRecords>> DocumentAccess<D> {
    pub(super) const fn over(records: D, audit: Arc<dyn Audit>) -> Self {
        Self { records, audit }
    }

    async fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AccessRecords) -> (R, Modified) + Send + 'static,
    ) -> Result<R, StoreError> {
        self.records.change(work).await
    }

    async fn look<R>(&self, work: impl FnOnce(&AccessRecords) -> R) -> Result<R, StoreError> {
        Ok(work(&*self.records.read().await?))
    }
}

impl<D: Document<AccessRecords>> AccessStore for DocumentAccess<D> {
    fn role_of(&self, author: &AuthorId) -> BoxFuture<'_, Result<Option<Role>, StoreError>> {
        let author = author.clone();
        Box::pin(async move { self.look(|records| records.role_of(&author)).await })
    }

    fn is_removed(&self, author: &AuthorId) -> BoxFuture<'_, Result<bool, StoreError>> {
        let author = author.clone();
        Box::pin(async move { self.look(|records| records.is_removed(&author)).await })
    }

    fn ask_in(&self, who: Author, now: Timestamp) -> BoxFuture<'_, Result<PairingRequest, StoreError>> {
        Box::pin(async move {
            let code = fresh_code()?;
            let platform = who.id.platform();
            self.change(move |records| records.request_pairing(who, &platform, now, code)).await
        })
    }

    fn is_open(&self, platform: &Platform, chat: &str) -> BoxFuture<'_, Result<bool, StoreError>> {
        let chat = ThreadId::of_chat(platform, chat);
        Box::pin(async move {
            // A chat whose id makes no valid ThreadId cannot have been opened.
            let Ok(chat) = chat else { return Ok(false) };
            self.look(|records| records.is_open(&chat)).await
        })
    }

    fn open_chat(
        &self,
        platform: &Platform,
        chat: &str,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let (chat, by) = (ThreadId::of_chat(platform, chat), by.clone());
        Box::pin(async move {
            let Ok(chat) = chat else { return Ok(()) };
            // An owner writes often, and opens a group once.
            if self.look(|records| records.is_open(&chat)).await? {
                return Ok(());
            }
            let (opened, author) = (chat.clone(), by.clone());
            if self.change(move |records| records.open(opened, &by, now)).await? {
                tracing::info!(%chat, by = %author, "group opened");
                self.audit.record(AuditLine {
                    author: Some(author),
                    guest: Some(chat.to_string()),
                    ..AuditLine::new(AuditEvent::AccessOpened, now)
                });
            }
            Ok(())
        })
    }

    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<AccessList, StoreError>> {
        Box::pin(async move { self.look(|records| records.list(now)).await })
    }

    fn approve(
        &self,
        code: &str,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<PairingConfirmation, StoreError>> {
        let (code, author) = (code.to_owned(), by.clone());
        Box::pin(async move {
            let by = author.clone();
            let approved = self.change(move |records| records.approve(&code, role, &by, now)).await?;
            let refused = |reason: &str| (None, AuditOutcome::Refused, Some(reason.to_owned()));
            let (guest, outcome, reason) = match &approved {
                PairingConfirmation::Confirmed(member) => {
                    let role = format!("as {}", member.role);
                    (Some(member.id.to_string()), AuditOutcome::Approved, Some(role))
                }
                PairingConfirmation::NoSuchCode => refused("nobody waits with this code"),
                PairingConfirmation::Locked { .. } => refused("too many wrong codes"),
            };
            tracing::info!(by = %author, ?outcome, guest, "pairing code entered");
            self.audit.record(AuditLine {
                author: Some(author),
                guest,
                outcome: Some(outcome),
                reason,
                ..AuditLine::new(AuditEvent::AccessApproved, now)
            });
            Ok(approved)
        })
    }

    fn invite(
        &self,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Invitation, StoreError>> {
        let by = by.clone();
        Box::pin(async move {
            let code = fresh_code()?;
            let author = by.clone();
            let invitation =
                self.change(move |records| (records.invite(role, &by, now, code), Modified::Yes)).await?;
            tracing::info!(by = %author, %role, "invitation created");
            self.audit.record(AuditLine {
                author: Some(author),
                reason: Some(format!("as {role}")),
                ..AuditLine::new(AuditEvent::AccessInvited, now)
            });
            Ok(invitation)
        })
    }

    fn redeem(&self, who: Author, code: &str, now: Timestamp) -> BoxFuture<'_, Result<bool, StoreError>> {
        let code = code.to_owned();
        Box::pin(async move {
            let guest = who.id.to_string();
            let member = self.change(move |records| records.redeem(who, &code, now)).await?;
            let (author, outcome, reason) = match &member {
                Some(member) => {
                    let reason = format!("invited as {}", member.role);
                    (Some(member.approved_by.clone()), AuditOutcome::Approved, reason)
                }
                None => (None, AuditOutcome::Refused, "nobody was invited with this code".to_owned()),
            };
            tracing::info!(guest, ?outcome, "invitation redeemed");
            self.audit.record(AuditLine {
                author,
                guest: Some(guest),
                outcome: Some(outcome),
                reason: Some(reason),
                ..AuditLine::new(AuditEvent::AccessApproved, now)
            });
            Ok(member.is_some())
        })
    }

    fn change_role(
        &self,
        who: &AuthorId,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<Member>, StoreError>> {
        let (who, by) = (who.clone(), by.clone());
        Box::pin(async move {
            let changed = self.change(move |records| records.change_role(&who, role)).await?;
            if let Some(member) = &changed {
                tracing::info!(guest = %member.id, %role, %by, "role changed");
                self.audit.record(AuditLine {
                    author: Some(by),
                    guest: Some(member.id.to_string()),
                    reason: Some(format!("as {role}")),
                    ..AuditLine::new(AuditEvent::AccessChanged, now)
                });
            }
            Ok(changed)
        })
    }

    fn revoke(
        &self,
        who: &AccessSubject,
        by: &AuthorId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        let (who, by) = (who.clone(), by.clone());
        Box::pin(async move {
            let (guest, author) = (who.to_string(), by.clone());
            let gone = self.change(move |records| records.revoke(&who, &author, now)).await?;
            if gone {
                tracing::info!(guest, %by, "access revoked");
                self.audit.record(AuditLine {
                    author: Some(by),
                    guest: Some(guest),
                    ..AuditLine::new(AuditEvent::AccessRevoked, now)
                });
            }
            Ok(gone)
        })
    }
}
