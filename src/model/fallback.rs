//! Several models as one: calls the next one when one fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::domain::ErrorKind;
use crate::ports::{BoxFuture, Completion, Fallback, Model, ModelDelta, ModelError, Prompt};

/// A receiver that takes no delta for this long is treated as closed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Calls a model, and on failure the others in order. Each has its own deadline. The output of a model that failed is
/// withdrawn.
#[derive(Debug)]
pub struct FallbackModel {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
}

impl FallbackModel {
    /// `others` in the order of the calls.
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self { first, others }
    }

    async fn try_all(
        &self,
        prompt: &Prompt,
        live: &mpsc::Sender<ModelDelta>,
    ) -> Result<Completion, ModelError> {
        let mut relay = Relay { live, shown: false, told: false, left: false };
        let mut failed = match relay.run(self.first.as_ref(), prompt).await {
            Ok(completion) => return Ok(completion),
            Err(error) => error,
        };
        let mut kind = failed.kind;
        for model in &self.others {
            let at_cap = kind == ErrorKind::Budget;
            if at_cap && !model.stands_in_at_caps() {
                continue;
            }
            if !at_cap && !may_do_elsewhere(kind) {
                break;
            }
            if std::mem::take(&mut relay.shown) {
                relay.send(ModelDelta::StartOver).await;
            }
            tracing::warn!(?kind, next = model.name(), "model failed, trying the next one");
            // That a cap has a cheaper model called is told to owners, once a day.
            if !at_cap {
                relay.send(ModelDelta::Retrying { kind, next_model: Some(model.name().to_owned()) }).await;
            }
            let mut prompt = prompt.clone();
            if let Some(account) = &mut prompt.account {
                account.fallback = Some(kind);
            }
            match relay.run(model.as_ref(), &prompt).await {
                Ok(completion) => {
                    let fallback = Some(Fallback { model: model.name().to_owned(), reason: kind });
                    return Ok(Completion { fallback, ..completion });
                }
                Err(error) => {
                    kind = error.kind;
                    // The first model's error is the one to fix; the others' details are appended.
                    failed.detail = format!("{}; {}", failed.detail, error.detail);
                    // A raised cap would help where the first model does not work.
                    if failed.shortage.is_none() && error.shortage.is_some() {
                        (failed.kind, failed.shortage) = (error.kind, error.shortage);
                    }
                }
            }
        }
        Err(failed)
    }
}

impl Model for FallbackModel {
    fn complete(
        &self,
        prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move { self.try_all(&prompt, &live).await })
    }

    fn name(&self) -> &str {
        self.first.name()
    }
}

/// Whether another model may succeed after this error. An internal error would only repeat itself.
const fn may_do_elsewhere(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Auth
        | ErrorKind::Quota
        | ErrorKind::Rate
        | ErrorKind::ContextLength
        | ErrorKind::Network
        | ErrorKind::Timeout
        | ErrorKind::Server
        | ErrorKind::BadRequest
        | ErrorKind::BadResponse => true,
        ErrorKind::TooManySteps
        | ErrorKind::Loop
        | ErrorKind::Storage
        | ErrorKind::Budget
        | ErrorKind::Internal => false,
    }
}

/// Forwards the models' deltas, and records whether there were any.
struct Relay<'a> {
    live: &'a mpsc::Sender<ModelDelta>,
    shown: bool,
    told: bool,
    left: bool,
}

