//! The adapter is run again after an interrupted run.

use std::sync::Arc;

use secrecy::SecretString;
use shipagent::adapters::chat::inbound::InboundOptions;
use shipagent::adapters::telegram::{Acknowledge, TelegramAdapter, TelegramOptions, WebhookOptions};
use shipagent::ports::{Adapter as _, AdapterIo, HealthReporter, SystemClock, ThreadsHandle};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::scene::parts;
use crate::fakes::telegram::server::FakeTelegram;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_after_one_that_was_cut_off_takes_no_webhook_away() {
    let (fake, dir) = (FakeTelegram::start().await, tempfile::tempdir().unwrap());
    let webhook =
        WebhookOptions { url: "https://bot.example/hooks/telegram".to_owned(), secret: "s3cret".into() };
    let options = TelegramOptions {
        token: SecretString::from(fake.token()),
        api_url: fake.url(),
        webhook: Some(webhook),
        acknowledge: Acknowledge::Nothing,
        inbound: InboundOptions::default(),
    };
    let adapter = Arc::new(TelegramAdapter::new("telegram".parse().unwrap(), options, parts(dir.path())));
    let io = || {
        let (requests, _inbox) = tokio::sync::mpsc::channel(1);
        AdapterIo {
            threads: ThreadsHandle::new(requests),
            health: HealthReporter::new().0,
            clock: Arc::new(SystemClock),
        }
    };
    for run in 1..=2 {
        let mut running = JoinSet::new();
        running.spawn(adapter.clone().run(io(), CancellationToken::new()));
        fake.wait_for(|world| world.log.calls("getWebhookInfo") >= run).await;
        // As after a panic.
        running.shutdown().await;
    }
    let calls = |method: &'static str| fake.read(move |world| world.log.calls(method));
    assert_eq!((calls("setWebhook"), calls("deleteWebhook"), calls("getUpdates")), (2, 0, 0));
}
