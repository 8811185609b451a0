//! Simulated people on every platform at once, while the daemon is killed repeatedly. Counts lost, repeated and
//! reordered answers, and samples the memory of the daemon.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::daemon::{PATIENCE, Project, TOKEN, merge};
use super::dice::Dice;
use super::fake_model::{FakeModel, Reply, Script, Seen, words_of};
use super::feishu::people::Message;
use super::feishu::server::Feishu;
use super::qq::QqFake;
use super::qq::people::Place;
use super::telegram::server::FakeTelegram;

/// Less than the fakes' time-out: an unanswered message is counted and does not end the run.
const ANSWER_WAIT: Duration = Duration::from_secs(50);
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// How many messages are sent, and how often the daemon is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// People on each chat platform, and messages of each.
    pub(crate) people: usize,
    pub(crate) messages: usize,
    /// Conversations over HTTP, and messages of each.
    pub(crate) http_chats: usize,
    pub(crate) http_messages: usize,
    /// How many people write concurrently, on each platform and over HTTP.
    pub(crate) at_once: usize,
    /// The longest time between two kills; `None` without kills.
    pub(crate) kill_within: Option<Duration>,
    pub(crate) seed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) written: BTreeMap<&'static str, usize>,
    pub(crate) lost: Vec<String>,
    /// Answers that show twice, beyond those that the daemons have counted on the platform without idempotency keys.
    pub(crate) repeated: Vec<String>,
    /// Answers that show twice on that platform, and how many the daemons have counted.
    pub(crate) cut_off: (usize, usize),
    pub(crate) out_of_order: Vec<String>,
    pub(crate) kills: usize,
    pub(crate) took: Duration,
    /// Resident memory of the daemon in MB, with the time since the start.
    pub(crate) memory: Vec<(Duration, u64)>,
}

impl Report {
    pub(crate) fn messages(&self) -> usize {
        self.written.values().sum()
    }

    /// No answer is lost, repeated or out of order.
    pub(crate) fn is_clean(&self) -> bool {
        let counted = self.cut_off.0 <= self.cut_off.1;
        self.lost.is_empty() && self.repeated.is_empty() && self.out_of_order.is_empty() && counted
    }

    fn check(&mut self, channel: Channel, person: usize, written: usize, said: &[String]) {
        *self.written.entry(channel.name()).or_default() += written;
        // An answer whose send was cut off may be sent again at once, as a whole.
        let mut said = said.to_vec();
        if channel == Channel::Telegram {
            let shown = said.len();
            said.dedup();
            self.cut_off.0 += shown - said.len();
        }
        let numbers = numbers_in(&said, channel, person);
        for number in 0..written {
            match numbers.iter().filter(|found| **found == number).count() {
                0 => self.lost.push(word(channel, person, number)),
                1 => {}
                _ => self.repeated.push(word(channel, person, number)),
            }
        }
        if !numbers.is_sorted() {
            self.out_of_order.push(format!("{} {person}: {numbers:?}", channel.name()));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        writeln!(f, "{} messages in {seconds:.0} s, {} kills", self.messages(), self.kills)?;
        for (channel, count) in &self.written {
            writeln!(f, "  {channel:<10}{count:>7}")?;
        }
        let (lost, repeated) = (self.lost.len(), self.repeated.len());
        writeln!(f, "  lost {lost}, repeated {repeated}, out of order {}", self.out_of_order.len())?;
        let (shown, counted) = self.cut_off;
        writeln!(f, "  cut off: {shown} answers show twice, {counted} sends are counted")?;
        let every = self.memory.len().div_ceil(12).max(1);
        let samples = self.memory.iter().step_by(every);
        let samples: Vec<String> = samples.map(|(at, mb)| format!("{}s:{mb}", at.as_secs())).collect();
        let most = self.memory.iter().map(|(_, mb)| *mb).max().unwrap_or_default();
        writeln!(f, "  RSS in MB: {}, at most {most}", samples.join(" "))
    }
}

/// The platform of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Telegram,
    Feishu,
    Qq,
    Http,
}

impl Channel {
    fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Feishu => "feishu",
            Self::Qq => "qq",
            Self::Http => "http",
        }
    }
}

/// A unique word for one message of a person.
fn word(channel: Channel, person: usize, number: usize) -> String {
    format!("{}{person}m{number}.", channel.name())
}

