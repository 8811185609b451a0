//! Messages of other bots that the platform itself sends, beside what the agents share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::scene::{GROUP, Team, echo, texts_of, until};
use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Latch, Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::telegram::account::{Account, User};
use crate::fakes::telegram::people::Chat;
use crate::fakes::telegram::server::FakeTelegram;

/// A supergroup, where all accounts see the same message ids, and a basic group, where each counts its own.
pub(super) const SUPERGROUP: i64 = -1_001_234_567_890;
pub(super) const BASIC: i64 = -55;

/// An agent with an account on Telegram.
pub(super) struct Bot {
    pub(super) user: User,
    pub(super) fake: FakeTelegram,
    pub(super) model: FakeModel,
    pub(super) project: Project,
}

impl Bot {
    pub(super) async fn new(id: i64, name: &str, script: Script, extra: Value) -> Self {
        let user = User::new(id, name).called(&format!("{}_bot", name.to_lowercase())).bot();
        let token = format!("{id}:AAtest-canary_token0123456789abcdefg");
        let account = Account { user: user.clone(), token, hears_bots: true, ..Account::default() };
        let (fake, model) = (FakeTelegram::for_bot(account).await, FakeModel::start(script).await);
        let mut config = json!({
            "name": name, "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 60 },
            "memory": { "auto": "off", "recall": false },
            "adapters": { "telegram": { "botToken": fake.token(), "apiUrl": fake.url(),
                "allowedChats": [SUPERGROUP, BASIC], "groups": { "followupSecs": 0 } } },
        });
        merge(&mut config, extra);
        let project = Project::with_model(&model.url(), config);
        Self { user, fake, model, project }
    }

    pub(super) fn group(&self, chat: i64) -> Chat {
        self.fake.group(chat)
    }

    pub(super) async fn says(&self, chat: i64, words: &str) {
        self.fake.wait_for(|world| world.bot_texts(chat).iter().any(|text| text == words)).await;
    }

    /// Waits until a text is in its thread file, and returns the last line that has it.
    pub(super) async fn stored(&self, chat: i64, words: &str) -> String {
        let file = self.project.thread_file(&format!("telegram:chat:{chat}"));
        let line = || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let of_people = |line: &&str| line.contains(words) && line.contains("\"role\":\"user\"");
            text.lines().rfind(of_people).map(str::to_owned)
        };
        until(words, || line().is_some()).await;
        line().unwrap()
    }
}

/// Runs both agents. They know each other's accounts from their start: both have run before.
pub(super) async fn acquainted(dir: &Path, bots: [&Bot; 2]) -> [Daemon; 2] {
    for bot in bots {
        let before = bot.project.start().await;
        let account = format!("\"name\":\"{}_bot\"", bot.user.name().to_lowercase());
        until("the account", || cards(dir).values().any(|card| card.contains(&account))).await;
        before.kill();
    }
    let before = cards(dir);
    let running = [bots[0].project.start().await, bots[1].project.start().await];
    // An agent writes its card after it has read those of the others.
    let is_written = || cards(dir).iter().all(|(path, card)| before.get(path) != Some(card));
    until("the agents to know each other", is_written).await;
    running
}

/// The roster: the text of each card. A daemon that was killed may have left a temporary file.
fn cards(dir: &Path) -> BTreeMap<PathBuf, String> {
    let files =
        std::fs::read_dir(dir.join("agents")).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let read = |path: PathBuf| Some((path.clone(), std::fs::read_to_string(path).ok()?));
    files.filter_map(read).collect()
}

/// The text of all files under a directory.
fn text_under(dir: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => text.push_str(&text_under(&path)),
            path => text.push_str(&std::fs::read_to_string(path).unwrap_or_default()),
        }
    }
    text
}

