//! Progress of running calls for subscribers: rate-limited, one line, redacted.

use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::actor::Actor;
use crate::domain::{Intent, ToolCallId};
use crate::ports::Progress;

/// Shortest interval between two progress lines of a call.
const EVERY: Duration = Duration::from_secs(2);
/// Longest progress line, in characters.
const LINE_CHARS: usize = 160;
/// Most progress lines that may be queued for the actor; further ones are dropped.
const BACKLOG: usize = 16;

/// The last line of output of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastLine {
    call: ToolCallId,
    line: String,
}

/// The channel from running calls to their actor.
#[derive(Debug, Default)]
pub(super) struct ProgressChannel {
    /// Exists only while calls run: most threads never run a tool, and an empty channel takes memory too.
    way: Option<(mpsc::WeakSender<LastLine>, mpsc::Receiver<LastLine>)>,
}

impl ProgressChannel {
    /// The next progress line. Pending for ever when there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> LastLine {
        if let Some((_, heard)) = &mut self.way {
            if let Some(line) = heard.recv().await {
                return line;
            }
            self.way = None;
        }
        std::future::pending().await
    }

    /// A sender for the progress of one call, and the task that forwards it.
    pub(super) fn of(&mut self, call: &ToolCallId) -> (mpsc::Sender<Progress>, ProgressForwarder) {
        let (sender, said) = mpsc::channel(1);
        let open = self.way.as_ref().and_then(|(tell, _)| tell.upgrade());
        let tell = open.unwrap_or_else(|| {
            let (tell, heard) = mpsc::channel(BACKLOG);
            self.way = Some((tell.downgrade(), heard));
            tell
        });
        (sender, ProgressForwarder { call: call.clone(), said, tell })
    }
}

/// Forwards the progress of one call.
#[derive(Debug)]
pub(super) struct ProgressForwarder {
    call: ToolCallId,
    said: mpsc::Receiver<Progress>,
    tell: mpsc::Sender<LastLine>,
}

impl ProgressForwarder {
    /// Forwards progress until the work is done.
    pub(super) async fn during<T>(self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.pass_on() => never,
        }
    }

    async fn pass_on<T>(mut self) -> T {
        let mut told: Option<Instant> = None;
        while let Some(Progress { last_line, .. }) = self.said.recv().await {
            let line = last_line.trim();
            if line.is_empty() || told.is_some_and(|told| told.elapsed() < EVERY) {
                continue;
            }
            told = Some(Instant::now());
            // Progress is best effort: a full queue drops it.
            drop(self.tell.try_send(LastLine { call: self.call.clone(), line: line.to_owned() }));
        }
        std::future::pending().await
    }
}

impl Actor {
    /// Publishes a progress line, unless its run has ended.
    pub(super) fn show_progress(&self, LastLine { call, line }: LastLine) {
        if self.conversation.current().is_none() {
            return;
        }
        let line = self.runtime.redactor.apply(&line);
        let mut text: String = line.chars().take(LINE_CHARS).collect();
        if text.len() < line.len() {
            text.push('…');
        }
        self.show(Intent::Progress { text: format!("… {text}"), call_id: Some(call) });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_is_told_of_at_once_and_then_seldom() {
        let mut hearing = ProgressChannel::default();
        let (say, passing) = hearing.of(&"c1".parse().unwrap());
        let work = async move {
            for second in 0..7 {
                let progress = Progress { bytes: 1, last_line: format!("line {second} ") };
                say.send(progress).await.unwrap();
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            say.send(Progress { bytes: 1, last_line: "  ".into() }).await.unwrap();
            "done"
        };
        assert_eq!(passing.during(work).await, "done");
        let mut lines = Vec::new();
        while let Some(LastLine { call, line }) = hearing.next().now_or_never() {
            assert_eq!(call.as_str(), "c1");
            lines.push(line);
        }
        assert_eq!(lines, ["line 0", "line 2", "line 4", "line 6"]);
        assert!(hearing.way.is_none(), "room is kept for nobody");
    }

    #[tokio::test]
    async fn calls_are_heard_that_begin_when_others_have_ended() {
        let mut hearing = ProgressChannel::default();
        for name in ["c1", "c2"] {
            let (say, passing) = hearing.of(&name.parse().unwrap());
            let (_other, beside) = hearing.of(&"c3".parse().unwrap());
            let work = async move {
                say.send(Progress { bytes: 1, last_line: name.into() }).await.unwrap();
                tokio::task::yield_now().await;
            };
            passing.during(work).await;
            assert_eq!(hearing.next().await, LastLine { call: name.parse().unwrap(), line: name.into() });
            drop(beside);
            assert_eq!(hearing.next().now_or_never(), None);
        }
    }

    #[tokio::test]
    async fn a_call_that_nobody_hears_is_not_held_up() {
        let mut hearing = ProgressChannel::default();
        for _ in 0..2 * BACKLOG {
            let (say, passing) = hearing.of(&"c1".parse().unwrap());
            let work = async move {
                say.send(Progress { bytes: 1, last_line: "x".into() }).await.unwrap();
            };
            passing.during(work).await;
        }
    }
}
