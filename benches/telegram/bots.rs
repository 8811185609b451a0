//! The two that are measured: the daemon with everything it promises, and a bot that promises nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::bot_api::{BotApi, TOKEN};
use crate::fakes::daemon::{self, Project};
use crate::measure::Samples;
use crate::model::Model;
use crate::process::Process;

const CARGO: &str = env!("CARGO");
const EXAMPLE: &str = "bare_teloxide";
const PATIENCE: Duration = Duration::from_secs(30);

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shipagent,
    Bare,
}

pub(crate) const BOTH: [Kind; 2] = [Kind::Shipagent, Kind::Bare];

/// A bot with the world it lives in.
#[derive(Debug)]
pub(crate) struct Bot {
    pub(crate) api: BotApi,
    pub(crate) model: Model,
    pub(crate) process: Process,
    /// From the start of the process to its first question for updates.
    pub(crate) first_poll: Duration,
    home: Home,
}

/// What is there before and after a process.
#[derive(Debug)]
enum Home {
    /// A project of the daemon's; checked when it goes away.
    Project(Project),
    Nothing,
}

impl Bot {
    /// Starts one for so many people, with a model that thinks for so long.
    pub(crate) async fn start(kind: Kind, people: i64, thinking: Duration) -> Self {
        let (api, model) = (BotApi::start().await, Model::start(thinking).await);
        let home = match kind {
            Kind::Shipagent => {
                let people: Vec<i64> = (1..=people).collect();
                let telegram = json!({ "botToken": TOKEN, "apiUrl": api.url, "allowedUsers": people });
                let adapters = json!({ "adapters": { "telegram": telegram } });
                Home::Project(Project::with_model(&model.url, adapters))
            }
            Kind::Bare => Home::Nothing,
        };
        let (process, first_poll) = launch(&home, &api, &model).await;
        Self { api, model, process, first_poll, home }
    }

    /// How long each of so many further starts took to the first poll.
    pub(crate) async fn restarts(mut self, count: usize) -> Samples {
        let mut samples = Samples::default();
        for _ in 0..count {
            match self.home {
                Home::Project(_) => self.process.stop(),
                Home::Nothing => drop(self.process),
            }
            self.api.forget_polls();
            (self.process, self.first_poll) = launch(&self.home, &self.api, &self.model).await;
            samples.add(self.first_poll);
        }
        samples
    }

    /// What the daemon says of its waits for the disk so far: how many, and how long together.
    pub(crate) fn syncs(&self) -> Option<(f64, Duration)> {
        let Home::Project(project) = &self.home else { return None };
        let address = std::fs::read_to_string(project.path().join(".ship/run/address")).unwrap();
        let mut stream = TcpStream::connect(address.trim()).unwrap();
        let token = daemon::TOKEN;
        let head = format!("host: {}\r\nauthorization: Bearer {token}\r\nconnection: close", address.trim());
        write!(stream, "GET /metrics HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let number = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
        };
        let seconds = number("shipagent_journal_sync_seconds_total");
        Some((number("shipagent_journal_syncs_total"), Duration::from_secs_f64(seconds)))
    }
}

async fn launch(home: &Home, api: &BotApi, model: &Model) -> (Process, Duration) {
    let command = match home {
        Home::Project(project) => project.command(&["run"]),
        Home::Nothing => {
            let mut command = Command::new(example());
            command.env_clear().env("TELEGRAM_BOT_TOKEN", TOKEN).env("TELEGRAM_API_URL", &api.url);
            command.env("OPENAI_BASE_URL", &model.url).env("OPENAI_MODEL", "fake");
            command
        }
    };
    let begun = Instant::now();
    let mut process = Process::start(command);
    let polled = tokio::time::timeout(PATIENCE, api.first_poll()).await;
    process.assert_alive();
    (process, polled.unwrap().duration_since(begun))
}

/// Where the bare bot is; beside the benchmark, where `cargo` puts examples.
pub(crate) fn example() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("examples").join(EXAMPLE)
}

/// Builds the bare bot, as the benchmark itself was built.
pub(crate) fn build_example() {
    let mut cargo = Command::new(CARGO);
    cargo.args(["build", "--release", "--locked", "--example", EXAMPLE]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells the benchmark about its own package would have crates built anew that look at such things.
    let told = ["CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars().filter(|(name, _)| told.iter().any(|prefix| name.starts_with(prefix))) {
        cargo.env_remove(name);
    }
    let built = cargo.status().unwrap();
    assert!(built.success(), "the bare bot could not be built");
}
