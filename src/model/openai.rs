//! A model on any OpenAI-compatible server, through async-openai's bring-your-own-types calls.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use async_openai::Client;
use futures_util::StreamExt;
use secrecy::ExposeSecret;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use super::answer_limit::AnswerLimit;
use super::assemble::Assembler;
use super::endpoint::{BadKey, EndpointUrl};
use super::failure::{Failure, classify};
use super::metering::MeteredAttempt;
use super::quirks::Quirks;
use super::receive::{Show, StreamLimits, receive};
use super::retry::{self, Failed, RetryDecision};
use super::transport::{EndSeen, Transport, failure_of};
use super::wire::StreamChunk;
use super::{ModelSpec, Shared, request};
use crate::domain::ErrorKind;
use crate::http_client::whole_story;
use crate::ports::{BoxFuture, Completion, Model, ModelDelta, ModelError, Prompt};
use crate::uimessage::ModelMessage;
use crate::usage::Dialect;

/// A model on a server.
#[derive(Debug)]
pub struct OpenAiModel {
    spec: ModelSpec,
    shared: Shared,
    endpoint: Result<EndpointUrl, BadKey>,
    /// What the server turned out not to support, so that it is not tried again each time.
    quirks: AtomicU8,
    /// The most tokens of an answer that it lets a request ask for.
    answer_limit: AtomicU32,
}

impl OpenAiModel {
    /// Does no IO; an invalid key is reported at the first call.
    pub fn new(spec: ModelSpec, shared: Shared) -> Self {
        let endpoint = EndpointUrl::new(&spec.base_url, spec.api_key.as_ref());
        let quirks = AtomicU8::new(Quirks::default().bits());
        Self { spec, shared, endpoint, quirks, answer_limit: AtomicU32::new(AnswerLimit::UNKNOWN) }
    }

    /// Retries until there is an answer or a retry is useless. A stream that broke after its first output is retried as
    /// well; its output is withdrawn first.
    async fn persist(
        &self,
        prompt: &Prompt,
        live: &mpsc::Sender<ModelDelta>,
    ) -> Result<Completion, ModelError> {
        let mut limits = StreamLimits::from_now(self.spec.timeout);
        let seed = retry::seed_of(&self.shared.ids.unique());
        let mut show = Show::new(live);
        let mut attempt = 1;
        loop {
            let failure = match self.adapt(prompt, &mut show, &mut limits).await {
                Ok(completion) => return Ok(completion),
                Err(failure) => failure,
            };
            let key = self.spec.api_key.as_ref().map(ExposeSecret::expose_secret);
            let error = classify(&failure, &self.spec.model, key);
            if show.shown() {
                // The server had answered: the duration of the broken answer does not count as waiting time.
                limits = limits.next_attempt();
            }
            let elapsed = limits.elapsed();
            let failed = Failed { attempt, kind: error.kind, elapsed, retry_after: error.retry_after, seed };
            // A stream that stalls costs a whole time-out each time: it is retried once.
            let silent_again = show.shown() && error.kind == ErrorKind::Timeout && attempt > 1;
            let next =
                if silent_again { RetryDecision::GiveUp } else { retry::next(&failed, self.spec.timeout) };
            tracing::warn!(model = %self.spec.model, kind = ?error.kind, attempt, ?next, "model call failed");
            let RetryDecision::Wait(wait) = next else { return Err(error) };
            // A stalled receiver must not delay the retry beyond its back-off.
            let told = async {
                show.start_over().await;
                show.retrying(error.kind).await;
            };
            drop(timeout_at(limits.first_by, told).await);
            sleep(wait).await;
            attempt += 1;
        }
    }

