//! A metered call: its deadlines begin when it may be sent, its limit follows what a server takes, and its end is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use shipagent::domain::{Payer, Usage};
use shipagent::http_client::Http;
use shipagent::model::{EmbeddingSpec, ModelSpec, OpenAiEmbedder};
use shipagent::ports::{
    Account, BoxFuture, CallEnd, Embedder, Meter, MeterError, MeteredService, PlannedCall, Prompt, Reach,
    Reserved,
};
use tokio::sync::mpsc;

use super::asked::{build, hasty, prompt, shared, spec};
use crate::fakes::fake_model::{FakeModel, Reply, Script};

/// Takes a while to make room, and keeps how calls ended.
#[derive(Clone, Debug, Default)]
struct SlowMeter {
    wait: Duration,
    /// The limit of every answer.
    most: Option<u32>,
    planned: Arc<Mutex<Vec<PlannedCall>>>,
    ends: Arc<Mutex<Vec<CallEnd>>>,
}

impl SlowMeter {
    fn last(&self) -> CallEnd {
        self.ends.lock().unwrap().last().unwrap().clone()
    }
}

impl Meter for SlowMeter {
    fn reserve(&self, call: PlannedCall) -> BoxFuture<'_, Result<Reserved, MeterError>> {
        Box::pin(async move {
            tokio::time::sleep(self.wait).await;
            let max_output = call.max_output.into_iter().chain(self.most).min();
            self.planned.lock().unwrap().push(call);
            Ok(Reserved { id: "one".to_owned(), max_output })
        })
    }

    fn settle(&self, _: &str, end: CallEnd) -> Usage {
        self.ends.lock().unwrap().push(end.clone());
        end.usage.unwrap_or_default()
    }

    fn admits<'a>(&'a self, _: &'a Payer) -> BoxFuture<'a, Result<(), MeterError>> {
        Box::pin(async { Ok(()) })
    }

    fn record(&self, _: MeteredService) {}
}

async fn call(spec: &ModelSpec, meter: &SlowMeter) -> Result<String, shipagent::domain::ErrorKind> {
    let account = Account::new(Arc::new(meter.clone()), Payer::default());
    let (live, deltas) = mpsc::channel(1);
    drop(deltas);
    let prompt = Prompt { account: Some(account), ..prompt("hi") };
    let result = build(spec, &[], &shared()).complete(prompt, live).await;
    result.map(|completion| completion.text).map_err(|error| error.kind)
}

#[tokio::test]
async fn waiting_for_room_in_a_cap_is_no_silence_of_the_server() {
    let fake = FakeModel::start([Reply::text("fine")]).await;
    let meter = SlowMeter { wait: hasty(&fake).timeout * 2, ..SlowMeter::default() };
    assert_eq!(call(&hasty(&fake), &meter).await, Ok("fine".to_owned()));
}

#[tokio::test]
async fn a_limit_that_a_server_refuses_is_lowered_and_remembered() {
    const MOST: u64 = 4_096;
    let fake = FakeModel::start(Script::compute(|seen| match seen.body["max_tokens"].as_u64() {
        Some(limit) if limit > MOST => {
            let words = format!(
                "max_tokens is too large: {limit}. This model supports at most {MOST} completion tokens"
            );
            Reply::status(400, json!({ "error": { "message": words } }).to_string())
        }
        _ => Reply::text("fine"),
    }))
    .await;
    let meter = SlowMeter { most: Some(16_384), ..SlowMeter::default() };
    let model = build(&spec(&fake), &[], &shared());
    for _ in 0..2 {
        let account = Account::new(Arc::new(meter.clone()), Payer::default());
        let prompt = Prompt { account: Some(account), ..prompt("hi") };
        let (live, deltas) = mpsc::channel(1);
        drop(deltas);
        assert_eq!(model.complete(prompt, live).await.unwrap().text, "fine");
    }
    let sent: Vec<Option<u64>> =
        fake.requests().iter().map(|seen| seen.body["max_tokens"].as_u64()).collect();
    assert_eq!(sent, [Some(16_384), Some(MOST), Some(MOST)]);
    let reserved: Vec<Option<u32>> =
        meter.planned.lock().unwrap().iter().map(|call| call.max_output).collect();
    assert_eq!(reserved, [None, Some(4_096), Some(4_096)], "no more is reserved than may be used");
}

fn chunk(content: &str, usage: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": { "content": content }, "finish_reason": null }], "usage": usage })
}

#[tokio::test]
async fn counts_at_the_beginning_of_a_stream_that_is_cut_are_not_those_of_its_end() {
    let early = json!({ "prompt_tokens": 40, "completion_tokens": 1, "cost": 0.1 });
    let words = "word ".repeat(200);
    let events = || Reply::events([chunk("a", early.clone()), chunk(&words, Value::Null)]);
    let fake = FakeModel::start([
        events().cut_after(2),
        events().cut_after(2),
        events().cut_after(2),
        events().cut_after(2),
    ])
    .await;
    let meter = SlowMeter::default();
    assert!(call(&spec(&fake), &meter).await.is_err());
    let end = meter.last();
    let usage = end.usage.unwrap();
    assert_eq!((end.reach, usage.input, usage.cost, usage.estimated), (Reach::Answered, 40, None, true));
    assert!(usage.output >= 200, "{usage:?}");
}

#[tokio::test]
async fn an_error_in_a_good_answer_may_have_cost_the_prompt_unless_it_is_a_refusal() {
    for (error, reach) in [
        (json!({ "error": { "message": "upstream crashed", "code": 502 } }), Reach::Sent),
        (json!({ "error": { "message": "invalid api key", "code": 401 } }), Reach::Unbilled),
    ] {
        let fake = FakeModel::start(Script::from(Reply::json(&error))).await;
        let meter = SlowMeter::default();
        assert!(call(&hasty(&fake), &meter).await.is_err());
        assert_eq!(meter.last().reach, reach, "{error}");
    }
}

#[tokio::test]
async fn vectors_of_texts_are_metered() {
    let document = json!({ "data": [{ "index": 0, "embedding": [3, 4] }], "usage": { "prompt_tokens": 9, "total_tokens": 9 } });
    let fake = FakeModel::start([Reply::json(&document), Reply::status(500, "oops")]).await;
    let meter = SlowMeter::default();
    let spec = EmbeddingSpec {
        base_url: fake.url(),
        api_key: None,
        model: "text-embedding-3-small".to_owned(),
        dimensions: None,
        timeout: Duration::from_secs(10),
    };
    let embedder = OpenAiEmbedder::new(spec, Http::new(), Arc::new(meter.clone()));
    assert_eq!(embedder.embed(vec!["one".to_owned()]).await.unwrap(), [[0.6, 0.8]]);
    assert_eq!((meter.last().reach, meter.last().usage.map(|usage| usage.input)), (Reach::Answered, Some(9)));
    assert_eq!(meter.planned.lock().unwrap()[0].payer.purpose.as_str(), "embedding");
    assert!(embedder.embed(vec!["two".to_owned()]).await.is_err());
    assert_eq!((meter.last().reach, meter.last().usage), (Reach::Sent, None));
}
