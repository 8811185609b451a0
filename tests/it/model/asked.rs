//! A model that is asked something, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use shipagent::domain::ErrorKind;
use shipagent::http_client::Http;
use shipagent::model::{ModelKind, ModelSpec, Shared};
use shipagent::ports::{Completion, Model, ModelDelta, ModelError, Prompt, RandomIds, SystemClock};
use shipagent::uimessage::{Content, ModelMessage};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::fakes::fake_model::{FakeModel, Reply, Script};

pub(super) const KEY: &str = "sk-very-secret";

pub(super) fn shared() -> Shared {
    Shared { http: Http::new(), ids: Arc::new(RandomIds), clock: Arc::new(SystemClock) }
}

pub(super) fn spec(fake: &FakeModel) -> ModelSpec {
    ModelSpec { timeout: Duration::from_secs(10), ..ModelSpec::new(fake.url(), "fake").with_key(KEY) }
}

/// The model that the daemon would build of these.
pub(super) fn build(primary: &ModelSpec, fallbacks: &[ModelSpec], shared: &Shared) -> Arc<dyn Model> {
    let kinds: Vec<ModelKind> = fallbacks.iter().cloned().map(ModelKind::Server).collect();
    shipagent::model::build(&ModelKind::Server(primary.clone()), &kinds, shared)
}

pub(super) fn hasty(fake: &FakeModel) -> ModelSpec {
    ModelSpec { timeout: Duration::from_secs(1), ..spec(fake) }
}

pub(super) fn prompt(text: &str) -> Prompt {
    let user = ModelMessage::User { content: vec![Content::Text(text.into())], name: None };
    Prompt { system: "Be brief.".into(), messages: vec![user], ..Prompt::default() }
}

pub(super) struct Outcome {
    pub(super) result: Result<Completion, ModelError>,
    pub(super) deltas: Vec<ModelDelta>,
}

impl Outcome {
    pub(super) fn text(&self) -> &str {
        &self.result.as_ref().unwrap().text
    }

    pub(super) fn kind(&self) -> ErrorKind {
        self.result.as_ref().unwrap_err().kind
    }

    pub(super) fn troubles(&self) -> Vec<(ErrorKind, Option<&str>)> {
        let troubles = self.deltas.iter().filter_map(|delta| match delta {
            ModelDelta::Retrying { kind, next_model } => Some((*kind, next_model.as_deref())),
            _ => None,
        });
        troubles.collect()
    }

    pub(super) fn shown_text(&self) -> String {
        let texts = self.deltas.iter().filter_map(|delta| match delta {
            ModelDelta::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Asks and gathers what is shown. A model that does not come to an end fails the test.
pub(super) async fn ask(model: &dyn Model) -> Outcome {
    let (live, mut shown) = mpsc::channel(4);
    let mut deltas = Vec::new();
    let gather = async {
        while let Some(delta) = shown.recv().await {
            deltas.push(delta);
        }
    };
    let both = async { tokio::join!(model.complete(prompt("hi"), live), gather) };
    let (result, ()) = timeout(Duration::from_secs(60), both).await.expect("a call ends in bounded time");
    Outcome { result, deltas }
}

pub(super) async fn ask_spec(spec: &ModelSpec) -> Outcome {
    ask(build(spec, &[], &shared()).as_ref()).await
}

/// One call to a server that answers so.
pub(super) async fn ask_script(script: impl Into<Script>) -> (Outcome, FakeModel) {
    let fake = FakeModel::start(script).await;
    (ask_spec(&spec(&fake)).await, fake)
}

/// An answer in one document.
pub(super) fn whole(message: &Value) -> Reply {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 2});
    Reply::json(
        &json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}),
    )
}