    /// Asks the server, adapting the request to what it refuses. Each adaptation is made once.
    async fn adapt(
        &self,
        prompt: &Prompt,
        show: &mut Show<'_>,
        limits: &mut StreamLimits,
    ) -> Result<Completion, Failure> {
        let mut quirks = Quirks::from_bits(self.quirks.load(Ordering::Relaxed));
        let mut answer = AnswerLimit::known(self.answer_limit.load(Ordering::Relaxed));
        loop {
            match self.ask(prompt, (quirks, &mut answer), show, limits).await {
                Ok(completion) => {
                    self.quirks.fetch_or(quirks.bits(), Ordering::Relaxed);
                    if let Some(most) = answer.learned() {
                        self.answer_limit.fetch_min(most, Ordering::Relaxed);
                    }
                    return Ok(completion);
                }
                Err(failure) => match &failure {
                    Failure::Refused { status, body, .. } => {
                        if let Some(lowered) = answer.lowered_by(*status, body) {
                            tracing::debug!(model = %self.spec.model, ?lowered, "limit of the answer refused, retrying with another");
                            answer = lowered;
                            continue;
                        }
                        quirks = quirks.taught_by(*status, body).ok_or(failure)?;
                        tracing::debug!(model = %self.spec.model, ?quirks, "request refused, retrying without an option");
                    }
                    _ => return Err(failure),
                },
            }
        }
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        (quirks, answer): (Quirks, &mut AnswerLimit),
        show: &mut Show<'_>,
        limits: &mut StreamLimits,
    ) -> Result<Completion, Failure> {
        let endpoint = self.endpoint.clone().map_err(|error| Failure::BadKey(error.to_string()))?;
        let http = self
            .shared
            .http
            .client(&self.spec.base_url)
            .map_err(|error| Failure::Internal(format!("cannot set up http: {}", whole_story(&error))))?;
        // From here on the attempt counts, however it ends. Waiting for room in a spend cap is no silence of the server.
        let waits = Instant::now();
        let own = self.spec.max_output_tokens.into_iter().chain(prompt.max_output_tokens);
        let wanted = own.chain(answer.most()).min();
        let mut attempt = MeteredAttempt::begin(&self.spec, prompt, wanted).await?;
        limits.postpone(waits.elapsed());
        let result = self
            .stream(
                prompt,
                (quirks, answer.send(attempt.max_output())),
                show,
                limits,
                (http, endpoint),
                &attempt,
            )
            .await;
        attempt.end(result)
    }

    /// Sends the request and reads the answer.
    async fn stream(
        &self,
        prompt: &Prompt,
        (quirks, limit): (Quirks, Option<u32>),
        show: &mut Show<'_>,
        limits: &StreamLimits,
        (http, endpoint): (reqwest::Client, EndpointUrl),
        attempt: &MeteredAttempt,
    ) -> Result<Completion, Failure> {
        let ended = EndSeen::default();
        let transport = Transport::new(http.clone(), self.shared.clock.clone(), ended.clone());
        let client = Client::build(http, endpoint).with_http_service(transport);
        let chat = client.chat();
        let body = request::body(&self.spec, prompt, quirks, limit);
        let opening = chat.create_stream_byot::<_, StreamChunk>(body);
        let chunks = timeout_at(limits.first_by, opening)
            .await
            .map_err(|_| limits.no_first_word())?
            .map_err(failure_of)?
            .map(|chunk| chunk.map_err(failure_of))
            .inspect(|chunk| attempt.saw(chunk));
        let dialect = Dialect::of(&self.spec.base_url);
        let assembler = Assembler::new(self.shared.ids.clone(), used_ids(prompt)).with_dialect(dialect);
        receive(chunks, assembler, show, limits, || ended.get()).await
    }
}

impl Model for OpenAiModel {
    fn complete(
        &self,
        prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move { self.persist(&prompt, &live).await })
    }

    fn name(&self) -> &str {
        &self.spec.model
    }

    fn stands_in_at_caps(&self) -> bool {
        self.spec.at_caps
    }
}

/// The call ids of the conversation; some servers count from zero in every answer.
fn used_ids(prompt: &Prompt) -> HashSet<String> {
    let calls = prompt.messages.iter().filter_map(|message| match message {
        ModelMessage::Assistant { tool_calls, .. } => Some(tool_calls),
        ModelMessage::System(_) | ModelMessage::User { .. } | ModelMessage::Tool { .. } => None,
    });
    calls.flatten().map(|call| call.id.clone()).collect()
}
