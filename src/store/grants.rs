//! The grants over a stored document: numbering, expiry and the audit trail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::document::{Document, Modified};
use crate::domain::{Approval, ApprovalState, AuthorId, GrantNumber, GrantSummary, Scope, Timestamp};
use crate::policy::grants::{Calls, Grant, GrantProposal};
use crate::ports::{Audit, AuditEvent, AuditLine, BoxFuture, Grants, Revoker, StoreError};

/// A grant with its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredGrant {
    #[serde(flatten)]
    grant: Grant,
    /// The author of the message that led to the approval.
    requested_by: Option<AuthorId>,
    by: Option<AuthorId>,
    at: String,
    /// The summary that the approver was shown.
    summary: String,
}

impl StoredGrant {
    fn is_over(&self, now: Timestamp) -> bool {
        self.grant.reach.until().is_some_and(|until| until <= now)
    }

    fn as_summary(&self) -> GrantSummary {
        let commands = match &self.grant.calls {
            Calls::Any => Vec::new(),
            Calls::Commands(commands) => commands.iter().map(ToString::to_string).collect(),
        };
        GrantSummary {
            number: self.grant.id,
            tool: self.grant.tool.clone(),
            commands,
            reach: self.grant.reach.clone(),
            requested_by: self.requested_by.clone(),
            by: self.by.clone(),
            at: self.at.clone(),
            summary: self.summary.clone(),
        }
    }

    fn audit_line(&self, event: AuditEvent, now: Timestamp) -> AuditLine {
        AuditLine {
            grants: vec![self.grant.id],
            tool: Some(self.grant.tool.clone()),
            thread: self.grant.reach.thread().cloned(),
            ..AuditLine::new(event, now)
        }
    }
}

/// All stored grants; the content of `grants.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantRecords {
    /// The last assigned number: none is reused, also when its grant is gone.
    last: Option<GrantNumber>,
    grants: Vec<StoredGrant>,
}

impl GrantRecords {
    fn next(&mut self) -> GrantNumber {
        let used = self.grants.iter().map(|known| known.grant.id).chain(self.last).max();
        let next = GrantNumber(used.map_or(0, |number| number.0).saturating_add(1));
        self.last = Some(next);
        next
    }

    /// Removes and returns expired grants.
    fn prune(&mut self, now: Timestamp) -> Vec<StoredGrant> {
        self.grants.extract_if(.., |known| known.is_over(now)).collect()
    }
}

/// The grants over a document.
#[derive(Debug)]
pub struct DocumentGrants<D> {
    records: D,
    audit: Arc<dyn Audit>,
}

impl<D: Document<GrantRecords>> DocumentGrants<D> {
    pub(super) const fn over(records: D, audit: Arc<dyn Audit>) -> Self {
        Self { records, audit }
    }

    /// Changes the records, and removes expired ones.
    async fn change<R: Send + 'static>(
        &self,
        now: Timestamp,
        work: impl FnOnce(&mut GrantRecords) -> (R, Modified) + Send + 'static,
    ) -> Result<R, StoreError> {
        let changed = self.records.change(move |content| {
            let over = content.prune(now);
            let (result, touched) = work(content);
            let touched = if over.is_empty() { touched } else { Modified::Yes };
            ((result, over), touched)
        });
        let (result, over) = changed.await?;
        for grant in over {
            self.audit.record(grant.audit_line(AuditEvent::GrantExpired, now));
        }
        Ok(result)
    }
}

