//! Many people at once. Each message has a name, and an answer tells the names of all it answers: so none can be lost
//! or answered twice without being seen.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::bot_api::Name;
use crate::bots::Bot;
use crate::compare::Comparison;

const CHATS: i64 = 200;
const EACH: usize = 5;
const ALL: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(60);
/// How long is waited for an answer too many.
const AFTERMATH: Duration = Duration::from_secs(2);

/// How people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// All they have to say, without waiting.
    AtOnce,
    /// The next thing when the one before is answered.
    InTurn,
}

pub(crate) async fn crowd(comparison: &mut Comparison) {
    for (manner, how) in [
        (Manner::AtOnce, "all at once"),
        (Manner::InTurn, "each chat's next one when the one before is answered"),
    ] {
        let figure = format!("{CHATS} chats × {EACH} messages, {how}");
        let target = "≥ 400 messages/s, none lost, none answered twice, ≤ 3 CPU-s per 1,000";
        comparison
            .both(&figure, target, async |kind| {
                let bot = Bot::start(kind, CHATS, Duration::ZERO).await;
                let count = run(&bot, manner).await;
                let rate = f64::from(u32::try_from(ALL).unwrap()) / count.took.as_secs_f64();
                let cpu = count.cpu.as_secs_f64();
                let Count { lost, twice, answers, .. } = count;
                let words = format!(
                    "{rate:.0} messages/s, {lost} lost, {twice} answered twice, in {answers} answers; {cpu:.2} CPU-s"
                );
                (words, rate >= 400.0 && lost == 0 && twice == 0 && cpu <= 3.0)
            })
            .await;
    }
}

struct Count {
    took: Duration,
    lost: usize,
    twice: usize,
    answers: usize,
    /// For all messages, which are a thousand.
    cpu: Duration,
}

async fn run(bot: &Bot, manner: Manner) -> Count {
    let name = |chat: i64, number: usize| format!("question-{chat}-{number}");
    let mut sent = bot.api.sent();
    let cpu = bot.process.cpu();
    let begun = Instant::now();
    let first = if manner == Manner::AtOnce { EACH } else { 1 };
    // As they come in when many people type: everybody's first, then everybody's second.
    let opening = (0..first).flat_map(|number| (1..=CHATS).map(move |chat| (chat, name(chat, number))));
    bot.api.post(opening);
    let mut answered: HashMap<Name, usize> = HashMap::new();
    let (mut seen, mut last) = (0, begun);
    while answered.len() < ALL {
        let deadline = tokio::time::timeout(PATIENCE, sent.changed()).await;
        if deadline.is_err() {
            break;
        }
        sent.borrow_and_update();
        let answers = bot.api.sent_since(seen);
        seen += answers.len();
        let mut next = Vec::new();
        for answer in answers {
            last = last.max(answer.at);
            let names = answer.text.split_whitespace().filter(|word| word.starts_with("question-"));
            for name in names {
                *answered.entry(name.to_owned()).or_default() += 1;
                let [chat, number] = *name.split('-').skip(1).collect::<Vec<_>>() else { continue };
                assert_eq!(chat, answer.chat.to_string(), "an answer to {name} came to another chat");
                next.push((answer.chat, number.parse::<usize>().unwrap() + 1));
            }
        }
        if manner == Manner::InTurn {
            let further = next.into_iter().filter(|(_, number)| *number < EACH);
            bot.api.post(further.map(|(chat, number)| (chat, name(chat, number))));
        }
    }
    tokio::time::sleep(AFTERMATH).await;
    for answer in bot.api.sent_since(seen) {
        for name in answer.text.split_whitespace().filter(|word| word.starts_with("question-")) {
            *answered.entry(name.to_owned()).or_default() += 1;
        }
        seen += 1;
    }
    Count {
        took: last.duration_since(begun),
        lost: ALL - answered.len(),
        twice: answered.values().filter(|times| **times > 1).count(),
        answers: seen,
        cpu: bot.process.cpu().saturating_sub(cpu),
    }
}