/// Waits until the shared logs have this as said by an agent so many times.
pub(super) async fn told(dir: &Path, words: &str, times: usize) {
    let is_it = |line: &&str| line.contains(words) && line.contains("\"outbound\"");
    until(words, || text_under(&dir.join("telegram")).lines().filter(is_it).count() >= times).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_platform_sends_before_or_after_the_log_is_there_once() {
    let shared = tempfile::tempdir().unwrap();
    let dir = shared.path().join("rooms");
    let extra = json!({ "groups": { "sharedDir": dir } });
    let gates = [Latch::new(), Latch::new()];
    let held = gates.clone();
    let script = Script::compute(move |seen| {
        let words = seen.last_user_text();
        let reply = Reply::text(&format!("Alpha says: {words}"));
        let gate = ["slowly", "softly"].iter().zip(&held).find(|(word, _)| words.contains(**word));
        gate.map_or(reply.clone(), |(_, gate)| reply.behind(gate))
    });
    let alpha = Bot::new(101, "Alpha", script, extra.clone()).await;
    let beta = Bot::new(102, "Beta", echo("Beta", "{}"), extra).await;
    let _running = acquainted(&dir, [&alpha, &beta]).await;
    let ann = beta.fake.user(7, "Ann");
    for (number, chat) in [SUPERGROUP, BASIC].into_iter().enumerate() {
        let (there, here) = (alpha.group(chat), beta.group(chat));
        if chat == BASIC {
            here.say(&ann, "only Beta's account counts this");
        }
        // The log first, then the platform.
        there.say(&ann, "@alpha_bot what is the time");
        here.say(&ann, "@alpha_bot what is the time");
        let first = "Alpha says: what is the time";
        told(&dir, first, number + 1).await;
        here.say(&alpha.user, first);
        beta.stored(chat, first).await;
        // The platform first, then the log.
        let asked = ["slowly, the date", "softly, the date"][number];
        there.say(&ann, &format!("@alpha_bot {asked}"));
        here.say(&ann, &format!("@alpha_bot {asked}"));
        alpha.stored(chat, asked).await;
        let second = format!("Alpha says: {asked}");
        here.say(&alpha.user, &second);
        beta.stored(chat, &second).await;
        gates[number].open();
        told(&dir, &second, 1).await;
        here.say(&ann, "@beta_bot and you");
        beta.says(chat, "Beta says: and you").await;
        let prompt = texts_of(beta.model.requests().last().unwrap()).join("\n");
        for words in [first, &second] {
            assert_eq!(prompt.matches(words).count(), 1, "{chat}: {words}: {prompt}");
            let lines = prompt.lines().collect::<Vec<_>>();
            let at = lines.iter().position(|line| *line == words).unwrap();
            assert!(lines[at - 1].contains("from=\"Alpha\""), "{chat}: {prompt}");
        }
    }
    assert!(!beta.project.log().contains("another agent uses the same account"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_names_another_by_a_command_and_is_answered_once() {
    let shared = tempfile::tempdir().unwrap();
    let dir = shared.path().join("rooms");
    let extra = json!({ "groups": { "sharedDir": dir } });
    let asks = Script::compute(|_| Reply::text("@Beta please check `@Beta`"));
    let alpha = Bot::new(101, "Alpha", asks, extra.clone()).await;
    let beta = Bot::new(102, "Beta", Script::compute(|_| Reply::text("It is green.")), extra).await;
    let _running = acquainted(&dir, [&alpha, &beta]).await;
    let ann = beta.fake.user(7, "Ann");
    let (there, here) = (alpha.group(SUPERGROUP), beta.group(SUPERGROUP));
    there.say(&ann, "@alpha_bot is it green");
    here.say(&ann, "@alpha_bot is it green");
    here.count_from(100);
    alpha.says(SUPERGROUP, "/ask@beta_bot please check @Beta").await;
    beta.says(SUPERGROUP, "It is green.").await;
    // The platform's own copy comes late, and starts nothing.
    here.count_from(alpha.fake.read(|world| world.visible(SUPERGROUP).last().unwrap().id));
    here.say(&alpha.user, "/ask@beta_bot please check @Beta");
    here.count_from(200);
    here.say(&ann, "@beta_bot thank you");
    beta.fake.wait_for(|world| world.bot_texts(SUPERGROUP).len() == 2).await;
    assert_eq!(beta.model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_bot_is_answered_when_named_within_its_budget_and_over_a_restart() {
    let named =
        json!({ "groups": { "bots": "named" }, "permissions": { "write_file": { "mode": "allow" } } });
    let beta = Bot::new(102, "Beta", echo("Beta", "{}"), named).await;
    let mut daemon = Some(beta.project.start().await);
    let (ann, other) = (beta.fake.user(7, "Ann"), User::new(909, "Other").called("other_bot").bot());
    let group = beta.group(SUPERGROUP);
    for round in 0..3 {
        group.say(&ann, &format!("a person speaks {round}"));
        group.say(&other, &format!("@beta_bot question {round}"));
        beta.says(SUPERGROUP, &format!("Beta says: question {round}")).await;
        // Two agents in a row: a person has to speak.
        group.say(&other, &format!("@beta_bot thank you {round}"));
        let line = beta.stored(SUPERGROUP, &format!("thank you {round}")).await;
        assert!(line.contains("\"context\":true") && line.contains("\"peer\":\"bot\""), "{line}");
        daemon.take().unwrap().kill();
        daemon = Some(beta.project.start().await);
    }
    let line = beta.stored(SUPERGROUP, "question 0").await;
    assert!(line.contains("\"origin\":\"guest\""), "{line}");
    // Six messages within the hour.
    group.say(&ann, "a person speaks again");
    group.say(&other, "@beta_bot one more");
    assert!(beta.stored(SUPERGROUP, "one more").await.contains("\"context\":true"));
    // A bot commands and decides nothing.
    group.say(&other, "/new@beta_bot");
    assert!(beta.stored(SUPERGROUP, "/new@beta_bot").await.contains("\"context\":true"));
    group.say(&ann, "@beta_bot are you there");
    beta.says(SUPERGROUP, "Beta says: are you there").await;
    assert_eq!(beta.model.requests().len(), 4);
    drop(daemon);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_alone_hears_no_bots() {
    let beta = Bot::new(102, "Beta", echo("Beta", "{}"), json!({})).await;
    let _runs: Daemon = beta.project.start().await;
    let (ann, other) = (beta.fake.user(7, "Ann"), User::new(909, "Other").called("other_bot").bot());
    let group = beta.group(SUPERGROUP);
    group.say(&other, "@beta_bot hello");
    group.say(&ann, "@beta_bot what is the time");
    beta.says(SUPERGROUP, "Beta says: what is the time").await;
    let thread = beta.project.thread_file(&format!("telegram:chat:{SUPERGROUP}"));
    assert!(!std::fs::read_to_string(thread).unwrap().contains("hello"));
    assert_eq!(beta.fake.read(|world| world.bot_texts(SUPERGROUP).len()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_is_named_by_a_real_mention_and_its_id_is_learned_from_one() {
    let asks = Script::compute(|seen| match seen.last_user_text() {
        text if text.contains("ask Beta") => Reply::text("@Beta please check"),
        text => Reply::text(&format!("Alpha says: {text}")),
    });
    let team = Team::start(vec![("Alpha", asks), ("Beta", echo("Beta", "{}"))], json!({})).await;
    team.known().await;
    // The roster is read every few seconds; a mention of an unknown name is tried again.
    let card = || text_under(&team.shared.path().join("rooms/agents"));
    let mut tries = 0;
    while !card().contains("ou_beta_here") {
        assert!(tries < 60, "the id is not learned: {}", card());
        tries += 1;
        let message =
            Message::group(GROUP, "ou_ada", "what about @_user_2").now().naming("ou_beta_here", "Beta");
        team.agents[0].feishu.write(&message);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    team.write(GROUP, "ou_ada", "ask Beta", &[0]);
    let mention = "<at user_id=\"ou_beta_here\">Beta</at> please check";
    team.hears(0, mention).await;
    let sent = team.agents[0]
        .feishu
        .look(|world| world.posted.iter().find(|posted| world.words(posted) == mention).cloned())
        .unwrap();
    assert_eq!(sent.kind, "text");
    team.hears(1, "Beta says: @Beta please check").await;
    // The platform's own copy comes late: it starts no second turn.
    let copy = Message::group(GROUP, "ou_alpha_there", "please check").now().mentioning().by_bot();
    team.agents[1].feishu.write_as(&copy, &sent.id);
    let id = team.write(GROUP, "ou_ada", "thank you", &[1]);
    team.stored(GROUP, &id).await;
    team.hears(1, "Beta says: thank you").await;
    assert_eq!(team.agents[1].prompts().len(), 2);
    let log = team.agents[0].project.log();
    assert_eq!(
        log.matches("another agent uses the same account").count(),
        1,
        "both have the app of the fake: {log}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_is_for_the_agent_that_works_and_not_for_one_that_spoke_before() {
    let gate = Latch::new();
    let held = gate.clone();
    let works = Script::compute(move |seen| {
        let reply = Reply::text(&format!("Beta says: {}", seen.last_user_text()));
        if seen.last_user_text().contains("deploy") { reply.behind(&held) } else { reply }
    });
    let extra = json!({ "adapters": { "feishu": { "groups": { "followupSecs": 3600 } } } });
    let team = Team::start(vec![("Alpha", echo("Alpha", "{}")), ("Beta", works)], extra).await;
    team.write(GROUP, "ou_ada", "status", &[0]);
    team.told("Alpha says: status", 1).await;
    let deploy = Message::group(GROUP, "ou_ada", "@_user_2 deploy").now().naming("ou_beta_here", "Beta");
    team.agents[0].feishu.write_as(&deploy, "om_deploy");
    let deploy = Message::group(GROUP, "ou_ada", "deploy").now().mentioning();
    team.agents[1].feishu.write_as(&deploy, "om_deploy");
    until("Beta's work", || team.agents[1].prompts().len() == 1).await;
    let id = team.write(GROUP, "ou_ada", "to staging", &[]);
    team.stored(GROUP, &id).await;
    assert!(team.agents[0].line_of(GROUP, &id).unwrap().contains("\"context\":true"));
    let line = team.agents[1].line_of(GROUP, &id).unwrap();
    assert!(!line.contains("\"context\":true"), "{line}");
    gate.open();
    team.hears(1, "Beta says: to staging").await;
    assert_eq!(team.agents[0].said(), ["Alpha says: status"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_is_for_the_agent_that_spoke_last() {
    let extra = json!({ "adapters": { "feishu": { "groups": { "followupSecs": 3600 } } } });
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let team = Team::start(scripts, extra).await;
    team.write(GROUP, "ou_ada", "both of you", &[0, 1]);
    team.told("Alpha says: both of you", 1).await;
    team.told("Beta says: both of you", 1).await;
    let mut sent = team.outbound();
    sent.sort_by_key(|line| line["at"].as_i64());
    let last = usize::from(sent.last().unwrap()["author"]["name"] == "Beta");
    let (speaker, other) = (["Alpha", "Beta"][last], 1 - last);
    let id = team.write(GROUP, "ou_ada", "继续", &[]);
    team.hears(last, &format!("{speaker} says: 继续")).await;
    team.stored(GROUP, &id).await;
    let thread = team.agents[other].project.thread_file("feishu:chat:oc_group");
    let thread = std::fs::read_to_string(thread).unwrap();
    let line = thread.lines().rfind(|line| line.contains(&id)).unwrap();
    assert!(line.contains("\"context\":true"), "{line}");
    assert_eq!(team.agents[other].prompts().len(), 1);
}