impl<D: Document<GrantRecords>> Grants for DocumentGrants<D> {
    fn all(&self) -> BoxFuture<'_, Result<Vec<Grant>, StoreError>> {
        Box::pin(async move {
            Ok(self.records.read().await?.grants.iter().map(|stored| stored.grant.clone()).collect())
        })
    }

    fn add(
        &self,
        approval: Approval,
        scope: Scope,
        proposal: GrantProposal,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<GrantNumber, StoreError>> {
        Box::pin(async move {
            let decided = match &approval.state {
                ApprovalState::Approved { decided, .. } => Some(decided.clone()),
                _ => None,
            };
            let by = decided.as_ref().map(|decided| decided.by.clone());
            let (tool, requested_by) = (approval.tool.clone(), Some(approval.requested_by.clone()));
            let (at, summary) = (now.rfc3339(), approval.summary.clone());
            let added = self.change(now, move |content| {
                let id = content.next();
                let GrantProposal { calls, scripts, reach } = proposal;
                let grant = Grant { id, tool, calls, scripts, reach };
                content.grants.push(StoredGrant { grant, requested_by, by, at, summary });
                (id, Modified::Yes)
            });
            let number = added.await?;
            tracing::info!(grant = %number, tool = approval.tool, summary = approval.summary, "grant added");
            let line = AuditLine::about(AuditEvent::GrantAdded, &approval, now);
            let line = AuditLine { grants: vec![number], scope: Some(scope), ..line };
            self.audit.record(match &decided {
                Some(decided) => line.by(decided),
                None => line,
            });
            Ok(number)
        })
    }

    fn list(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<GrantSummary>, StoreError>> {
        Box::pin(async move {
            self.change(now, |content| {
                (content.grants.iter().map(StoredGrant::as_summary).collect(), Modified::No)
            })
            .await
        })
    }

    fn revoke(
        &self,
        number: GrantNumber,
        by: Revoker,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<GrantSummary>, StoreError>> {
        Box::pin(async move {
            let revoked = self.change(now, move |content| {
                let at = content.grants.iter().position(|known| known.grant.id == number);
                let gone = at.map(|at| content.grants.remove(at));
                // The number must stay used, also where `last` is missing.
                content.last = content.last.max(gone.as_ref().map(|gone| gone.grant.id));
                let touched = if gone.is_some() { Modified::Yes } else { Modified::No };
                (gone, touched)
            });
            let Some(gone) = revoked.await? else { return Ok(None) };
            tracing::info!(grant = %number, by = %by.author, "grant revoked");
            self.audit.record(AuditLine {
                author: Some(by.author),
                via: Some(by.via),
                ..gone.audit_line(AuditEvent::GrantRevoked, now)
            });
            Ok(Some(gone.as_summary()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::domain::{ApprovalKind, ApprovalNumber, Decided, Reach, Risk};
    use crate::policy::grants::{CallFacts, GrantedCommand, Pattern, proposed};
    use crate::ports::{AuditQuery, StoreErrorKind, StoredAuditLine};
    use crate::store::memory::InMemoryAudit;
    use crate::store::{FileGrants, replace_file};

    /// The audit lines: the event, the grants, and who did it.
    async fn told(audit: &InMemoryAudit) -> Vec<String> {
        let trail = audit.read(AuditQuery { limit: 100, ..AuditQuery::default() }).await.unwrap();
        let one = |line: &StoredAuditLine| {
            let text = |key: &str| line.facts[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("event"), line.facts["grants"][0].as_str().unwrap(), text("author"))
        };
        trail.lines.iter().map(|line| one(line).trim().to_owned()).collect()
    }

    fn at(minutes: u64) -> Timestamp {
        Timestamp::from_millis(0).plus_millis(minutes * 60_000)
    }

    fn approval(scope: Scope) -> Approval {
        let decided =
            Decided { by: "web:user:ada".parse().unwrap(), at: at(0), via: "text".to_owned(), reason: None };
        Approval {
            id: "a".repeat(40).parse().unwrap(),
            number: ApprovalNumber(1),
            kind: ApprovalKind::Tool,
            thread: "web:chat:1".parse().unwrap(),
            correlation: "run_1".parse().unwrap(),
            tool_call: "call_1".parse().unwrap(),
            tool: "write_file".to_owned(),
            input: json!({}),
            summary: "write_file a".to_owned(),
            details: None,
            risk: Risk::Medium,
            scopes: vec![scope.kind()],
            memory_scope: Default::default(),
            owners_only: false,
            asked_in: Vec::new(),
            fingerprint: "f".to_owned(),
            requested_by: "web:user:ada".parse().unwrap(),
            created_at: at(0),
            expires_at: at(60),
            state: ApprovalState::Approved { decided, scope },
        }
    }

    fn book(dir: &Path) -> (FileGrants, Arc<InMemoryAudit>) {
        let paper = Arc::new(InMemoryAudit::default());
        (FileGrants::new(dir, paper.clone()), paper)
    }

    /// Adds the grant of an answer of this scope; none for a single call.
    async fn add(book: &FileGrants, scope: Scope, now: Timestamp) -> Result<Option<GrantNumber>, StoreError> {
        let approval = approval(scope);
        let (tool, risk) = (approval.tool.as_str(), approval.risk);
        let call = CallFacts { tool, risk, in_advance: true, shell: None, scripts: None };
        match proposed(scope, &approval.thread, now, &call) {
            Some(proposal) => book.add(approval, scope, proposal, now).await.map(Some),
            None => Ok(None),
        }
    }

    fn minutes(count: u32) -> Scope {
        Scope::Minutes(NonZeroU32::new(count).unwrap())
    }

    fn bob() -> Revoker {
        Revoker { author: "web:user:bob".parse().unwrap(), via: "http".to_owned() }
    }

    async fn numbers(book: &FileGrants, now: Timestamp) -> Vec<String> {
        book.list(now).await.unwrap().iter().map(|grant| grant.number.to_string()).collect()
    }

    #[tokio::test]
    async fn a_number_never_comes_twice_however_its_grant_went() {
        let dir = tempfile::tempdir().unwrap();
        let (book, paper) = book(dir.path());
        for scope in [Scope::Thread, minutes(5), Scope::Project] {
            add(&book, scope, at(0)).await.unwrap();
        }
        assert_eq!(numbers(&book, at(1)).await, ["G1", "G2", "G3"]);
        let gone = book.revoke(GrantNumber(3), bob(), at(2)).await.unwrap().unwrap();
        assert_eq!((gone.tool.as_str(), gone.reach), ("write_file", Reach::Project));
        assert_eq!(book.revoke(GrantNumber(3), bob(), at(2)).await.unwrap(), None);
        assert_eq!(numbers(&book, at(5)).await, ["G1"], "G2 is over");
        book.revoke(GrantNumber(1), bob(), at(6)).await.unwrap();
        // Another process on a later day: only the file has the last number.
        let (later, _) = self::book(dir.path());
        add(&later, Scope::Thread, at(7)).await.unwrap();
        assert_eq!(numbers(&later, at(8)).await, ["G4"]);
        assert_eq!(
            told(&paper).await,
            [
                "grant-added G1 web:user:ada",
                "grant-added G2 web:user:ada",
                "grant-added G3 web:user:ada",
                "grant-revoked G3 web:user:bob",
                "grant-expired G2",
                "grant-revoked G1 web:user:bob",
            ]
        );
    }

    #[tokio::test]
    async fn once_grants_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (book, paper) = book(dir.path());
        add(&book, Scope::Once, at(0)).await.unwrap();
        assert!(numbers(&book, at(0)).await.is_empty());
        assert!(told(&paper).await.is_empty() && !dir.path().join("grants.json").exists());
    }

    #[tokio::test]
    async fn a_garbled_file_grants_nothing_and_is_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grants.json");
        let (book, paper) = book(dir.path());
        add(&book, Scope::Thread, at(0)).await.unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        for garbled in
            [good.replace("grants", "granted"), good.replace("G1", "X1"), good + "}", "[]".to_owned()]
        {
            replace_file(&path, garbled.as_bytes(), 0o600).unwrap();
            assert_eq!(book.all().await.unwrap_err().kind(), StoreErrorKind::Invalid, "{garbled}");
            assert!(add(&book, Scope::Thread, at(1)).await.is_err());
            assert!(book.revoke(GrantNumber(1), bob(), at(1)).await.is_err());
            assert!(book.list(at(1)).await.is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), garbled);
        }
        assert_eq!(told(&paper).await.len(), 1);
    }

    #[tokio::test]
    async fn a_grant_of_an_older_version_is_listed_revoked_and_covers_its_words_alone() {
        let dir = tempfile::tempdir().unwrap();
        let old = r#"{"last":"G2","grants":[
            {"id":"G1","tool":"exec_shell","calls":{"commands":[{"begins":["git","commit"]}]},"reach":"shape",
             "requestedBy":null,"by":null,"at":"2025-01-01T00:00:00Z","summary":"git commit -m x"},
            {"id":"G2","tool":"exec_shell","calls":{"commands":[{"exactly":["make","all"]}]},"reach":"project",
             "requestedBy":null,"by":null,"at":"2025-01-01T00:00:00Z","summary":"make all"}]}"#;
        replace_file(&dir.path().join("grants.json"), old.as_bytes(), 0o600).unwrap();
        let (book, _) = book(dir.path());
        let read = book.all().await.unwrap();
        let exactly = |words: &[&str]| GrantedCommand {
            pattern: Pattern::Exactly(words.iter().map(|word| (*word).to_owned()).collect()),
            folders: vec![String::new()],
        };
        assert_eq!(read[0].calls, Calls::Commands(vec![exactly(&["git", "commit"])]));
        assert_eq!(read[1].calls, Calls::Commands(vec![exactly(&["make", "all"])]));
        let listed = book.list(at(0)).await.unwrap();
        assert_eq!(listed[0].commands, ["git commit"]);
        assert!(book.revoke(GrantNumber(1), bob(), at(0)).await.unwrap().is_some());
        assert_eq!(numbers(&book, at(0)).await, ["G2"]);
        assert_eq!(book.all().await.unwrap()[0], read[1], "the rest is written as it was read");
    }
}
