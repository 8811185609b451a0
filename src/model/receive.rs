//! Reads an answer to its end, in bounded time. Independent of HTTP: chunks come from any stream.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::assemble::Assembler;
use super::failure::Failure;
use super::wire::StreamChunk;
use crate::domain::ErrorKind;
use crate::ports::{Completion, ModelDelta};

/// How long to wait for the rest of a stream after its finish reason: the usage follows then.
const AFTER_THE_END: Duration = Duration::from_secs(2);

/// Longest duration of a stream that never stalls, as a multiple of the time-out.
const LONGEST: u32 = 10;

/// The deadlines of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLimits {
    timeout: Duration,
    began: Instant,
    pub first_by: Instant,
    end_by: Instant,
}

impl StreamLimits {
    /// The deadlines of a step that begins now.
    pub(crate) fn from_now(timeout: Duration) -> Self {
        // One day, so that no sum below overflows.
        let timeout = timeout.min(Duration::from_secs(24 * 3600));
        let now = Instant::now();
        Self { timeout, began: now, first_by: now + timeout, end_by: now + timeout.saturating_mul(LONGEST) }
    }

    /// Moves all deadlines: this long, nothing was asked of the server.
    pub(crate) fn postpone(&mut self, by: Duration) {
        for at in [&mut self.began, &mut self.first_by, &mut self.end_by] {
            *at += by;
        }
    }

    /// For how long the server has been asked without any output.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The deadlines of another attempt of the same step: a new deadline for the first output, within the total one.
    pub(crate) fn next_attempt(&self) -> Self {
        let began = Instant::now();
        Self { began, first_by: (began + self.timeout).min(self.end_by), ..*self }
    }

    /// The failure of a step without any output.
    pub(crate) const fn no_first_word(&self) -> Failure {
        Failure::Silent { awaited: "first word", limit: self.timeout }
    }
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// It ended without a mark, or has not ended yet.
    #[default]
    Missing,
    /// The server marked the answer as complete.
    Marked,
    /// We stopped reading, because it was too long.
    Cut,
}

/// What a call has shown.
#[derive(Debug)]
pub(crate) struct Show<'a> {
    live: &'a mpsc::Sender<ModelDelta>,
    shown: bool,
    told: bool,
}

impl<'a> Show<'a> {
    pub(crate) const fn new(live: &'a mpsc::Sender<ModelDelta>) -> Self {
        Self { live, shown: false, told: false }
    }

    /// Whether any output was shown.
    pub(crate) const fn shown(&self) -> bool {
        self.shown
    }

    /// Withdraws the output, because the answer is requested again.
    pub(crate) async fn start_over(&mut self) {
        if std::mem::take(&mut self.shown) {
            self.send(ModelDelta::StartOver).await;
        }
    }

    /// Reports that the call is retried, the first time.
    pub(crate) async fn retrying(&mut self, kind: ErrorKind) {
        if !self.told {
            self.told = true;
            self.send(ModelDelta::Retrying { kind, next_model: None }).await;
        }
    }

    async fn piece(&mut self, delta: ModelDelta) {
        self.shown = true;
        self.send(delta).await;
    }

    /// A closed receiver does not end the call: the completion is what counts.
    async fn send(&self, delta: ModelDelta) {
        drop(self.live.send(delta).await);
    }
}

