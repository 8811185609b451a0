//! `/api/threads/{id}/events`: all events of one thread, live.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::problem::Problem;
use super::server::Web;
use super::sse::{self, Source, event};
use crate::domain::{Intent, MessageId, ThreadId, ThreadState};
use crate::ports::{Subscription, ThreadView};
use crate::uimessage::{Cursor, UiMessage};

/// Wait before a thread that was unloaded is watched again.
const WATCH_AGAIN: Duration = Duration::from_secs(1);

pub(super) async fn events(
    State(web): State<Arc<Web>>,
    Path(thread): Path<String>,
) -> Result<Response, Problem> {
    let thread: ThreadId = thread.parse()?;
    let place = sse::place(&web.watchers)?;
    Ok(sse::response(ThreadEvents::open(&web, thread).await?, place))
}

/// The status of a thread, beside its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadStatus {
    state: ThreadState,
    queued: usize,
    waiting: Vec<MessageId>,
    pending_approvals: usize,
}

/// A thread as it is told to one client.
pub(super) struct ThreadEvents {
    web: Arc<Web>,
    thread: ThreadId,
    watching: Option<Subscription>,
    state: Option<ThreadStatus>,
    /// The live message, as far as it was sent.
    told: Option<Cursor>,
}

impl ThreadEvents {
    pub(super) async fn open(web: &Arc<Web>, thread: ThreadId) -> Result<Self, Problem> {
        let watching = web.threads.watch(thread.clone()).await.ok_or_else(|| web.unanswered())?;
        let mut events = Self { web: Arc::clone(web), thread, watching: None, state: None, told: None };
        events.watch(watching);
        Ok(events)
    }

    fn watch(&mut self, mut watching: Subscription) {
        // The first read counts as a change, so that a client starts with the state.
        watching.view.mark_changed();
        self.watching = Some(watching);
    }

    /// The thread was unloaded and its subscriptions ended; watching loads it again.
    async fn watch_again(&mut self) -> Option<String> {
        tokio::time::sleep(WATCH_AGAIN).await;
        let watching = self.web.threads.watch(self.thread.clone()).await?;
        self.watch(watching);
        Some(event("reload", &json!({})))
    }

    fn tell_view(&mut self, view: &ThreadView) -> String {
        let mut out = String::new();
        let state = ThreadStatus {
            state: view.state,
            waiting: view.waiting.clone(),
            queued: view.queued,
            pending_approvals: view.pending_approvals,
        };
        if self.state.as_ref() != Some(&state) {
            let body = json!({
                "threadId": self.thread,
                "state": state.state,
                "queued": state.queued,
                "waiting": state.waiting,
                "pendingApprovals": state.pending_approvals,
            });
            out.push_str(&event("state", &body));
            self.state = Some(state);
        }
        match &view.live {
            Some(live) => out.push_str(&self.tell_live(live)),
            None => self.told = None,
        }
        out
    }

    fn tell_live(&mut self, live: &UiMessage) -> String {
        // Another message, or the same one started over, is sent from its beginning.
        let mut told = self.told.take().filter(|told| told.fits(live)).unwrap_or_default();
        let chunks = told.advance(live);
        self.told = Some(told);
        let body = |chunk| json!({ "messageId": live.id, "chunk": chunk });
        chunks.iter().map(|chunk| event("chunk", &body(chunk))).collect()
    }
}

impl Source for ThreadEvents {
    async fn next(&mut self) -> Option<String> {
        loop {
            let Some(watching) = &mut self.watching else {
                let stop = self.web.stop.clone();
                return tokio::select! {
                    () = stop.cancelled() => None,
                    again = self.watch_again() => again,
                };
            };
            let heard = tokio::select! {
                biased;
                () = self.web.stop.cancelled() => return None,
                message = watching.messages.recv() => match message {
                    Ok(message) => event("message", &*message),
                    Err(RecvError::Lagged(_)) => event("reload", &json!({})),
                    Err(RecvError::Closed) => {
                        self.watching = None;
                        continue;
                    }
                },
                Ok(notice) = watching.notices.recv() => match notice_of(&notice) {
                    Some(notice) => event("notice", &notice),
                    None => continue,
                },
                changed = watching.view.changed() => match changed {
                    Ok(()) => {
                        let view = watching.view.borrow_and_update().clone();
                        self.tell_view(&view)
                    }
                    Err(_) => {
                        self.watching = None;
                        continue;
                    }
                },
            };
            if !heard.is_empty() {
                return Some(heard);
            }
        }
    }
}

/// A transient intent, as far as the page shows it.
fn notice_of(intent: &Intent) -> Option<Value> {
    match intent {
        Intent::Progress { text, call_id: None } => Some(json!({ "kind": "progress", "text": text })),
        Intent::Progress { text, call_id: Some(call) } => {
            Some(json!({ "kind": "progress", "text": text, "toolCallId": call }))
        }
        Intent::Error { text, .. } => Some(json!({ "kind": "error", "text": text })),
        Intent::AssistantText { .. }
        | Intent::AssistantDelta { .. }
        | Intent::Typing
        | Intent::ApprovalRequest { .. }
        | Intent::ApprovalAskBack { .. }
        | Intent::ApprovalResolved { .. }
        | Intent::Speech { .. }
        | Intent::Attachment { .. } => None,
    }
}
