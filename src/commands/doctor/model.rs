//! Asks each model one real question of a single token.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use tokio::sync::mpsc;

use super::fact::Fact;
use crate::config::{ModelSettings, Provider};
use crate::domain::ErrorKind;
use crate::ports::{Clock, Model, ModelError, Prompt};
use crate::uimessage::{Content, ModelMessage};

/// The longest a model is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a model of its settings. Handed in, so that this room need not know how models are spoken to.
pub type ModelFactory<'a> = &'a (dyn Fn(&ModelSettings) -> Result<Arc<dyn Model>, String> + Send + Sync);

/// Asks the first model and every fallback, each for itself.
pub(super) async fn ask_all(
    settings: &ModelSettings,
    build: ModelFactory<'_>,
    clock: &dyn Clock,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    for provider in std::iter::once(&settings.provider).chain(&settings.fallbacks) {
        if matches!(provider, Provider::OpenAi(_)) {
            facts.push(ask(&alone(settings, provider, Some(1)), settings, provider, build, clock).await);
        }
    }
    facts
}

async fn ask(
    bounded: &ModelSettings,
    settings: &ModelSettings,
    provider: &Provider,
    build: ModelFactory<'_>,
    clock: &dyn Clock,
) -> Fact {
    let name = provider.name().to_owned();
    let patience = patience(provider);
    let begun = clock.now();
    let call = async {
        let outcome = call(bounded, build).await;
        // Some models think first and refuse a bound that leaves no room for it; then one without is asked.
        match outcome {
            Ok(Err(ModelError { kind: ErrorKind::BadRequest, .. })) => {
                call(&alone(settings, provider, None), build).await
            }
            other => other,
        }
    };
    match tokio::time::timeout(patience, call).await {
        Err(_) => Fact::ModelSilent { name, seconds: patience.as_secs() },
        Ok(Err(why)) => Fact::ModelUnusable { name, why },
        Ok(Ok(Err(error))) => Fact::ModelFails { name, kind: error.kind, detail: error.detail },
        Ok(Ok(Ok(()))) => Fact::ModelAnswers { name, millis: clock.now().millis_since(begun) },
    }
}

/// One call. The outer error is that there is no model to call.
async fn call(settings: &ModelSettings, build: ModelFactory<'_>) -> Result<Result<(), ModelError>, String> {
    let model = build(settings)?;
    let words = vec![Content::Text("Say: ok".to_owned())];
    let prompt =
        Prompt { messages: vec![ModelMessage::User { content: words, name: None }], ..Prompt::default() };
    let (live, mut deltas) = mpsc::channel(16);
    let (outcome, ()) =
        join(model.complete(prompt, live), async { while deltas.recv().await.is_some() {} }).await;
    Ok(outcome.map(drop))
}

/// The settings of one model without any behind it, and with an answer of so many tokens.
fn alone(settings: &ModelSettings, provider: &Provider, tokens: Option<u32>) -> ModelSettings {
    let mut provider = provider.clone();
    if let Provider::OpenAi(endpoint) = &mut provider {
        endpoint.max_output_tokens = tokens.or(endpoint.max_output_tokens);
    }
    ModelSettings { provider, fallbacks: Vec::new(), ..settings.clone() }
}

fn patience(provider: &Provider) -> Duration {
    match provider {
        Provider::Offline => PATIENCE,
        Provider::OpenAi(endpoint) => endpoint.timeout.min(PATIENCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Endpoint;
    use crate::ports::{BoxFuture, Completion, ModelDelta, SystemClock};

    /// Answers as its name says.
    #[derive(Debug)]
    struct Scripted(Endpoint);

    impl Model for Scripted {
        fn complete(
            &self,
            _: Prompt,
            live: mpsc::Sender<ModelDelta>,
        ) -> BoxFuture<'_, Result<Completion, ModelError>> {
            let fails = |kind| Err(ModelError { kind, detail: "as told".to_owned(), retry_after: None });
            Box::pin(async move {
                match (self.0.model.as_str(), self.0.max_output_tokens) {
                    ("silent", _) => std::future::pending().await,
                    ("refuses", _) => fails(ErrorKind::Auth),
                    ("thinks", Some(1)) => fails(ErrorKind::BadRequest),
                    _ => {
                        for _ in 0..100 {
                            live.send(ModelDelta::Text("ok".to_owned())).await.unwrap();
                        }
                        Ok(Completion::default())
                    }
                }
            })
        }

        fn name(&self) -> &str {
            &self.0.model
        }
    }

    fn endpoint(model: &str) -> Provider {
        Provider::OpenAi(Endpoint {
            base_url: "http://127.0.0.1:1".to_owned(),
            api_key: None,
            model: model.to_owned(),
            context_tokens: 1000,
            timeout: Duration::from_secs(5),
            send_reasoning: true,
            temperature: None,
            max_output_tokens: None,
        })
    }

    fn build(settings: &ModelSettings) -> Result<Arc<dyn Model>, String> {
        assert!(settings.fallbacks.is_empty(), "a fallback would hide that the model fails");
        match &settings.provider {
            Provider::OpenAi(endpoint) if endpoint.model == "broken" => Err("no such thing".to_owned()),
            Provider::OpenAi(endpoint) => Ok(Arc::new(Scripted(endpoint.clone()))),
            Provider::Offline => Err("not asked".to_owned()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_model_is_asked_for_itself_in_bounded_time() {
        let settings = ModelSettings {
            provider: endpoint("works"),
            context_tokens: 1000,
            max_steps: 1,
            fallbacks: ["silent", "refuses", "thinks", "broken"].map(endpoint).into(),
        };
        let facts = ask_all(&settings, &build, &SystemClock).await;
        let [
            Fact::ModelAnswers { .. },
            Fact::ModelSilent { seconds: 5, .. },
            Fact::ModelFails { kind: ErrorKind::Auth, .. },
            Fact::ModelAnswers { .. },
            Fact::ModelUnusable { .. },
        ] = facts.as_slice()
        else {
            panic!("{facts:?}")
        };
    }
}
