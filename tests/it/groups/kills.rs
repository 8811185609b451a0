//! An agent that dies between sending, telling, reading and storing: nothing is lost and nothing comes twice.

use serde_json::json;

use super::scene::{GROUP, Team, echo, texts_of, until};
use crate::fakes::feishu::people::Message;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_between_send_line_and_receipt_leaves_one_message_for_the_others() {
    for step in ["sent-not-told", "told-not-recorded"] {
        let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
        let mut team = Team::start(scripts, json!({})).await;
        team.agents[0].daemon.take().unwrap().kill();
        let mut command = team.agents[0].project.command(&["run"]);
        command.env("SHIPAGENT_FAIL_POINT", step);
        let daemon = crate::fakes::daemon::Daemon::start(command, team.agents[0].project.path()).await;
        let id = team.write(GROUP, "ou_ada", "what is the time", &[0]);
        team.hears(0, "Alpha says: what is the time").await;
        assert!(!daemon.ended().await.success());
        team.agents[0].start().await;
        until("the line", || team.lines().iter().any(|line| line["via"] == "outbound")).await;
        team.stored(GROUP, &id).await;
        team.write(GROUP, "ou_bob", "and the date", &[1]);
        team.hears(1, "Beta says: and the date").await;
        let prompt = texts_of(&team.agents[1].prompts()[0]).join("\n");
        assert_eq!(prompt.matches("Alpha says: what is the time").count(), 1, "{step}: {prompt}");
        assert_eq!(team.agents[0].said().len(), 1, "{step}: the platform recognises the repeat");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_between_reading_a_line_and_storing_it_takes_it_over_again() {
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let mut team = Team::start(scripts, json!({})).await;
    let id = team.write(GROUP, "ou_ada", "what is the time", &[0]);
    team.hears(0, "Alpha says: what is the time").await;
    team.stored(GROUP, &id).await;
    until("the line", || team.lines().iter().any(|line| line["via"] == "outbound")).await;
    team.agents[1].daemon.take().unwrap().kill();
    let mut command = team.agents[1].project.command(&["run"]);
    command.env("SHIPAGENT_FAIL_POINT", "room-lines-read");
    let daemon = crate::fakes::daemon::Daemon::start(command, team.agents[1].project.path()).await;
    team.write(GROUP, "ou_bob", "and the date", &[1]);
    assert!(!daemon.ended().await.success());
    team.agents[1].start().await;
    team.hears(1, "Beta says: and the date").await;
    let prompt = texts_of(&team.agents[1].prompts()[0]).join("\n");
    assert_eq!(prompt.matches("Alpha says: what is the time").count(), 1, "{prompt}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_stored_and_not_told_is_told_after_the_restart_behind_a_torn_line() {
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let mut team = Team::start(scripts, json!({})).await;
    let id = team.write(GROUP, "ou_ada", "hello", &[]);
    team.stored(GROUP, &id).await;
    until("the first line", || !team.lines().is_empty()).await;
    team.agents[0].daemon.take().unwrap().kill();
    let mut command = team.agents[0].project.command(&["run"]);
    command.env("SHIPAGENT_FAIL_POINT", "stored-not-told");
    let daemon = crate::fakes::daemon::Daemon::start(command, team.agents[0].project.path()).await;
    let message = Message::group(GROUP, "ou_ada", "only Alpha is sent this").now();
    team.agents[0].feishu.write_as(&message, "om_stored");
    assert!(!daemon.ended().await.success());
    team.stored_by(0, GROUP, "om_stored").await;
    assert!(team.lines().iter().all(|line| line["key"] != "om_stored"));
    // Another process died in the middle of a line.
    team.tear("{\"v\":1,\"kind\":\"said\",\"key\":\"om_torn");
    team.agents[0].start().await;
    // The platform was not told that the message was received.
    team.agents[0].feishu.write_again(&message, "om_stored");
    until("the line", || team.lines().iter().any(|line| line["key"] == "om_stored")).await;
    team.write(GROUP, "ou_bob", "and the date", &[1]);
    team.hears(1, "Beta says: and the date").await;
    let prompt = texts_of(&team.agents[1].prompts()[0]).join("\n");
    assert_eq!(prompt.matches("only Alpha is sent this").count(), 1, "{prompt}");
}
