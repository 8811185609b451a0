//! Messages one after the other: what each takes from the moment the bot is given it to the moment its answer arrives,
//! without the time that the model took.

use std::time::Duration;

use crate::bots::Bot;
use crate::compare::Comparison;
use crate::measure::{Samples, millis, ms};

const MESSAGES: usize = 400;
const CHATS: usize = 100;
/// So that it is a model's time and not a busy machine's.
const THINKING: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn overhead(comparison: &mut Comparison) {
    for (chats, place) in [(1, "in one chat".to_owned()), (CHATS, format!("over {CHATS} chats"))] {
        let figure = format!("overhead of a message, {MESSAGES} one by one {place}");
        comparison
            .both(&figure, "p50 ≤ 8 ms, p95 ≤ 15 ms", async |kind| {
                let bot = Bot::start(kind, i64::try_from(CHATS).unwrap(), THINKING).await;
                let series = Series::of(&bot, chats).await;
                let (p50, p95) = (series.all.median(), series.all.percentile(95));
                let mut words = format!("p50 {}, p95 {}", ms(p50), ms(p95));
                if let Some((count, syncs)) = series.syncs {
                    let per_message = |total: f64| total / f64::from(u32::try_from(MESSAGES).unwrap());
                    let (count, syncs) = (per_message(count), per_message(millis(syncs)));
                    words.push_str(&format!("; {count:.2} fsyncs a message, {syncs:.1} ms of it"));
                }
                (words, millis(p50) <= 8.0 && millis(p95) <= 15.0)
            })
            .await;
    }
}

struct Series {
    all: Samples,
    /// How often the disk was waited for, and how long.
    syncs: Option<(f64, Duration)>,
}

impl Series {
    async fn of(bot: &Bot, chats: usize) -> Self {
        for chat in 1..=chats {
            say(bot, chat, &format!("question-warm-{chat}")).await;
        }
        let before = bot.syncs();
        let mut all = Samples::default();
        for number in 0..MESSAGES {
            all.add(say(bot, 1 + number % chats, &format!("question-{number}")).await);
        }
        let syncs = before.zip(bot.syncs());
        Self { all, syncs: syncs.map(|(before, after)| (after.0 - before.0, after.1 - before.1)) }
    }
}

/// Says something and waits for the answer: what that took beside the model's own time.
pub(crate) async fn say(bot: &Bot, chat: usize, name: &str) -> Duration {
    let chat = i64::try_from(chat).unwrap();
    let mut sent = bot.api.sent();
    let number = *sent.borrow_and_update();
    bot.model.took();
    bot.api.post([(chat, name.to_owned())]);
    tokio::time::timeout(PATIENCE, sent.changed()).await.unwrap().unwrap();
    let answers = bot.api.sent_since(number);
    let [answer] = answers.as_slice() else { panic!("one question, but {answers:?}") };
    assert!(answer.chat == chat && answer.text.starts_with(name), "{answer:?} is no answer to {name}");
    let (model, 1) = bot.model.took() else { panic!("one question, several calls") };
    answer.at.duration_since(bot.api.given(name)).saturating_sub(model)
}