/// The numbers of the messages that answers mention, in order.
fn numbers_in(said: &[String], channel: Channel, person: usize) -> Vec<usize> {
    let prefix = format!("{}{person}m", channel.name());
    let words = said.iter().flat_map(|text| text.split_whitespace());
    words.filter_map(|word| word.strip_prefix(&prefix)?.strip_suffix('.')?.parse().ok()).collect()
}

/// Answers with all messages since the last answer.
fn echo_all(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().rev().take_while(|message| message["role"] == "user");
    let mut words: Vec<&str> = asked.map(words_of).collect();
    words.reverse();
    Reply::text(&format!("echo {}", words.join(" + "))).after(Duration::from_millis(5))
}

/// The platforms, the model and the project; they outlive daemons.
#[derive(Debug)]
pub(crate) struct Soak {
    telegram: FakeTelegram,
    feishu: Feishu,
    qq: QqFake,
    qq_users: Vec<&'static str>,
    project: Project,
    _model: FakeModel,
}

impl Soak {
    pub(crate) async fn new(people: usize) -> Arc<Self> {
        let telegram = FakeTelegram::start().await;
        let feishu = Feishu::start().await;
        let qq = QqFake::start().await;
        let model = FakeModel::unrecorded(Script::compute(echo_all)).await;
        let qq_users: Vec<&'static str> =
            (0..people).map(|person| &*Box::leak(format!("U{person}").into_boxed_str())).collect();
        let users: Vec<i64> = (0..people).map(telegram_id).collect();
        let mut config = json!({ "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 120 },
            "adapters": { "telegram": { "botToken": telegram.token(), "apiUrl": telegram.url(),
                "allowedUsers": users } } });
        let users: Vec<String> = (0..people).map(|person| format!("ou_p{person}")).collect();
        merge(&mut config, feishu.section(json!({ "allowedUsers": users })));
        merge(&mut config, qq.config());
        merge(&mut config, json!({ "adapters": { "qq": { "allowedUsers": qq_users } } }));
        let project = Project::with_model(&model.url(), config);
        Arc::new(Self { telegram, feishu, qq, qq_users, project, _model: model })
    }

