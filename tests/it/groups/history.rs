//! What was said while an agent did not listen, asked from the platform.

use serde_json::json;

use super::scene::{GROUP, Team, echo, texts_of, until};
use crate::fakes::feishu::people::Message;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_platform_did_not_send_is_context_of_the_first_turn_and_known_to_the_others() {
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let team = Team::start(scripts, json!({})).await;
    // More than a page, of which Alpha was told nothing.
    for number in 0..60 {
        let missed = Message::group(GROUP, "ou_ada", &format!("missed {number:02}")).ago(10);
        team.agents[0].feishu.remember(&missed, &format!("om_missed_{number:08}"));
    }
    team.write(GROUP, "ou_bob", "what did I miss", &[0]);
    team.hears(0, "Alpha says: what did I miss").await;
    let prompt = texts_of(&team.agents[0].prompts()[0]);
    let missed: Vec<&String> = prompt.iter().filter(|text| text.contains("missed ")).collect();
    assert_eq!(missed.len(), 60, "{prompt:#?}");
    assert!(prompt.iter().all(|text| !text.contains("missed 59") || text.contains("to=\"others\"")));
    let last = prompt.iter().rposition(|text| text.contains("missed ")).unwrap();
    let asked = prompt.iter().position(|text| text.contains("what did I miss")).unwrap();
    assert!(last < asked, "{prompt:#?}");
    team.write(GROUP, "ou_bob", "and you", &[1]);
    team.hears(1, "Beta says: and you").await;
    let prompt = texts_of(&team.agents[1].prompts()[0]).join("\n");
    assert!(prompt.contains("missed 59") && prompt.matches("missed 58").count() == 1, "{prompt}");
    // It is asked once.
    team.write(GROUP, "ou_bob", "again", &[0]);
    team.hears(0, "Alpha says: again").await;
    let again = texts_of(team.agents[0].prompts().last().unwrap()).join("\n");
    assert_eq!(again.matches("missed 07").count(), 1, "{again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_overlap_and_messages_of_every_kind_are_told_once() {
    let team = Team::start(vec![("Alpha", echo("Alpha", "{}"))], json!({})).await;
    let feishu = &team.agents[0].feishu;
    feishu.tune(|world| world.mood.history.page = Some(20));
    for number in 0..44 {
        let missed = Message::group(GROUP, "ou_ada", &format!("missed {number:02}")).ago(60 - number);
        feishu.remember(&missed, &format!("om_missed_{number:08}"));
    }
    feishu.delete("om_missed_00000007");
    let card = json!({ "title": "Build", "elements": [[{ "tag": "text", "text": "all green" }]] });
    let card = Message::group(GROUP, "cli_other", "").of_kind("interactive", card).by_bot().ago(10);
    feishu.remember(&card, "om_missed_00000044");
    let root = Message::group(GROUP, "ou_ada", "the root of a topic").in_topic("omt_1").ago(9);
    feishu.remember(&root, "om_missed_00000045");
    team.write(GROUP, "ou_bob", "what did I miss", &[0]);
    team.hears(0, "Alpha says: what did I miss").await;
    assert_eq!(feishu.look(|world| world.mood.history.calls), 3, "three pages");
    let prompt = texts_of(&team.agents[0].prompts()[0]).join("\n");
    for number in (0..44).filter(|number| *number != 7) {
        assert_eq!(prompt.matches(&format!("missed {number:02}\n")).count(), 1, "{number}: {prompt}");
    }
    assert!(!prompt.contains("missed 07") && !prompt.contains("recalled"), "{prompt}");
    assert_eq!(prompt.matches("all green").count(), 1, "{prompt}");
    assert!(prompt.contains("kind=\"bot\"") && prompt.contains("the root of a topic"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_that_refuses_limits_or_is_slow_stops_no_turn() {
    let team = Team::start(vec![("Alpha", echo("Alpha", "{}"))], json!({})).await;
    let agent = &team.agents[0];
    let calls = || agent.feishu.look(|world| world.mood.history.calls);
    // No answer within the time for it.
    agent.feishu.tune(|world| world.mood.history.holds = true);
    team.write(GROUP, "ou_bob", "slow", &[0]);
    // Commands do not wait for it.
    team.write(GROUP, "ou_bob", "/status", &[0]);
    team.hears(0, "Alpha says: slow").await;
    assert!(agent.said()[0].starts_with("Idle"), "{:?}", agent.said());
    agent.feishu.tune(|world| world.mood.history.holds = false);
    // A limit: it may be asked again later.
    agent.feishu.tune(|world| world.mood.history.refuses = Some(99_991_400));
    let mut asked = 0;
    until_refused(&team, &mut asked, || agent.project.log().contains("history not available")).await;
    // A missing permission: it is not asked again, and named.
    agent.feishu.tune(|world| world.mood.history.refuses = Some(230_027));
    until_refused(&team, &mut asked, || agent.project.log().contains("history refused")).await;
    let before = calls();
    team.write(GROUP, "ou_bob", "once more", &[0]);
    team.hears(0, "Alpha says: once more").await;
    assert_eq!(calls(), before);
    let log = agent.project.log();
    assert_eq!(log.matches("history refused").count(), 1, "{log}");
    let roster = || {
        let files =
            std::fs::read_dir(team.shared.path().join("rooms/agents")).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect::<String>()
    };
    until("the missing permission in the roster", || roster().contains("im:message.group_msg")).await;
    let doctor = agent.project.run(&["doctor"]);
    assert!(doctor.stdout.contains("im:message.group_msg"), "{}", doctor.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_agents_share_nothing_the_platform_is_asked_what_they_said() {
    let config = |bots: &str| json!({ "groups": { "sharedDir": "", "bots": bots } });
    for (bots, asks) in [("named", true), ("ignore", false)] {
        let team = Team::start(vec![("Alpha", echo("Alpha", "{}"))], config(bots)).await;
        let feishu = &team.agents[0].feishu;
        let said = Message::group(GROUP, "cli_other", "Beta says: it is green").by_bot().ago(10);
        feishu.remember(&said, "om_other_00000001");
        team.write(GROUP, "ou_ada", "is it green", &[0]);
        team.hears(0, "Alpha says: is it green").await;
        let prompt = texts_of(&team.agents[0].prompts()[0]).join("\n");
        assert_eq!(prompt.matches("Beta says: it is green").count(), usize::from(asks), "{prompt}");
        assert_eq!(feishu.look(|world| world.mood.history.calls > 0), asks);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_without_a_history_stops_no_turn() {
    let team = Team::start(vec![("Alpha", echo("Alpha", "{}"))], json!({})).await;
    team.agents[0].feishu.tune(|world| world.mood.minimal = true);
    team.write(GROUP, "ou_bob", "hello", &[0]);
    team.hears(0, "Alpha says: hello").await;
    assert!(team.agents[0].project.log().contains("history refused"), "{}", team.agents[0].project.log());
}

/// Asks until the platform has refused to tell, at most for as long as it is left alone after a failure.
async fn until_refused(team: &Team, asked: &mut usize, is_so: impl Fn() -> bool) {
    for _ in 0..30 {
        *asked += 1;
        team.write(GROUP, "ou_bob", &format!("question {asked}"), &[0]);
        team.hears(0, &format!("Alpha says: question {asked}")).await;
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    panic!("it was not asked");
}
