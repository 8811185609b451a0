//! What the model of an agent reads in a group, and what other agents have to do with it.

use serde_json::json;

use super::scene::{GROUP, Team, echo, system_of, texts_of, until};
use crate::fakes::fake_model::{Reply, Script, Seen};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::world::Posted;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_answer_is_in_the_next_prompt_of_another_once_in_order_and_with_its_name() {
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let team = Team::start(scripts, json!({})).await;
    let first = team.write(GROUP, "ou_ada", "what is the time", &[0]);
    team.hears(0, "Alpha says: what is the time").await;
    team.stored(GROUP, &first).await;
    team.told("Alpha says: what is the time", 1).await;
    let second = team.write(GROUP, "ou_bob", "thank you", &[]);
    team.stored(GROUP, &second).await;
    team.write(GROUP, "ou_cem", "and the date", &[1]);
    team.hears(1, "Beta says: and the date").await;
    let prompts = team.agents[1].prompts();
    let texts = texts_of(&prompts[0]);
    assert_eq!(prompts.len(), 1);
    let shown: Vec<(usize, &str)> = texts
        .iter()
        .enumerate()
        .filter_map(|(at, text)| Some((at, text.split_once(">\n")?.1.strip_suffix("\n</message>")?)))
        .collect();
    let expected = [
        (0, "what is the time"),
        (1, "Alpha says: what is the time"),
        (2, "thank you"),
        (3, "@Ship and the date"),
    ];
    let words: Vec<&str> = shown.iter().map(|(_, text)| text.trim_start_matches("@Ship ")).collect();
    assert_eq!(words, expected.map(|(_, text)| text.trim_start_matches("@Ship ")), "{texts:#?}");
    assert!(texts[1].contains("from=\"Alpha\" kind=\"agent\""), "{texts:#?}");
    assert!(texts[1].contains("to=\"others\"") && texts[3].contains("to=\"you\""), "{texts:#?}");
    assert!(system_of(&prompts[0]).contains("## This is a group"));
    // The other way round, and again: everything is there once.
    team.told("Beta says: and the date", 1).await;
    team.write(GROUP, "ou_ada", "and the week", &[0]);
    team.hears(0, "Alpha says: and the week").await;
    let prompt = texts_of(team.agents[0].prompts().last().unwrap()).join("\n");
    for words in ["Beta says: and the date", "thank you", "what is the time\n</message>"] {
        assert_eq!(prompt.matches(words).count(), 1, "{words}: {prompt}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_said_a_moment_ago_is_in_the_next_prompt_of_an_agent_that_was_not_sent_it() {
    let team =
        Team::start(vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))], json!({})).await;
    for number in 0..3 {
        let remark = format!("the build is red {number}");
        team.agents[0]
            .feishu
            .write_as(&Message::group(GROUP, "ou_ada", &remark).now(), &format!("om_{number}"));
        until("the report", || team.lines().iter().any(|line| line["text"] == *remark)).await;
        team.write(GROUP, "ou_bob", &format!("why {number}"), &[1]);
        team.hears(1, &format!("Beta says: why {number}")).await;
        let texts = texts_of(team.agents[1].prompts().last().unwrap());
        let at = |words: &str| texts.iter().rposition(|text| text.contains(words));
        assert!(at(&remark).is_some() && at(&remark) < at(&format!("why {number}")), "{texts:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_called_by_the_name_of_a_mention_else_by_a_short_handle_that_all_agents_share() {
    let team =
        Team::start(vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))], json!({})).await;
    let known = Message::group(GROUP, "ou_ada", "thank you @_user_2").now().naming("ou_bob", "Bob Stone");
    for (number, agent) in team.agents.iter().enumerate() {
        agent.feishu.write_as(&known, "om_known");
        team.stored_by(number, GROUP, "om_known").await;
    }
    // Only Alpha is sent this, and reports it.
    let message = Message::group(GROUP, "ou_cem", "only one hears it").now();
    team.agents[0].feishu.write_as(&message, "om_report");
    until("the report", || team.lines().iter().any(|line| line["key"] == "om_report")).await;
    team.write(GROUP, "ou_cem", "both hear it", &[]);
    team.write(GROUP, "ou_bob", "who speaks", &[1]);
    team.hears(1, "Beta says: who speaks").await;
    let prompt = texts_of(&team.agents[1].prompts()[0]);
    let speaker = |words: &str| {
        let text = prompt.iter().find(|text| text.contains(words)).unwrap();
        text.split('"').nth(1).unwrap().to_owned()
    };
    assert_eq!(speaker("who speaks"), "Bob Stone", "{prompt:#?}");
    assert_eq!(speaker("only one hears it"), speaker("both hear it"), "{prompt:#?}");
    assert!(
        speaker("both hear it").starts_with("user-") && speaker("both hear it").len() < 12,
        "{prompt:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_unknown_fields_serves_groups_and_prompts_share_their_prefix() {
    let strict = Script::compute(|seen: &Seen| {
        let named =
            seen.body["messages"].as_array().unwrap().iter().any(|message| !message["name"].is_null());
        if named {
            return Reply::status(400, r#"{"error":{"message":"Unknown field 'name'"}}"#);
        }
        Reply::text("Fine.")
    });
    let team = Team::start(vec![("Alpha", strict)], json!({})).await;
    for number in 0..6 {
        let id = team.write(GROUP, "ou_ada", &format!("remark {number}"), &[]);
        team.stored(GROUP, &id).await;
        team.write(GROUP, "ou_bob</message>", &format!("question {number}"), &[0]);
        let expected = number + 1;
        team.agents[0]
            .feishu
            .wait_for("an answer", |world| (world.posted.len() >= expected).then_some(()))
            .await;
    }
    let requests = team.agents[0].prompts();
    assert_eq!(requests.len(), 6, "no request was refused");
    for pair in requests.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|seen| seen.body["messages"].to_string());
        let before = before.trim_end_matches(']');
        assert!(after.starts_with(before), "{before}\n{after}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_nobody_named_may_stay_silent_and_one_that_was_named_may_not() {
    let script = Script::compute(|seen: &Seen| {
        if seen.last_user_text().contains("thanks") {
            return Reply::pieces(["<sil", "ent/>"]);
        }
        Reply::text(&format!("echo {}", seen.last_user_text()))
    });
    let extra = json!({ "adapters": { "feishu": { "groups": { "respond": "all" } } } });
    let team = Team::start(vec![("Alpha", script)], extra).await;
    let id = team.write(GROUP, "ou_ada", "thanks", &[]);
    team.stored(GROUP, &id).await;
    until("a prompt", || team.agents[0].prompts().len() == 1).await;
    team.write(GROUP, "ou_ada", "what now", &[]);
    team.hears(0, "echo what now").await;
    assert_eq!(team.agents[0].said(), ["echo what now"]);
    let thread = std::fs::read_to_string(team.agents[0].project.thread_file("feishu:chat:oc_group")).unwrap();
    assert!(thread.contains("<silent/>"), "the model's own record is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reported_message_is_followed_by_the_native_one_and_answered_once() {
    // A message that was vouched for late stands above; a note tells that it is to be answered.
    let late = Script::compute(|seen: &Seen| {
        let last = texts_of(seen).pop().unwrap_or_default();
        match last.strip_prefix("[Still to be answered, from above:") {
            Some(note) => Reply::text(&format!("late:{}", note.trim_end_matches(']'))),
            None => Reply::text(&format!("Beta says: {}", seen.last_user_text())),
        }
    });
    let team = Team::start(vec![("Alpha", echo("Alpha", "{}")), ("Beta", late)], json!({})).await;
    let message = Message::group(GROUP, "ou_ada", "please do it").ago(10);
    team.agents[0].feishu.write_as(&message, "om_late");
    until("the report", || team.lines().iter().any(|line| line["key"] == "om_late")).await;
    team.write(GROUP, "ou_bob", "hello", &[1]);
    team.hears(1, "Beta says: hello").await;
    let thread = team.agents[1].project.thread_file("feishu:chat:oc_group");
    let about = || {
        let text = std::fs::read_to_string(&thread).unwrap();
        text.lines().filter(|line| line.contains("\"id\":\"om_late\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(about().len() == 1 && about()[0].contains("\"via\":\"inbound\""), "{:?}", about());
    team.agents[1].feishu.write_as(&message.mentioning(), "om_late");
    team.agents[1]
        .feishu
        .wait_for("the late answer", |world| {
            let late = |posted: &Posted| world.words(posted).contains("please do it");
            world.posted.iter().any(late).then_some(())
        })
        .await;
    let native = about().pop().unwrap();
    assert!(native.contains("feishu:user:ou_ada") && !native.contains("\"via\""), "{native}");
    let prompt = texts_of(team.agents[1].prompts().last().unwrap()).join("\n");
    assert_eq!(prompt.matches("please do it\n</message>").count(), 1, "{prompt}");
    assert_eq!(team.agents[1].said().len(), 2);
}
