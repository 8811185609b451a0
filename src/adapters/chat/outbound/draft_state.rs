//! What a running turn shows in a chat: what is on the screen, what should be, and when it is shown. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{CorrelationId, Intent};

/// Something to show of a running turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftFrame {
    /// The answer so far.
    Draft(String),
    Progress(String),
    Typing,
}

impl DraftFrame {
    /// The frame of an intent; `None` for one that is delivered.
    pub(super) fn of(intent: Intent) -> Option<Self> {
        match intent {
            Intent::AssistantDelta { text } => Some(Self::Draft(text)),
            Intent::Progress { text, .. } => Some(Self::Progress(text)),
            Intent::Typing => Some(Self::Typing),
            Intent::AssistantText { .. }
            | Intent::ApprovalRequest { .. }
            | Intent::ApprovalAskBack { .. }
            | Intent::ApprovalResolved { .. }
            | Intent::Attachment { .. }
            | Intent::Speech { .. }
            | Intent::Error { .. } => None,
        }
    }
}

/// What should be on the screen: the answer so far, and a line about the work below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftView {
    pub text: String,
    pub line: Option<String>,
}

/// When a platform shows the views of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftTiming {
    /// An answer that is complete within this time is not shown growing.
    pub hold: Duration,
    /// The wait between two views.
    pub between: Duration,
    /// After this long without a change, a line tells for how long the turn has run.
    pub silence: Option<Duration>,
    /// How long the platform keeps a view, where it drops it by itself.
    pub lasts: Option<Duration>,
}

/// The state of a turn that is shown. `P` is a view as the platform renders it.
#[derive(Clone, Debug)]
pub(super) struct DraftState<P> {
    pub(super) run: CorrelationId,
    /// The message that the turn answers.
    pub(super) reply_to: Option<String>,
    /// A message may have been sent whose id is unknown: a second one would be a duplicate.
    pub(super) lost: bool,
    since: Instant,
    text: String,
    /// The latest progress since the answer last grew.
    line: Option<String>,
    /// Whether a change waits to be shown.
    waits: bool,
    shown: Option<P>,
    shown_at: Instant,
    changed_at: Instant,
}

impl<P: PartialEq> DraftState<P> {
    /// The state of a turn that has shown nothing.
    pub(super) const fn new(run: CorrelationId, now: Instant) -> Self {
        Self {
            run,
            reply_to: None,
            lost: false,
            since: now,
            text: String::new(),
            line: None,
            waits: false,
            shown: None,
            shown_at: now,
            changed_at: now,
        }
    }

    pub(super) fn apply(&mut self, frame: DraftFrame, now: Instant) {
        match frame {
            DraftFrame::Draft(text) => (self.text, self.line) = (text, None),
            DraftFrame::Progress(line) => self.line = Some(line),
            DraftFrame::Typing => return,
        }
        (self.waits, self.changed_at) = (true, now);
    }

    /// When the change that waits is shown.
    pub(super) fn due(&self, timing: DraftTiming) -> Option<Instant> {
        let held = self.shown.is_none() && self.line.is_none();
        self.waits.then(|| if held { self.since + timing.hold } else { self.since })
    }

    /// The view to show now.
    pub(super) fn take_view(&mut self) -> DraftView {
        self.waits = false;
        DraftView { text: self.text.clone(), line: self.line.clone() }
    }

    /// The view of a turn that has not changed for long: with the time it has run, or again, before the platform drops it.
    pub(super) fn refreshed(&self, timing: DraftTiming, now: Instant) -> Option<DraftView> {
        let silent = now.duration_since(self.shown_at.max(self.changed_at));
        if timing.silence.is_some_and(|after| silent >= after) {
            let clock = format!("⏳ {} s", now.duration_since(self.since).as_secs());
            let line = match &self.line {
                Some(line) => format!("{clock} · {}", line.trim()),
                None => clock,
            };
            return Some(DraftView { text: self.text.clone(), line: Some(line) });
        }
        let fades = timing.lasts.is_some_and(|lasts| now.duration_since(self.shown_at) > lasts / 2);
        (fades && self.shown.is_some() && !self.text.is_empty())
            .then(|| DraftView { text: self.text.clone(), line: self.line.clone() })
    }

    pub(super) fn is_on_screen(&self, rendered: &P) -> bool {
        self.shown.as_ref() == Some(rendered)
    }

    pub(super) fn shown(&mut self, rendered: P, now: Instant) {
        (self.shown, self.shown_at) = (Some(rendered), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: DraftTiming = DraftTiming {
        hold: Duration::from_secs(1),
        between: Duration::from_secs(1),
        silence: Some(Duration::from_secs(7)),
        lasts: None,
    };

    fn state(now: Instant) -> DraftState<String> {
        DraftState::new("run_1".parse().unwrap(), now)
    }

    fn draft(text: &str) -> DraftFrame {
        DraftFrame::Draft(text.to_owned())
    }

    #[test]
    fn an_answer_is_held_back_at_first_and_progress_is_not() {
        let now = Instant::now();
        let mut state = state(now);
        assert_eq!(state.due(TIMING), None);
        state.apply(draft("a"), now);
        assert_eq!(state.due(TIMING), Some(now + TIMING.hold));
        state.apply(DraftFrame::Progress("reading".to_owned()), now);
        assert_eq!(state.due(TIMING), Some(now));
        assert_eq!(state.take_view(), DraftView { text: "a".to_owned(), line: Some("reading".to_owned()) });
        assert_eq!(state.due(TIMING), None);
        state.shown("a".to_owned(), now);
        state.apply(draft("ab"), now);
        assert_eq!(state.due(TIMING), Some(now), "what is shown already is changed without a wait");
    }

    #[test]
    fn a_silent_turn_tells_its_time_until_it_speaks_again() {
        let now = Instant::now();
        let at = |secs: u64| now + Duration::from_secs(secs);
        let mut state = state(now);
        assert_eq!(state.refreshed(TIMING, at(6)), None);
        let line = |view: Option<DraftView>| view.and_then(|view| view.line);
        assert_eq!(line(state.refreshed(TIMING, at(8))).as_deref(), Some("⏳ 8 s"));
        state.apply(DraftFrame::Progress(" reading ".to_owned()), at(9));
        assert_eq!(state.refreshed(TIMING, at(12)), None);
        assert_eq!(line(state.refreshed(TIMING, at(20))).as_deref(), Some("⏳ 20 s · reading"));
        state.apply(draft("half"), at(20));
        state.shown("half".to_owned(), at(21));
        assert_eq!(state.refreshed(TIMING, at(27)), None, "it stands there");
        let view = state.refreshed(TIMING, at(28)).unwrap();
        assert_eq!((view.text.as_str(), view.line.as_deref()), ("half", Some("⏳ 28 s")));
    }

    #[test]
    fn a_view_that_the_platform_drops_is_shown_again_before() {
        let now = Instant::now();
        let timing = DraftTiming { silence: None, lasts: Some(Duration::from_secs(30)), ..TIMING };
        let mut state = state(now);
        state.apply(draft("half"), now);
        state.shown("half".to_owned(), now);
        assert_eq!(state.refreshed(timing, now + Duration::from_secs(14)), None);
        assert!(state.refreshed(timing, now + Duration::from_secs(16)).is_some());
    }
}
