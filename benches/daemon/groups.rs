//! Agents that share a group: how long the platform waits until a message is accepted, and what memory it takes.

use std::time::Duration;

use serde_json::json;

use crate::fakes::daemon::{Daemon, Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::measure::Memory;
use crate::table::Table;

const GROUP: &str = "oc_group";
const AGENTS: usize = 10;
const RATE: u32 = 50;
const LASTS: Duration = Duration::from_secs(60);

/// An agent of the group. No message names it, so it answers nothing.
struct Agent {
    feishu: Feishu,
    daemon: Daemon,
    _project: Project,
    _model: FakeModel,
}

impl Agent {
    async fn start(name: &str, dir: &str) -> Self {
        let model = FakeModel::start(Script::compute(|_| Reply::text("unasked"))).await;
        let feishu = Feishu::start().await;
        let mut config = feishu.section(json!({}));
        merge(&mut config, json!({ "name": name, "groups": { "sharedDir": dir } }));
        let project = Project::with_model(&model.url(), config);
        let daemon = project.start().await;
        Self { feishu, daemon, _project: project, _model: model }
    }
}

/// One agent alone, ten that share nothing, and ten that share what they hear.
pub(crate) async fn together(table: &mut Table) {
    let shared = tempfile::tempdir().unwrap();
    let dir = shared.path().join("rooms").display().to_string();
    let (alone, _) = accepted(1, "").await;
    let (apart, before) = accepted(AGENTS, "").await;
    let (sharing, after) = accepted(AGENTS, &dir).await;
    let title = |agents: usize, shares: &str| {
        format!("{agents} agent(s), {RATE} messages/s for a minute{shares}: accepted within")
    };
    table.plain(&title(1, ""), &told(&alone));
    table.plain(&title(AGENTS, ", nothing shared"), &told(&apart));
    let more = median(&sharing).saturating_sub(median(&apart));
    let met = more <= Duration::from_millis(1);
    table.target(&title(AGENTS, ", one shared room"), "≤ 1 ms more", &told(&sharing), met);
    table.plain("RSS of an agent after it, nothing shared", &before.to_string());
    table.plain("RSS of an agent after it, one shared room", &after.to_string());
}

/// How long each message took to be accepted, and the memory of the first agent at the end.
async fn accepted(agents: usize, dir: &str) -> (Vec<Duration>, Memory) {
    let mut team = Vec::new();
    for number in 0..agents {
        team.push(Agent::start(&format!("Agent{number}"), dir).await);
    }
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    let messages = LASTS.as_secs() * u64::from(RATE);
    for number in 0..messages {
        ticks.tick().await;
        let message = Message::group(GROUP, "ou_ada", &format!("remark {number} of many")).now();
        for agent in &team {
            agent.feishu.write_as(&message, &format!("om_shared_{number:08}"));
        }
    }
    let mut took = Vec::new();
    for agent in &team {
        agent.feishu.wait_for("all to be accepted", |world| world.all_acknowledged().then_some(())).await;
        took.extend(agent.feishu.look(|world| world.acks.iter().map(|ack| ack.took).collect::<Vec<_>>()));
    }
    took.sort();
    (took, Memory::of(team[0].daemon.pid()))
}

fn median(took: &[Duration]) -> Duration {
    took[took.len() / 2]
}

fn told(took: &[Duration]) -> String {
    let millis = |at: usize| took[at].as_secs_f64() * 1_000.0;
    format!("{:.2} ms median, {:.2} ms of 99 %", millis(took.len() / 2), millis(took.len() * 99 / 100))
}
