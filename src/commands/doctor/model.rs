//! Probes each model with one real call of a single token.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::fact::Fact;
use crate::config::{Endpoint, ModelSettings, Provider};
use crate::domain::{ErrorKind, Timestamp};
use crate::model::{ListedModel, alternatives, days_until, probe};
use crate::ports::{BoxFuture, Clock, Model, ModelError};
use crate::usage::PRICES_AS_OF;

/// Deadline of one model.
const PATIENCE: Duration = Duration::from_secs(30);

/// Builds a model from its settings; tests replace it.
pub type ModelFactory<'a> = &'a (dyn Fn(&ModelSettings) -> Result<Arc<dyn Model>, String> + Send + Sync);

/// Lists the models of a server.
pub type ListModels<'a> =
    &'a (dyn Fn(Endpoint) -> BoxFuture<'a, Result<Vec<ListedModel>, String>> + Send + Sync);

/// Days before the shutdown of a model from which the operator is warned.
const WARN_DAYS: i64 = 60;

/// Days after which the table of prices counts as old.
const OLD_PRICES_DAYS: i64 = 180;

/// Probes every configured model once, and checks whether its server will shut it down.
pub(super) async fn ask_all(
    settings: &ModelSettings,
    build: ModelFactory<'_>,
    list: ListModels<'_>,
    clock: &dyn Clock,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut asked = BTreeSet::new();
    let all = std::iter::once(&settings.provider).chain(&settings.fallbacks);
    for provider in all.chain(&settings.helper).chain(settings.named.values()) {
        if let Provider::OpenAi(endpoint) = provider
            && asked.insert((endpoint.base_url.as_str(), endpoint.model.as_str()))
        {
            let answered = ask(&alone(settings, provider, Some(1)), settings, provider, build, clock).await;
            // A server need not list its models.
            let listed = list(endpoint.clone()).await.unwrap_or_default();
            let outlook = outlook(&endpoint.model, &answered, &listed, clock.now());
            facts.extend(std::iter::once(answered).chain(outlook));
        }
    }
    facts
}

/// A warning where the table of prices is old.
pub(super) fn old_prices(now: Timestamp) -> Option<Fact> {
    let checked = PRICES_AS_OF.parse().ok()?;
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let days = days_until(now.to_zoned(jiff::tz::TimeZone::UTC).date(), checked);
    (days > OLD_PRICES_DAYS).then_some(Fact::PricesOld { days })
}

/// The announced shutdown of a model, by the server's list.
fn outlook(name: &str, answered: &Fact, listed: &[ListedModel], now: Timestamp) -> Option<Fact> {
    let now = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let name = name.to_owned();
    match listed.iter().find(|one| one.id == name) {
        Some(ListedModel { shutdown: Some(on), .. }) if days_until(*on, today) <= WARN_DAYS => {
            let alternatives = alternatives(&name, listed, today);
            Some(Fact::ModelEnds { name, on: *on, days: days_until(*on, today), alternatives })
        }
        None if !listed.is_empty() && matches!(answered, Fact::ModelFails { .. }) => {
            let alternatives = alternatives(&name, listed, today);
            Some(Fact::ModelNotListed { name, alternatives })
        }
        Some(_) | None => None,
    }
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
        // Reasoning models refuse such a small token limit; they are asked without a limit.
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

/// One call. The outer error means that the model cannot be built.
async fn call(settings: &ModelSettings, build: ModelFactory<'_>) -> Result<Result<(), ModelError>, String> {
    let model = build(settings)?;
    Ok(probe(&*model).await)
}

/// The settings of one model without fallbacks, with this output limit.
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
    use std::collections::BTreeMap;

    use tokio::sync::mpsc;

    use super::*;
    use crate::domain::ModelChoosers;
    use crate::ports::{Completion, ModelDelta, Prompt, SystemClock};

    /// Answers as its name says.
    #[derive(Debug)]
    struct Scripted(Endpoint);

    impl Model for Scripted {
        fn complete(
            &self,
            _: Prompt,
            live: mpsc::Sender<ModelDelta>,
        ) -> BoxFuture<'_, Result<Completion, ModelError>> {
            let fails = |kind| {
                Err(ModelError { kind, detail: "as told".to_owned(), retry_after: None, shortage: None })
            };
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
            at_caps: false,
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
            fallbacks: ["silent", "refuses", "works"].map(endpoint).into(),
            helper: Some(endpoint("thinks")),
            titles: false,
            named: [("deep".to_owned(), endpoint("broken"))].into(),
            choosers: ModelChoosers::Owners,
        };
        let facts = ask_all(&settings, &build, &|_| Box::pin(async { Ok(Vec::new()) }), &SystemClock).await;
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

    #[test]
    fn prices_are_old_after_half_a_year() {
        let at = |days: i64| {
            let day = PRICES_AS_OF.parse::<jiff::civil::Date>().unwrap();
            let day = day.checked_add(jiff::Span::new().days(days)).unwrap();
            Timestamp::parse_rfc3339(&format!("{day}T12:00:00Z")).unwrap()
        };
        assert!(old_prices(at(180)).is_none());
        assert!(matches!(old_prices(at(181)), Some(Fact::PricesOld { days: 181 })));
    }

    #[tokio::test]
    async fn the_operator_is_warned_sixty_days_before_a_model_is_shut_down() {
        let in_days = |days: i64| {
            let today = jiff::Timestamp::from_millisecond(SystemClock.now().as_millis()).unwrap();
            let today = today.to_zoned(jiff::tz::TimeZone::UTC).date();
            Some(today.checked_add(jiff::Span::new().days(days)).unwrap())
        };
        for (days, warned) in [(-3, true), (0, true), (59, true), (60, true), (62, false)] {
            let settings = ModelSettings {
                provider: endpoint("works"),
                context_tokens: 1000,
                max_steps: 1,
                fallbacks: Vec::new(),
                helper: None,
                titles: false,
                named: BTreeMap::new(),
                choosers: ModelChoosers::Owners,
            };
            let list = |_: Endpoint| -> BoxFuture<'_, Result<Vec<ListedModel>, String>> {
                let shutdown = in_days(days);
                let listed = [("works", shutdown), ("works-2", None)];
                let listed = listed.map(|(id, shutdown)| ListedModel { id: id.to_owned(), shutdown });
                Box::pin(async move { Ok(listed.to_vec()) })
            };
            let facts = ask_all(&settings, &build, &list, &SystemClock).await;
            let ends = facts.iter().find_map(|fact| match fact {
                Fact::ModelEnds { alternatives, .. } => Some(alternatives.clone()),
                _ => None,
            });
            assert_eq!(ends, warned.then(|| vec!["works-2".to_owned()]), "{days}: {facts:?}");
        }
    }

    #[tokio::test]
    async fn a_model_that_fails_and_is_not_listed_is_told_with_those_that_are() {
        let settings = ModelSettings {
            provider: endpoint("refuses"),
            context_tokens: 1000,
            max_steps: 1,
            fallbacks: Vec::new(),
            helper: None,
            titles: false,
            named: BTreeMap::new(),
            choosers: ModelChoosers::Owners,
        };
        let list = |_: Endpoint| -> BoxFuture<'_, Result<Vec<ListedModel>, String>> {
            Box::pin(async { Ok(vec![ListedModel { id: "other".to_owned(), shutdown: None }]) })
        };
        let facts = ask_all(&settings, &build, &list, &SystemClock).await;
        let [Fact::ModelFails { .. }, Fact::ModelNotListed { alternatives, .. }] = facts.as_slice() else {
            panic!("{facts:?}")
        };
        assert_eq!(*alternatives, ["other"]);
    }
}
