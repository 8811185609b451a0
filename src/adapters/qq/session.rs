//! Stores the gateway session, so that another process can resume it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::gateway::GatewaySession;
use crate::ports::{Durability, KeyValueStore};

/// The keys of the session and of its sequence number.
const SESSION: &str = "session";
const PROGRESS: &str = "session-seq";

/// A session with the bot that owns it.
#[derive(Debug, Serialize, Deserialize)]
struct StoredSession {
    app_id: String,
    session: GatewaySession,
}

/// The sequence number of a session. It may be lost: the session repeats later events, and the dedupe key recognises
/// them.
#[derive(Debug, Serialize, Deserialize)]
struct SequenceNote {
    session: String,
    seq: u64,
}

/// The stored session of one bot.
#[derive(Debug)]
pub(super) struct SessionStore {
    pub(super) app_id: String,
    pub(super) notes: Arc<dyn KeyValueStore>,
}

impl SessionStore {
    /// The last session with its sequence number.
    pub(super) async fn recall(&self) -> Option<GatewaySession> {
        let note = async |name: &str| self.notes.get(name).await.ok().flatten();
        let stored: StoredSession = serde_json::from_value(note(SESSION).await?).ok()?;
        let mut session = Some(stored.session).filter(|_| stored.app_id == self.app_id)?;
        let progress =
            note(PROGRESS).await.and_then(|note| serde_json::from_value::<SequenceNote>(note).ok());
        if let Some(progress) = progress.filter(|progress| progress.session == session.id) {
            session.seq = session.seq.max(progress.seq);
        }
        Some(session)
    }

    /// Stores a new session durably: events that were sent and not yet accepted are repeated only in the same session.
    pub(super) async fn store_session(&self, session: Option<GatewaySession>) {
        let Some(session) = session else { return };
        let stored = serde_json::to_value(StoredSession { app_id: self.app_id.clone(), session });
        if let Err(error) = self.notes.put(SESSION, stored.unwrap_or_default(), Durability::Synced).await {
            tracing::warn!(%error, "session not stored");
        }
    }

    /// Stores the sequence number.
    pub(super) async fn store_sequence(&self, session: Option<GatewaySession>) {
        let Some(session) = session else { return };
        let progress = serde_json::to_value(SequenceNote { session: session.id, seq: session.seq });
        if let Err(error) = self.notes.put(PROGRESS, progress.unwrap_or_default(), Durability::Written).await
        {
            tracing::warn!(%error, "session sequence not stored");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FileNotes;

    #[tokio::test]
    async fn a_session_is_gone_on_with_from_where_it_had_come_and_only_by_its_own_bot() {
        let dir = tempfile::tempdir().unwrap();
        let notes: Arc<dyn KeyValueStore> = Arc::new(FileNotes::new(dir.path(), &"qq".parse().unwrap()));
        let memory = |app_id: &str| SessionStore { app_id: app_id.to_owned(), notes: Arc::clone(&notes) };
        let session = |id: &str, seq| GatewaySession { id: id.to_owned(), seq, me: None };
        assert_eq!(memory("a").recall().await, None);
        memory("a").store_session(Some(session("s", 1))).await;
        memory("a").store_sequence(Some(session("s", 7))).await;
        assert_eq!(memory("a").recall().await, Some(session("s", 7)));
        assert_eq!(memory("b").recall().await, None);
        // The sequence number of another session, or a torn note, is ignored.
        memory("a").store_session(Some(session("t", 2))).await;
        assert_eq!(memory("a").recall().await, Some(session("t", 2)));
        notes.put(PROGRESS, serde_json::json!("torn"), Durability::Written).await.unwrap();
        assert_eq!(memory("a").recall().await, Some(session("t", 2)));
    }
}
