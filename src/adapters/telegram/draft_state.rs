//! What is remembered of a turn while it is shown, and the picture that it makes.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::html::{MESSAGE_LIMIT, Rendered, escape, render_partial};
use crate::adapters::chat::Frame;
use crate::domain::{CorrelationId, ThreadId};

/// The server forgets a draft after thirty seconds.
const REFRESH: Duration = Duration::from_secs(15);
/// After so long without anything new to see, a line says that work goes on.
const SILENCE: Duration = Duration::from_secs(7);
/// The longest line of progress.
const LINE: usize = 300;

/// The turns that are shown.
pub(super) type DraftStates = Mutex<HashMap<ThreadId, DraftState>>;

/// What is remembered of a turn that is shown.
#[derive(Clone, Debug)]
pub(super) struct DraftState {
    pub(super) correlation: CorrelationId,
    /// When it was first heard of.
    pub(super) since: Instant,
    /// The answer so far.
    pub(super) text: String,
    /// What was last said to be going on, since the answer last grew.
    pub(super) line: Option<String>,
    /// What was last put before people.
    pub(super) shown: Option<Rendered>,
    pub(super) shown_at: Instant,
    /// When there was last something new to see.
    pub(super) news_at: Instant,
    /// The message that the turn answers.
    pub(super) reply_to: Option<i64>,
    /// A message is on its way, or was and may have arrived: another would stand beside it.
    pub(super) sent: bool,
}

impl DraftState {
    /// Of a turn that has shown nothing.
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

    /// Remembers what a frame tells.
    pub(super) fn hear(&mut self, frame: &Frame) {
        match frame {
            Frame::Draft(text) => {
                self.text.clone_from(text);
                self.line = None;
            }
            Frame::Progress(line) => self.line = Some(line.clone()),
            Frame::Typing => return,
        }
        self.news_at = Instant::now();
    }

    /// What is shown although there is nothing new: that work goes on and for how long, what came too early to be shown at
    /// once, or a draft before the server forgets it.
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

/// The answer so far, and what is going on below it.
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
            let mut stroke = DraftState::new(&correlation, Instant::now());
            assert_eq!(stroke.sign(drafts), None, "nothing has been said");
            stroke.hear(&Frame::Draft("half".to_owned()));
            tokio::time::advance(Duration::from_secs(4)).await;
            assert_eq!(stroke.sign(drafts).unwrap().html, "half");
            (stroke.shown, stroke.shown_at) = (Some(picture("half", None)), Instant::now());
            tokio::time::advance(Duration::from_secs(4)).await;
            assert_eq!(stroke.sign(drafts), None, "it stands there");
            tokio::time::advance(Duration::from_secs(4)).await;
            assert_eq!(stroke.sign(drafts).unwrap().html, "half\n\n<i>⏳ 12 s</i>");
        }
    }
}