impl Relay<'_> {
    async fn run(&mut self, model: &dyn Model, prompt: &Prompt) -> Result<Completion, ModelError> {
        let (inner, mut deltas) = mpsc::channel(16);
        let mut call = model.complete(prompt.clone(), inner);
        let result = loop {
            tokio::select! {
                biased;
                Some(delta) = deltas.recv() => self.pass(delta).await,
                result = &mut call => break result,
            }
        };
        while let Ok(delta) = deltas.try_recv() {
            self.pass(delta).await;
        }
        result
    }

    async fn pass(&mut self, delta: ModelDelta) {
        match delta {
            // One notice about retries is enough, for all models.
            ModelDelta::Retrying { .. } if self.told => return,
            ModelDelta::Retrying { .. } => self.told = true,
            ModelDelta::Text(_) | ModelDelta::Reasoning(_) | ModelDelta::ToolInput(_) => self.shown = true,
            ModelDelta::StartOver => self.shown = false,
        }
        self.send(delta).await;
    }

    /// A closed receiver does not end the call; a stalled one is treated as closed.
    async fn send(&mut self, delta: ModelDelta) {
        self.left = self.left || !matches!(timeout(PATIENCE, self.live.send(delta)).await, Ok(Ok(())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams these deltas, then returns this result.
    #[derive(Debug)]
    struct Scripted(&'static str, Vec<ModelDelta>, Result<Completion, ModelError>);

    impl Model for Scripted {
        fn complete(
            &self,
            _: Prompt,
            live: mpsc::Sender<ModelDelta>,
        ) -> BoxFuture<'_, Result<Completion, ModelError>> {
            Box::pin(async move {
                for delta in self.1.clone() {
                    live.send(delta).await.unwrap();
                }
                self.2.clone()
            })
        }

        fn name(&self) -> &str {
            self.0
        }
    }

    fn fails(name: &'static str, deltas: Vec<ModelDelta>, kind: ErrorKind) -> Arc<dyn Model> {
        let error = ModelError { kind, detail: format!("{name} failed"), retry_after: None, shortage: None };
        Arc::new(Scripted(name, deltas, Err(error)))
    }

    fn says(name: &'static str, text: &str) -> Arc<dyn Model> {
        let completion = Completion { text: text.into(), ..Completion::default() };
        Arc::new(Scripted(name, vec![ModelDelta::Text(text.into())], Ok(completion)))
    }

    fn again(kind: ErrorKind) -> ModelDelta {
        ModelDelta::Retrying { kind, next_model: None }
    }

    fn next(kind: ErrorKind, model: &str) -> ModelDelta {
        ModelDelta::Retrying { kind, next_model: Some(model.into()) }
    }

    async fn run(
        first: Arc<dyn Model>,
        others: Vec<Arc<dyn Model>>,
    ) -> (Result<Completion, ModelError>, Vec<ModelDelta>) {
        let (live, mut deltas) = mpsc::channel(100);
        let result = FallbackModel::new(first, others).complete(Prompt::default(), live).await;
        let mut shown = Vec::new();
        while let Some(delta) = deltas.recv().await {
            shown.push(delta);
        }
        (result, shown)
    }

    #[tokio::test]
    async fn the_next_model_is_asked_and_the_person_told_once_for_each() {
        let (result, shown) = run(
            fails("a", vec![again(ErrorKind::Server)], ErrorKind::Server),
            vec![fails("b", vec![again(ErrorKind::Rate)], ErrorKind::Auth), says("c", "hi")],
        )
        .await;
        let answer = result.unwrap();
        let stood_in = Fallback { model: "c".into(), reason: ErrorKind::Auth };
        assert_eq!((answer.text.as_str(), answer.fallback), ("hi", Some(stood_in)));
        let expected = vec![
            again(ErrorKind::Server),
            next(ErrorKind::Server, "b"),
            next(ErrorKind::Auth, "c"),
            ModelDelta::Text("hi".into()),
        ];
        assert_eq!(shown, expected);
    }

    #[tokio::test]
    async fn what_a_model_showed_before_it_failed_is_withdrawn() {
        let half = vec![ModelDelta::Text("ha".into())];
        let (result, shown) = run(fails("a", half, ErrorKind::Network), vec![says("b", "hi")]).await;
        assert_eq!(result.unwrap().text, "hi");
        let expected = vec![
            ModelDelta::Text("ha".into()),
            ModelDelta::StartOver,
            next(ErrorKind::Network, "b"),
            ModelDelta::Text("hi".into()),
        ];
        assert_eq!(shown, expected);
    }

    #[tokio::test]
    async fn when_all_fail_the_first_ones_trouble_is_told() {
        let (result, _) =
            run(fails("a", vec![], ErrorKind::Quota), vec![fails("b", vec![], ErrorKind::Server)]).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::Quota, "a failed; b failed"));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_taking_what_is_shown_does_not_make_it_endless() {
        let (live, _untaken) = mpsc::channel(1);
        let chatty = vec![ModelDelta::Reasoning("hm".into()); 100];
        let completion = Completion { text: "hi".into(), ..Completion::default() };
        let model = FallbackModel::new(Arc::new(Scripted("a", chatty, Ok(completion.clone()))), vec![]);
        let result = timeout(PATIENCE * 2, model.complete(Prompt::default(), live)).await;
        assert_eq!(result, Ok(Ok(completion)));
    }

    /// A model that is called at caps.
    #[derive(Debug)]
    struct Cheap(Arc<dyn Model>);

    impl Model for Cheap {
        fn complete(
            &self,
            prompt: Prompt,
            live: mpsc::Sender<ModelDelta>,
        ) -> BoxFuture<'_, Result<Completion, ModelError>> {
            self.0.complete(prompt, live)
        }

        fn name(&self) -> &str {
            self.0.name()
        }

        fn stands_in_at_caps(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn at_a_spend_cap_only_the_models_that_are_meant_for_it_are_called() {
        let dear = || fails("a", vec![], ErrorKind::Budget);
        let (result, shown) = run(dear(), vec![says("b", "dear"), Arc::new(Cheap(says("c", "cheap")))]).await;
        // Owners are told once a day, and not people at every answer.
        assert_eq!(
            (result.unwrap().text.as_str(), shown),
            ("cheap", vec![ModelDelta::Text("cheap".to_owned())])
        );
        let (result, shown) = run(dear(), vec![says("b", "dear")]).await;
        assert_eq!((result.unwrap_err().kind, shown), (ErrorKind::Budget, vec![]));
    }

    #[tokio::test]
    async fn a_fault_of_our_own_is_not_tried_elsewhere() {
        let (result, shown) = run(fails("a", vec![], ErrorKind::Internal), vec![says("b", "hi")]).await;
        assert_eq!((result.unwrap_err().kind, shown), (ErrorKind::Internal, vec![]));
    }
}
