//! `/api/events`: changes of all threads and of the daemon, for a page that lists them; with `?thread=` also all events
//! of that thread, so that a page needs a single connection.
//!
//! Every connection starts with a snapshot, so a client that reconnects needs no record of what it missed. A client
//! that reads too slowly gets `resync` and a new snapshot; the queue for it is bounded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::events::ThreadEvents;
use super::health::{Info, info_of};
use super::problem::Problem;
use super::server::Web;
use super::sse::{self, Source, event};
use super::threads::{DEFAULT_PAGE, ThreadList, ThreadRow, thread_row};
use crate::domain::ThreadId;
use crate::ports::{Change, ThreadFilter, ThreadQuery, ThreadView};

/// Changes of a thread within this time are sent together.
const GATHER: Duration = Duration::from_millis(100);
/// Interval of polling the state that changes without an event: health, expiring grants, files that the command line
/// writes.
const COMPARE: Duration = Duration::from_secs(2);
/// Beyond this many changed threads a snapshot is sent instead.
const MAX_CHANGED: usize = 256;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EventsQuery {
    thread: Option<String>,
}

pub(super) async fn events(
    State(web): State<Arc<Web>>,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let thread = query.thread.map(|thread| thread.parse::<ThreadId>()).transpose()?;
    let place = sse::place(&web.watchers)?;
    let one = match thread {
        Some(thread) => Some(ThreadEvents::open(&web, thread).await?),
        None => None,
    };
    Ok(sse::response(AllEvents::new(web, one), place))
}

/// The event stream of the daemon for one client.
struct AllEvents {
    changes: broadcast::Receiver<Change>,
    web: Arc<Web>,
    /// The thread whose events are sent in full.
    one: Option<ThreadEvents>,
    /// When to send a snapshot; `None` while the client has a current one.
    snapshot_at: Option<Instant>,
    /// Threads with unsent changes, each with its live state.
    changed: BTreeMap<ThreadId, ThreadView>,
    tell_at: Option<Instant>,
    compare_at: Instant,
    told: PolledState,
}

/// The content of a page beside the open thread.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Snapshot {
    #[serde(flatten)]
    page: ThreadList,
    pinned: Vec<ThreadRow>,
    info: Option<Info>,
    pending_approvals: usize,
    asking: usize,
}

/// The polled state that was sent last.
#[derive(Debug, Default, PartialEq)]
struct PolledState {
    info: Option<Info>,
    grants: Value,
    access: Value,
    asking: usize,
    pending: Vec<String>,
}

impl AllEvents {
    fn new(web: Arc<Web>, one: Option<ThreadEvents>) -> Self {
        Self {
            changes: web.parts.changes.subscribe(),
            web,
            one,
            snapshot_at: Some(Instant::now()),
            changed: BTreeMap::new(),
            tell_at: None,
            compare_at: Instant::now() + COMPARE,
            told: PolledState::default(),
        }
    }

    /// The content of a page beside the open thread: the newest threads, the daemon, and the number of pending
    /// approvals and requests.
    async fn snapshot(&mut self) -> Result<String, Problem> {
        let live: HashMap<ThreadId, ThreadView> = self.web.threads.views().await.into_iter().collect();
        let page = self.web.thread_page(ThreadQuery::newest(DEFAULT_PAGE), &live).await?;
        let pinned = self.web.pinned(&live).await?;
        let told = self.look().await;
        let body = Snapshot {
            page,
            pinned,
            info: told.info.clone(),
            pending_approvals: told.pending.len(),
            asking: told.asking,
        };
        self.told = told;
        self.changed.clear();
        (self.snapshot_at, self.tell_at) = (None, None);
        Ok(event("snapshot", &body))
    }

    /// Reads the polled state. An unreadable part counts as empty here; its own endpoint reports the error.
    async fn look(&self) -> PolledState {
        let (parts, now) = (&self.web.parts, self.web.clock.now());
        let access = parts.access.list(now).await.unwrap_or_default();
        let pending = parts.approvals.pending().await.unwrap_or_default();
        PolledState {
            info: Some(info_of(&self.web)),
            grants: json!(parts.grants.list(now).await.unwrap_or_default()),
            asking: access.asking.len(),
            access: json!(access),
            pending: pending.iter().map(|approval| approval.id.to_string()).collect(),
        }
    }