    pub(crate) async fn run(self: &Arc<Self>, plan: Plan) -> Report {
        let begun = Instant::now();
        let mut daemon = self.project.start().await;
        let (running, daemons) = watch::channel((daemon.pid(), daemon.base.clone()));
        let mut sampling = JoinSet::new();
        sampling.spawn(sample(begun, daemons.clone()));
        let mut writers = JoinSet::new();
        for channel in [Channel::Telegram, Channel::Feishu, Channel::Qq, Channel::Http] {
            let next = Arc::new(AtomicUsize::new(0));
            for worker in 0..plan.at_once {
                let dice = Dice::new(plan.seed ^ (7919 * (worker as u64 + 1)));
                writers.spawn(self.clone().write_all(channel, plan, next.clone(), dice, daemons.clone()));
            }
        }
        let mut dice = Dice::new(plan.seed);
        let mut kills = 0;
        let mut writing = std::pin::pin!(writers.join_all());
        loop {
            let kill_in = async {
                match plan.kill_within {
                    Some(within) => sleep(Duration::from_millis(dice.roll(within.as_millis() as u64))).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = &mut writing => break,
                () = kill_in => {}
            }
            daemon.kill();
            daemon = self.project.start().await;
            running.send_replace((daemon.pid(), daemon.base.clone()));
            kills += 1;
        }
        let took = begun.elapsed();
        drop(running);
        let memory = sampling.join_all().await.concat();
        assert!(daemon.stop().await.success(), "the daemon did not stop well");
        self.report(plan, Report { kills, took, memory, ..Report::default() })
    }

    /// One writer: takes one person after the other until none is left.
    async fn write_all(
        self: Arc<Self>,
        channel: Channel,
        plan: Plan,
        next: Arc<AtomicUsize>,
        mut dice: Dice,
        daemons: watch::Receiver<(u32, String)>,
    ) {
        let people = if channel == Channel::Http { plan.http_chats } else { plan.people };
        loop {
            let person = next.fetch_add(1, Ordering::Relaxed);
            if person >= people {
                return;
            }
            match channel {
                Channel::Http => ask_over_http(person, plan.http_messages, &daemons).await,
                _ => self.write(channel, person, plan.messages, &mut dice).await,
            }
        }
    }

    /// Writes one to three messages at a time and waits until they are answered.
    async fn write(&self, channel: Channel, person: usize, messages: usize, dice: &mut Dice) {
        let mut number = 0;
        while number < messages {
            let until = messages.min(number + 1 + dice.roll(3) as usize);
            for number in number..until {
                self.say(channel, person, &word(channel, person, number));
            }
            let answered = |said: &[String]| {
                let found = numbers_in(said, channel, person);
                (number..until).all(|number| found.contains(&number))
            };
            // An unanswered message is found at the end.
            drop(timeout(ANSWER_WAIT, self.wait_for(channel, person, answered)).await);
            number = until;
        }
    }

    fn say(&self, channel: Channel, person: usize, words: &str) {
        match channel {
            Channel::Telegram => {
                let user = self.telegram.user(telegram_id(person), "Ann");
                self.telegram.private(&user).say(&user, words);
            }
            Channel::Feishu => {
                self.feishu.write(&Message::private(&format!("ou_p{person}"), words));
            }
            Channel::Qq => {
                self.qq.says(Place::C2c(self.qq_users[person]), words);
            }
            Channel::Http => panic!("HTTP is asked, not written to"),
        }
    }

    async fn wait_for(&self, channel: Channel, person: usize, answered: impl Fn(&[String]) -> bool) {
        match channel {
            Channel::Telegram => {
                let chat = telegram_id(person);
                self.telegram.wait_for(|world| answered(&world.bot_texts(chat))).await;
            }
            Channel::Feishu => {
                let chat = format!("oc_p{person}");
                self.feishu.wait_for("answers", |world| answered(&world.said(&chat)).then_some(())).await;
            }
            Channel::Qq => {
                let user = self.qq_users[person];
                self.qq.wait_for("answers", |rules| answered(&rules.texts(user)).then_some(())).await;
            }
            Channel::Http => panic!("HTTP is asked, not written to"),
        }
    }

    /// The final texts of the agent to a person.
    fn said(&self, channel: Channel, person: usize) -> Vec<String> {
        match channel {
            Channel::Telegram => self.telegram.read(|world| world.bot_texts(telegram_id(person))),
            Channel::Feishu => self.feishu.look(|world| world.said(&format!("oc_p{person}"))),
            Channel::Qq => self.qq.look(|rules| rules.texts(self.qq_users[person])),
            Channel::Http => {
                let file = self.project.thread_file(&format!("api:chat:h{person}"));
                let lines = std::fs::read_to_string(file).unwrap_or_default();
                let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                let answers = messages.filter(|message| message["role"] == "assistant");
                answers.map(|message| text_of(&message)).collect()
            }
        }
    }

    fn report(&self, plan: Plan, mut report: Report) -> Report {
        report.cut_off.1 = self.project.log().matches("send repeated, may be a duplicate").count();
        for channel in [Channel::Telegram, Channel::Feishu, Channel::Qq] {
            for person in 0..plan.people {
                report.check(channel, person, plan.messages, &self.said(channel, person));
            }
        }
        for chat in 0..plan.http_chats {
            report.check(Channel::Http, chat, plan.http_messages, &self.said(Channel::Http, chat));
        }
        report
    }
}

fn telegram_id(person: usize) -> i64 {
    1_000 + i64::try_from(person).unwrap()
}

fn text_of(message: &Value) -> String {
    let parts = message["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

/// Sends messages one after the other. One without an answer is sent again, under the same id.
async fn ask_over_http(chat: usize, messages: usize, daemons: &watch::Receiver<(u32, String)>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for number in 0..messages {
        let words = word(Channel::Http, chat, number);
        let body = json!({ "instructions": words, "chatId": format!("h{chat}"), "messageId": words });
        let asked = async {
            loop {
                let url = format!("{}/api/execute", daemons.borrow().1);
                let request = http.post(url).bearer_auth(TOKEN).header("content-type", "application/json");
                let sent = request.body(body.to_string()).timeout(PATIENCE).send().await;
                if let Ok(answer) = sent
                    && answer.status() == 200
                    && answer.text().await.is_ok_and(|text| text.contains(r#""status":"done""#))
                {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        // An unanswered message is found at the end.
        drop(timeout(ANSWER_WAIT, asked).await);
    }
}

/// Samples the memory of the running daemon, until there is none.
async fn sample(begun: Instant, mut daemons: watch::Receiver<(u32, String)>) -> Vec<(Duration, u64)> {
    let mut samples = Vec::new();
    while daemons.has_changed().is_ok() {
        let pid = daemons.borrow_and_update().0;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        samples.extend(kilobytes.map(|kilobytes| (begun.elapsed(), kilobytes / 1024)));
        sleep(SAMPLE_EVERY).await;
    }
    samples
}