/// Reads until the answer is complete. `ended` tells, after the last chunk, how the stream ended.
pub(crate) async fn receive<S>(
    mut chunks: S,
    mut assembler: Assembler,
    show: &mut Show<'_>,
    limits: &StreamLimits,
    ended: impl Fn() -> StreamEnd,
) -> Result<Completion, Failure>
where
    S: Stream<Item = Result<StreamChunk, Failure>> + Unpin,
{
    let whole =
        Failure::Silent { awaited: "end of the answer", limit: limits.timeout.saturating_mul(LONGEST) };
    loop {
        let finished = assembler.finish_reason().is_some();
        let (until, failure) = next_by(finished, show.shown(), limits);
        let chunk = match timeout_at(until, chunks.next()).await {
            Ok(Some(Ok(chunk))) => chunk,
            Ok(None) => break,
            // The answer is complete; an error after its end does not matter.
            Ok(Some(Err(_))) | Err(_) if finished => break,
            Ok(Some(Err(Failure::Broken(story)))) if show.shown() => return Err(Failure::BrokenOff(story)),
            Ok(Some(Err(failure))) => return Err(failure),
            Err(_) if Instant::now() >= limits.end_by => return Err(whole),
            Err(_) => return Err(failure),
        };
        if let Some(error) = chunk.error {
            return Err(Failure::Reported(error));
        }
        for delta in assembler.feed(chunk) {
            timeout_at(limits.end_by, show.piece(delta)).await.map_err(|_| whole.clone())?;
        }
        if assembler.is_cut() {
            break;
        }
    }
    let end = ended();
    if end == StreamEnd::Cut {
        assembler.cut();
    }
    if let Some(reason) = assembler.finish_reason().filter(|reason| is_breakdown(reason)) {
        return Err(Failure::Reported(format!("the answer was cut: {reason}")));
    }
    if assembler.finish_reason().is_none() && end == StreamEnd::Missing && !assembler.is_cut() {
        let story = "the stream ended before the answer did".to_owned();
        return Err(if show.shown() { Failure::BrokenOff(story) } else { Failure::Broken(story) });
    }
    if !assembler.answered() {
        return Err(Failure::Unreadable("an answer without choices".to_owned()));
    }
    let (last, completion) = assembler.finish();
    for delta in last {
        timeout_at(limits.end_by, show.piece(delta)).await.map_err(|_| whole.clone())?;
    }
    Ok(completion)
}

/// The deadline of the next chunk, and the failure if it is missed.
fn next_by(finished: bool, shown: bool, limits: &StreamLimits) -> (Instant, Failure) {
    if finished {
        return ((Instant::now() + AFTER_THE_END).min(limits.end_by), limits.no_first_word());
    }
    if !shown {
        return (limits.first_by, limits.no_first_word());
    }
    let silence = Failure::Silent { awaited: "further word", limit: limits.timeout };
    ((Instant::now() + limits.timeout).min(limits.end_by), silence)
}