    /// Sends the parts of the polled state that changed.
    async fn compare(&mut self) -> String {
        let now = self.look().await;
        let mut out = String::new();
        if now.info != self.told.info {
            out.push_str(&event("info", &now.info));
        }
        if now.pending != self.told.pending {
            out.push_str(&event("approvals", &json!({ "pending": now.pending.len() })));
        }
        if now.grants != self.told.grants {
            out.push_str(&event("grants", &json!({})));
        }
        if now.access != self.told.access {
            out.push_str(&event("access", &json!({ "asking": now.asking })));
        }
        self.told = now;
        self.compare_at = Instant::now() + COMPARE;
        out
    }

    fn note(&mut self, thread: ThreadId, view: ThreadView) {
        self.changed.insert(thread, view);
        self.tell_at.get_or_insert_with(|| Instant::now() + GATHER);
        if self.changed.len() > MAX_CHANGED {
            self.snapshot_at = Some(Instant::now());
        }
    }

    /// Sends the changed threads, and the state that may have changed with them.
    async fn tell_changed(&mut self) -> Result<String, Problem> {
        let threads: BTreeSet<ThreadId> = self.changed.keys().cloned().collect();
        let query = ThreadQuery { filter: ThreadFilter::Only(threads), ..ThreadQuery::newest(MAX_CHANGED) };
        let page = self.web.parts.store.list(query).await?;
        let marks = self.web.parts.thread_marks.all().await?;
        let mut out = String::new();
        for thread in &page.threads {
            let (mark, live) = (marks.get(&thread.thread_id), self.changed.get(&thread.thread_id));
            out.push_str(&event("thread", &thread_row(thread, mark, live)));
        }
        out.push_str(&self.compare().await);
        self.changed.clear();
        self.tell_at = None;
        Ok(out)
    }

    /// The events to send now, if any.
    async fn due(&mut self) -> Option<String> {
        let now = Instant::now();
        let told = if self.snapshot_at.is_some_and(|at| at <= now) {
            // A client that has a snapshot must know that this one replaces it.
            let resync =
                if self.told == PolledState::default() { String::new() } else { event("resync", &json!({})) };
            self.snapshot().await.map(|snapshot| resync + &snapshot)
        } else if self.tell_at.is_some_and(|at| at <= now) {
            self.tell_changed().await
        } else if self.compare_at <= now {
            Ok(self.compare().await)
        } else {
            return None;
        };
        Some(told.unwrap_or_else(|problem| {
            tracing::warn!(problem = problem.text, "events not sent, retrying");
            (self.snapshot_at, self.tell_at) = (Some(Instant::now() + COMPARE), None);
            String::new()
        }))
    }

    fn next_due(&self) -> Instant {
        let dues = [self.snapshot_at, self.tell_at, Some(self.compare_at)];
        dues.into_iter().flatten().min().unwrap_or(self.compare_at)
    }
}

/// The next events of the thread that is sent in full, if there is one.
async fn next_of(one: &mut Option<ThreadEvents>) -> Option<String> {
    match one {
        Some(one) => one.next().await,
        None => std::future::pending().await,
    }
}

impl Source for AllEvents {
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(due) = self.due().await {
                if due.is_empty() {
                    continue;
                }
                return Some(due);
            }
            let due = self.next_due();
            tokio::select! {
                biased;
                () = self.web.stop.cancelled() => return None,
                change = self.changes.recv() => match change {
                    Ok(Change::Thread { thread, state, pending_approvals }) => {
                        self.note(thread, ThreadView { state, pending_approvals, ..ThreadView::default() });
                    }
                    Ok(Change::ThreadDeleted(thread)) => {
                        self.changed.remove(&thread);
                        return Some(event("deleted", &json!({ "threadId": thread })));
                    }
                    Ok(Change::Instructions) => return Some(event("instructions", &json!({}))),
                    Err(RecvError::Lagged(_)) => self.snapshot_at = Some(Instant::now()),
                    Err(RecvError::Closed) => return None,
                },
                events = next_of(&mut self.one) => return events,
                () = sleep_until(due) => {}
            }
        }
    }
}
