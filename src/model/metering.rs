//! Has each attempt of a call counted: reserved before it is sent, settled when it ends, however it ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::ModelSpec;
use super::failure::{Failure, classify};
use super::wire::StreamChunk;
use crate::domain::tokens::{weigh, whole};
use crate::domain::{ErrorKind, Usage};
use crate::fail_point::fail_point;
use crate::ports::{Account, CallEnd, Completion, MeterError, PlannedCall, Prompt, Reach};
use crate::uimessage::{Content, ModelMessage};
use crate::usage::{Dialect, host_of, is_local, usage_of};

/// The estimated tokens of a picture or another file in a prompt.
const FILE_TOKENS: f64 = 1_000.0;
/// The estimated tokens around each message.
const MESSAGE_TOKENS: f64 = 4.0;

/// One attempt of a call. Dropping it before its end counts what was received until then.
#[derive(Debug)]
pub(crate) struct MeteredAttempt {
    account: Option<Account>,
    id: String,
    max_output: Option<u32>,
    model: String,
    dialect: Dialect,
    began: Instant,
    /// Whether any output arrived.
    answered: AtomicBool,
    /// Thousandths of the estimated tokens that were received.
    received: AtomicU64,
    usage: Mutex<Option<Usage>>,
    settled: bool,
}

impl MeteredAttempt {
    /// Reserves an attempt whose answer has at most so many tokens. Without an account it is not counted.
    pub(crate) async fn begin(
        spec: &ModelSpec,
        prompt: &Prompt,
        max_output: Option<u32>,
    ) -> Result<Self, Failure> {
        let mut attempt = Self {
            account: prompt.account.clone(),
            id: String::new(),
            max_output,
            model: spec.model.clone(),
            dialect: Dialect::of(&spec.base_url),
            began: Instant::now(),
            answered: AtomicBool::new(false),
            received: AtomicU64::new(0),
            usage: Mutex::default(),
            settled: true,
        };
        if let Some(account) = &attempt.account {
            let host = host_of(&spec.base_url);
            let call = PlannedCall {
                payer: account.payer.clone(),
                local: is_local(&host),
                provider: host,
                model: spec.model.clone(),
                input: account.input.unwrap_or_else(|| tokens_of(prompt)),
                max_output,
                fallback: account.fallback,
            };
            let reserved = account.meter.reserve(call).await.map_err(|error| match error {
                MeterError::OverBudget(shortage) => Failure::OverBudget(shortage),
                MeterError::Storage(_) => Failure::Unrecorded(error.to_string()),
            })?;
            attempt.id = reserved.id;
            attempt.max_output = reserved.max_output;
            attempt.settled = false;
            attempt.began = Instant::now();
            fail_point("call-reserved");
        }
        Ok(attempt)
    }

    /// The limit of the answer that the reservation was made for.
    pub(crate) const fn max_output(&self) -> Option<u32> {
        self.max_output
    }

    /// Takes note of a chunk as it arrives.
    pub(crate) fn saw(&self, chunk: &Result<StreamChunk, Failure>) {
        let Ok(chunk) = chunk else { return };
        if let Some(usage) = chunk.usage.as_ref().and_then(|usage| usage_of(usage, self.dialect)) {
            *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage);
        }
        if let Some(piece) = &chunk.piece {
            self.answered.store(true, Ordering::Relaxed);
            let calls = piece.calls.iter().map(|call| weigh(&call.arguments) + MESSAGE_TOKENS);
            let weight = weigh(&piece.content) + weigh(&piece.reasoning) + calls.sum::<f64>();
            let thousandths = u64::try_from(whole(weight * 1_000.0)).unwrap_or(u64::MAX);
            self.received.fetch_add(thousandths, Ordering::Relaxed);
            fail_point("call-answered");
        }
    }

    /// Settles the attempt. A completion carries what was settled.
    pub(crate) fn end(&mut self, result: Result<Completion, Failure>) -> Result<Completion, Failure> {
        let settled = self.end_as(result.as_ref().err(), None);
        result.map(|completion| Completion { usage: settled.or(completion.usage), ..completion })
    }

    /// Settles the attempt by how it failed, if it did, and by the counts that came with a whole answer.
    pub(crate) fn end_as(&mut self, failure: Option<&Failure>, counted: Option<Usage>) -> Option<Usage> {
        let error = failure.map(|failure| classify(failure, &self.model, None).kind);
        let reach = match failure.zip(error) {
            Some((failure, kind)) if !self.answered.load(Ordering::Relaxed) => reach_of(failure, kind),
            _ => Reach::Answered,
        };
        if counted.is_some() {
            *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        }
        let settled = self.settle(reach, error, failure.is_none());
        fail_point("call-settled");
        settled
    }

    /// Counts of an answer that is not `whole` may be those of its beginning.
    fn settle(&mut self, reach: Reach, error: Option<ErrorKind>, whole: bool) -> Option<Usage> {
        let account = self.account.as_ref().filter(|_| !self.settled)?;
        self.settled = true;
        let received = self.received.load(Ordering::Relaxed).div_ceil(1_000);
        let counted = *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = counted.map(|usage| match whole {
            true => usage,
            false => Usage { output: usage.output.max(received), cost: None, estimated: true, ..usage },
        });
        let end = CallEnd {
            reach,
            usage,
            received,
            error,
            ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        Some(account.meter.settle(&self.id, end))
    }
}

impl Drop for MeteredAttempt {
    fn drop(&mut self) {
        let reach = if self.answered.load(Ordering::Relaxed) { Reach::Answered } else { Reach::Sent };
        self.settle(reach, None, false);
    }
}

/// Whether a call that brought no output is paid for.
const fn reach_of(failure: &Failure, kind: ErrorKind) -> Reach {
    match failure {
        // The server had begun to work on it.
        Failure::Reported(_) if matches!(kind, ErrorKind::Server) => Reach::Sent,
        Failure::Refused { status, .. } if *status < 500 => Reach::Unbilled,
        Failure::Unreachable(_)
        | Failure::Unsendable(_)
        | Failure::BadKey(_)
        | Failure::OverBudget(_)
        | Failure::Unrecorded(_)
        | Failure::Internal(_)
        | Failure::Reported(_) => Reach::Unbilled,
        Failure::Refused { .. }
        | Failure::Broken(_)
        | Failure::BrokenOff(_)
        | Failure::Silent { .. }
        | Failure::Unreadable(_) => Reach::Sent,
    }
}

/// The estimated tokens of a prompt.
fn tokens_of(prompt: &Prompt) -> u64 {
    let message = |message: &ModelMessage| match message {
        ModelMessage::System(text) | ModelMessage::Tool { content: text, .. } => weigh(text),
        ModelMessage::User { content, .. } => content
            .iter()
            .map(|piece| match piece {
                Content::Text(text) => weigh(text),
                Content::Image { .. } | Content::File { .. } => FILE_TOKENS,
            })
            .sum(),
        ModelMessage::Assistant { text, reasoning, tool_calls } => {
            let calls = tool_calls.iter().map(|call| weigh(&call.arguments) + MESSAGE_TOKENS);
            weigh(text) + weigh(reasoning) + calls.sum::<f64>()
        }
    };
    let messages = prompt.messages.iter().map(|one| message(one) + MESSAGE_TOKENS);
    let tools =
        prompt.tools.iter().map(|tool| weigh(&tool.description) + weigh(&tool.parameters.to_string()));
    u64::try_from(whole(weigh(&prompt.system) + messages.sum::<f64>() + tools.sum::<f64>()))
        .unwrap_or(u64::MAX)
}