/// Finish reasons that mean a server failure, not the end of the answer.
fn is_breakdown(reason: &str) -> bool {
    matches!(reason, "insufficient_system_resource" | "network_error" | "error" | "abort")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use futures_util::stream;
    use serde_json::{Value, json};

    use super::*;
    use crate::ports::RandomIds;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn said(content: &str) -> Value {
        json!({ "choices": [{ "delta": { "content": content } }] })
    }

    fn stop() -> Value {
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] })
    }

    /// Chunks with delays in seconds; then a stall, or the end.
    fn paced(
        chunks: Vec<(u64, Value)>,
        hang: bool,
    ) -> impl Stream<Item = Result<StreamChunk, Failure>> + Unpin {
        let chunks = stream::iter(chunks).then(|(wait, chunk)| async move {
            tokio::time::sleep(Duration::from_secs(wait)).await;
            Ok(StreamChunk::from(chunk))
        });
        let rest = stream::iter(hang.then_some(())).then(|()| std::future::pending());
        Box::pin(chunks.chain(rest))
    }

    async fn read(
        chunks: impl Stream<Item = Result<StreamChunk, Failure>> + Unpin,
        end: StreamEnd,
    ) -> (Result<Completion, Failure>, Duration) {
        let (live, mut deltas) = mpsc::channel(1000);
        deltas.close();
        let assembler = Assembler::new(Arc::new(RandomIds), HashSet::new());
        let started = Instant::now();
        let limits = StreamLimits::from_now(TIMEOUT);
        let result = receive(chunks, assembler, &mut Show::new(&live), &limits, || end).await;
        (result, started.elapsed())
    }

    fn silent(awaited: &'static str, secs: u64) -> Result<Completion, Failure> {
        Err(Failure::Silent { awaited, limit: Duration::from_secs(secs) })
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_first_word_ends_at_the_timeout() {
        let role = json!({"choices": [{"delta": {"role": "assistant"}}]});
        let (result, took) = read(paced(vec![(20, role)], true), StreamEnd::Missing).await;
        assert_eq!((result, took), (silent("first word", 30), TIMEOUT));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_after_a_word_ends_one_timeout_later() {
        let (result, took) = read(paced(vec![(20, said("a"))], true), StreamEnd::Missing).await;
        assert_eq!((result, took), (silent("further word", 30), Duration::from_secs(50)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dripping_stream_ends_at_ten_timeouts() {
        let drops = (0..1000).map(|_| (20, said("a"))).collect();
        let (result, took) = read(paced(drops, true), StreamEnd::Missing).await;
        assert_eq!((result, took), (silent("end of the answer", 300), TIMEOUT * 10));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_reading_the_deltas_does_not_make_it_endless() {
        let (live, _unread) = mpsc::channel(1);
        let assembler = Assembler::new(Arc::new(RandomIds), HashSet::new());
        let chunks = paced(vec![(0, said("a")), (0, said("b")), (0, stop())], false);
        let limits = StreamLimits::from_now(TIMEOUT);
        let result = receive(chunks, assembler, &mut Show::new(&live), &limits, || StreamEnd::Marked).await;
        assert_eq!(result, silent("end of the answer", 300));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_that_keeps_coming_is_read_whole() {
        let chunks = vec![(29, said("a")), (29, said("b")), (29, stop())];
        let (result, took) = read(paced(chunks, false), StreamEnd::Missing).await;
        assert_eq!((result.unwrap().text.as_str(), took), ("ab", Duration::from_secs(87)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_left_open_behind_its_end_is_not_waited_for() {
        let (result, took) = read(paced(vec![(0, said("a")), (0, stop())], true), StreamEnd::Missing).await;
        assert_eq!((result.unwrap().text.as_str(), took), ("a", AFTER_THE_END));
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_is_a_reason_or_a_mark_and_without_both_the_answer_is_broken() {
        for (chunks, end, whole) in [
            (vec![(0, said("a")), (0, stop())], StreamEnd::Missing, true),
            (vec![(0, said("a"))], StreamEnd::Marked, true),
            (vec![(0, said("a"))], StreamEnd::Missing, false),
            (vec![(0, stop())], StreamEnd::Missing, true),
            (vec![], StreamEnd::Missing, false),
            (vec![(0, json!({"choices": []}))], StreamEnd::Marked, false),
        ] {
            let shown = format!("{chunks:?} {end:?}");
            assert_eq!(read(paced(chunks, false), end).await.0.is_ok(), whole, "{shown}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_too_long_is_cut_and_not_read_on() {
        let endless = stream::repeat_with(|| Ok(StreamChunk::from(said(&"x".repeat(1 << 16)))));
        let completion = read(Box::pin(endless), StreamEnd::Missing).await.0.unwrap();
        assert_eq!((completion.text.len(), completion.truncated), (crate::model::assemble::MAX_KEPT, true));

        let cut = read(paced(vec![(0, said("a"))], false), StreamEnd::Cut).await.0.unwrap();
        assert_eq!((cut.text.as_str(), cut.truncated), ("a", true));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_breaks_off_is_told_apart_from_a_connection_that_never_spoke() {
        let broken = || stream::iter([Err(Failure::Broken("reset".into()))]);
        let (silent, _) = read(broken(), StreamEnd::Missing).await;
        assert_eq!(silent, Err(Failure::Broken("reset".into())));
        let (begun, _) = read(paced(vec![(0, said("a"))], false).chain(broken()), StreamEnd::Missing).await;
        assert_eq!(begun, Err(Failure::BrokenOff("reset".into())));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_in_the_stream_is_a_failure_however_it_is_said() {
        let error = json!({"error": {"message": "overloaded"}});
        let cut = json!({"choices": [{"finish_reason": "insufficient_system_resource"}]});
        for chunk in [error, cut] {
            let (result, _) = read(paced(vec![(0, said("a")), (0, chunk)], false), StreamEnd::Marked).await;
            assert!(matches!(result, Err(Failure::Reported(_))), "{result:?}");
        }
    }
}
