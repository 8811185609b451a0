//! The state of a turn while it is shown, and its rendering.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::api::ApiError;
use super::chat_target::ChatTarget;
use super::client::{Client, OutgoingMessage};
use super::html::{MESSAGE_LIMIT, Rendered, escape, render_partial};
use super::limits::SendPriority;
use super::streamed_messages::{StreamedMessage, StreamedMessages};
use crate::adapters::chat::DraftFrame;
use crate::domain::{CorrelationId, ThreadId};

/// Refresh interval: the server drops a draft after thirty seconds.
const REFRESH: Duration = Duration::from_secs(15);
/// After this long without a visible change, a line shows that the turn still runs.
const SILENCE: Duration = Duration::from_secs(7);
/// Most characters of a progress line.
const LINE: usize = 300;

/// The states of the shown turns.
pub(super) type DraftStates = Mutex<HashMap<ThreadId, DraftState>>;

/// The state of a shown turn.
#[derive(Clone, Debug)]
pub(super) struct DraftState {
    pub(super) correlation: CorrelationId,
    /// When its first frame arrived.
    pub(super) since: Instant,
    pub(super) text: String,
    /// The latest progress since the answer last grew.
    pub(super) line: Option<String>,
    /// The last rendered content.
    pub(super) shown: Option<Rendered>,
    pub(super) shown_at: Instant,
    /// When the content last changed.
    pub(super) news_at: Instant,
    /// The message that the turn answers.
    pub(super) reply_to: Option<i64>,
    /// A message is being sent, or its outcome is unknown: a second one would be a duplicate.
    pub(super) sent: bool,
}

impl DraftState {
    /// The state of a turn without frames.
    pub(super) fn new(correlation: &CorrelationId, now: Instant) -> Self {
        Self {
            correlation: correlation.clone(),
            since: now,
            text: String::new(),
            line: None,
            shown: None,
            shown_at: now,
            news_at: now,
            reply_to: None,
            sent: false,
        }
    }

    /// Updates the state with a frame.
    pub(super) fn apply(&mut self, frame: &DraftFrame) {
        match frame {
            DraftFrame::Draft(text) => {
                self.text.clone_from(text);
                self.line = None;
            }
            DraftFrame::Progress(line) => self.line = Some(line.clone()),
            DraftFrame::Typing => return,
        }
        self.news_at = Instant::now();
    }

    /// The content of a periodic refresh: the elapsed time of a silent turn, a frame that was held back, or a draft
    /// before the server drops it.
    pub(super) fn sign(&self, drafts: bool) -> Option<Rendered> {
        if self.shown_at.max(self.news_at).elapsed() >= SILENCE {
            let clock = format!("⏳ {} s", self.since.elapsed().as_secs());
            let line = self.line.as_deref().map(|line| format!("{clock} · {}", line.trim()));
            return Some(picture(&self.text, Some(line.as_deref().unwrap_or(&clock))));
        }
        let fades = drafts && self.shown_at.elapsed() > REFRESH;
        let due = fades || self.shown.is_none();
        (due && !self.text.is_empty()).then(|| picture(&self.text, self.line.as_deref()))
    }
}

/// The answer so far, with the progress line below it.
pub(super) fn picture(text: &str, progress: Option<&str>) -> Rendered {
    let Some(line) = progress.and_then(|line| line.lines().find(|line| !line.trim().is_empty())) else {
        return render_partial(text, MESSAGE_LIMIT);
    };
    let line: String = line.trim().chars().take(LINE).collect();
    let above = render_partial(text, MESSAGE_LIMIT - 2 * LINE - 2);
    let gap = if above.html.is_empty() { "" } else { "\n\n" };
    Rendered {
        html: format!("{}{gap}<i>{}</i>", above.html, escape(&line)),
        plain: format!("{}{gap}{line}", above.plain),
    }
}

/// The first message of a turn, in flight for as long as the send takes, perhaps longer than the turn.
pub(super) struct FirstDraft {
    pub(super) client: Client,
    pub(super) streamed: Arc<StreamedMessages>,
    pub(super) states: Arc<DraftStates>,
    pub(super) place: ChatTarget,
    pub(super) thread: ThreadId,
    pub(super) correlation: CorrelationId,
    pub(super) since: Instant,
}

impl FirstDraft {
    /// Sends it. Returns its id where the turn is still streamed.
    pub(super) async fn send(self, outgoing: &OutgoingMessage) -> Option<i64> {
        match self.client.send(self.place, outgoing, SendPriority::Optional).await {
            Ok(Some(message)) => {
                let live = StreamedMessage { correlation: self.correlation.clone(), message, done: None };
                self.streamed.get(&self.thread).await;
                // The end of a turn is recorded before its message is looked up: either the message is noted by then, or
                // it is deleted here.
                if self.in_time(|_| self.streamed.note(&self.thread, live)).is_some() {
                    self.streamed.save(&self.thread).await;
                    return Some(message);
                }
                if !self.client.delete(self.place, message).await {
                    self.streamed.leave(&self.thread, message).await;
                }
            }
            // It may have arrived; without an id it cannot be edited.
            Ok(None) | Err(ApiError::Unsure(_) | ApiError::Gateway(_)) => {}
            Err(ApiError::Refused { code: 500.., .. }) => {}
            Err(_) => drop(self.in_time(|state| state.sent = false)),
        }
        None
    }

    /// Changes the state of the turn, unless the turn has delivered text meanwhile.
    fn in_time<T>(&self, work: impl FnOnce(&mut DraftState) -> T) -> Option<T> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.get_mut(&self.thread)?;
        (state.correlation == self.correlation && state.since == self.since).then(|| work(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_one_line_below_the_answer_so_far() {
        let shown = picture("half **an", Some("\nreading <a> file\nand more"));
        assert_eq!(shown.html, "half <b>an</b>\n\n<i>reading &lt;a&gt; file</i>");
        assert_eq!(picture("", Some("working")).html, "<i>working</i>");
        assert_eq!(picture("text", Some(" \n")).html, "text");
        assert_eq!(picture("", None), Rendered::default());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_held_back_is_shown_at_the_next_sign_of_life_and_then_only_when_it_is_due() {
        for drafts in [false, true] {
            let correlation: CorrelationId = "run_1".parse().unwrap();
            let mut state = DraftState::new(&correlation, Instant::now());
            assert_eq!(state.sign(drafts), None, "nothing has been said");
            state.apply(&DraftFrame::Draft("half".to_owned()));
            tokio::time::advance(Duration::from_secs(4)).await;
            assert_eq!(state.sign(drafts).unwrap().html, "half");
            (state.shown, state.shown_at) = (Some(picture("half", None)), Instant::now());
            tokio::time::advance(Duration::from_secs(4)).await;
            assert_eq!(state.sign(drafts), None, "it stands there");
            tokio::time::advance(Duration::from_secs(4)).await;
            assert_eq!(state.sign(drafts).unwrap().html, "half\n\n<i>⏳ 12 s</i>");
        }
    }
}
