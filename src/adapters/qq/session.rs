//! What is written down of the gateway's session, so that another process goes on with it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::gateway::Session;
use crate::ports::KeyValueStore;

/// The names of the notes that a session, and how far it has come, are kept under.
const SESSION: &str = "session";
const PROGRESS: &str = "session-seq";

/// A session, and whose it is.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    app_id: String,
    session: Session,
}

/// How far a session has come. It may be lost: what came since is told again, and recognised.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    session: String,
    seq: u64,
}

/// Remembers the session of one bot.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) app_id: String,
    pub(super) notes: Arc<dyn KeyValueStore>,
}

impl Memory {
    /// The session that was left, with how far it had come.
    pub(super) async fn recall(&self) -> Option<Session> {
        let note = async |name: &str| self.notes.get(name).await.ok().flatten();
        let kept: Kept = serde_json::from_value(note(SESSION).await?).ok()?;
        let mut session = Some(kept.session).filter(|_| kept.app_id == self.app_id)?;
        let progress = note(PROGRESS).await.and_then(|note| serde_json::from_value::<Progress>(note).ok());
        if let Some(progress) = progress.filter(|progress| progress.session == session.id) {
            session.seq = session.seq.max(progress.seq);
        }
        Some(session)
    }

    /// A session began. It must outlive a loss of power: what was told and not yet taken in comes only in the same one.
    pub(super) async fn began(&self, session: Option<Session>) {
        let Some(session) = session else { return };
        let kept = serde_json::to_value(Kept { app_id: self.app_id.clone(), session });
        if let Err(error) = self.notes.keep(SESSION, kept.unwrap_or_default()).await {
            tracing::warn!(%error, "the session could not be written down");
        }
    }

    /// The session has come further.
    pub(super) async fn came_further(&self, session: Option<Session>) {
        let Some(session) = session else { return };
        let progress = serde_json::to_value(Progress { session: session.id, seq: session.seq });
        if let Err(error) = self.notes.put(PROGRESS, progress.unwrap_or_default()).await {
            tracing::warn!(%error, "how far the session has come could not be written down");
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
        let memory = |app_id: &str| Memory { app_id: app_id.to_owned(), notes: Arc::clone(&notes) };
        let session = |id: &str, seq| Session { id: id.to_owned(), seq, me: None };
        assert_eq!(memory("a").recall().await, None);
        memory("a").began(Some(session("s", 1))).await;
        memory("a").came_further(Some(session("s", 7))).await;
        assert_eq!(memory("a").recall().await, Some(session("s", 7)));
        assert_eq!(memory("b").recall().await, None);
        // How far another one had come says nothing, and neither does a note that is torn.
        memory("a").began(Some(session("t", 2))).await;
        assert_eq!(memory("a").recall().await, Some(session("t", 2)));
        notes.put(PROGRESS, serde_json::json!("torn")).await.unwrap();
        assert_eq!(memory("a").recall().await, Some(session("t", 2)));
    }
}
