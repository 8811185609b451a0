//! Questions with buttons, and their settlement.

use shipagent::adapters::chat::Menu;
use shipagent::adapters::telegram::ChatTarget;
use shipagent::domain::{
    Approval, ApprovalId, ApprovalKind, ApprovalNumber, ApprovalState, Intent, Language, Risk, ScopeKind,
    Timestamp,
};

use shipagent::ports::Attempt;

use super::scene::{ANN, FORUM, GROUP, SenderScene, draft, entry, thread, topic};
use crate::fakes::telegram::answer::Refusal;
use crate::fakes::telegram::fault::Fault;

const ID: &str = "apr_0123456789abcdef0123456789abcdef";

fn id() -> ApprovalId {
    ID.parse().unwrap()
}

fn question(details: &str) -> Intent {
    Intent::ApprovalRequest {
        approval_id: id(),
        number: "A1".to_owned(),
        kind: ApprovalKind::Tool,
        language: Language::En,
        summary: "rm -r out".to_owned(),
        risk: Risk::High,
        details: Some(details.to_owned()),
        scopes: ALL_SCOPES.to_vec(),
        suggested_replies: vec!["approve A1".to_owned(), "deny A1".to_owned()],
        expires_at: Timestamp::from_millis(0).rfc3339(),
    }
}

const ALL_SCOPES: [ScopeKind; 5] =
    [ScopeKind::Once, ScopeKind::Thread, ScopeKind::Minutes, ScopeKind::Shape, ScopeKind::Project];

fn resolved() -> Intent {
    Intent::ApprovalResolved { approval_id: id(), text: "✅ **A1** approved by Ann".to_owned() }
}

fn approval() -> Approval {
    Approval {
        id: id(),
        number: ApprovalNumber(1),
        kind: ApprovalKind::Tool,
        thread: thread(ANN),
        correlation: "run_1".parse().unwrap(),
        tool_call: "call_1".parse().unwrap(),
        tool: "exec_shell".to_owned(),
        input: serde_json::json!({}),
        summary: "rm -r out".to_owned(),
        details: None,
        risk: Risk::High,
        scopes: ALL_SCOPES.to_vec(),
        memory_scope: Default::default(),
        owners_only: false,
        asked_in: Vec::new(),
        fingerprint: String::new(),
        requested_by: "telegram:user:7".parse().unwrap(),
        created_at: Timestamp::from_millis(0),
        expires_at: Timestamp::from_millis(0),
        state: ApprovalState::Pending,
    }
}

#[tokio::test]
async fn a_question_has_buttons_and_its_message_then_says_who_decided() {
    let scene = SenderScene::new().await;
    let deploys = scene.fake.group(FORUM).topic("Deploys");
    let place = topic(FORUM, deploys);
    let receipt = scene.deliver(entry(&place, "run_1", 0, question("- it deletes"))).await.unwrap();
    let seen = scene.fake.read(|world| world.visible(FORUM).last().unwrap().clone());
    assert_eq!(receipt.platform_message, Some(seen.id.to_string()));
    assert_eq!(seen.topic, Some(deploys));
    assert_eq!(seen.labels(), ["✅ Approve", "❌ Deny", "Approve for longer …"]);
    assert!(seen.text.starts_with("🔴 A1: may I do this?\n\nrm -r out\n\n"), "{}", seen.text);
    assert!(seen.text.contains("it deletes") && seen.text.contains("approve A1"), "{}", seen.text);
    let scene = scene.restarted().await;
    for _ in 0..2 {
        scene.deliver(entry(&place, "run_1", 1, resolved())).await.unwrap();
    }
    let seen = scene.fake.read(|world| world.visible(FORUM));
    assert_eq!(seen.len(), 1, "the outcome stands on the question");
    assert_eq!(seen[0].text, "🔴 A1: may I do this?\n\nrm -r out\n\n✅ A1 approved by Ann");
    assert!(seen[0].labels().is_empty());
}

#[tokio::test]
async fn the_outcome_stands_on_the_question_also_when_the_server_was_broken_for_a_while() {
    for broken in [Fault::BadGateway, Fault::Refuse(Refusal::new(502, "Bad Gateway"))] {
        let scene = SenderScene::new().await;
        scene.deliver(entry(&thread(ANN), "run_1", 0, question("- why"))).await.unwrap();
        scene.fake.plan(broken.times(4).on("editMessageText"));
        let outcome = entry(&thread(ANN), "run_1", 1, resolved());
        for attempt in 1..=4 {
            assert!(scene.sender.deliver(outcome.clone(), Attempt::nth(attempt)).await.is_err(), "{attempt}");
        }
        scene.sender.deliver(outcome, Attempt::nth(5)).await.unwrap();
        let seen = scene.fake.read(|world| world.visible(ANN));
        assert_eq!(seen.len(), 1);
        assert!(seen[0].text.ends_with("approved by Ann") && seen[0].labels().is_empty(), "{seen:?}");
    }
}

#[tokio::test]
async fn the_outcome_of_a_question_nobody_remembers_is_said_all_the_same() {
    let scene = SenderScene::new().await;
    scene.deliver(entry(&thread(ANN), "run_1", 1, resolved())).await.unwrap();
    assert_eq!(scene.texts(ANN), ["✅ A1 approved by Ann"]);
}

#[tokio::test]
async fn the_menu_of_scopes_replaces_the_buttons_and_goes_back() {
    let scene = SenderScene::new().await;
    scene.deliver(entry(&thread(ANN), "run_1", 0, question("- why"))).await.unwrap();
    let labels = || {
        let seen = scene.fake.read(|world| world.visible(ANN)[0].clone());
        (seen.id, seen.labels().into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let (message, first) = labels();
    let place = ChatTarget { chat: ANN, topic: None };
    scene.sender.show_menu(&place, message, &approval(), Menu::Scopes).await;
    assert_eq!(labels().1.len(), 6);
    scene.sender.show_menu(&place, message, &approval(), Menu::First).await;
    assert_eq!(labels().1, first);
}

#[tokio::test]
async fn a_question_that_is_too_long_shows_both_ends_in_one_message() {
    let scene = SenderScene::new().await;
    let diff = format!("```diff\n{}+the end\n```", "+ a line of the diff\n".repeat(600));
    scene.fake.plan(Fault::too_many(0).once().on("sendMessage"));
    let asked = entry(&thread(GROUP), "run_1", 0, question(&diff));
    assert!(scene.deliver(asked.clone()).await.is_err());
    scene.deliver(asked).await.unwrap();
    let seen = scene.fake.read(|world| world.visible(GROUP));
    let seen: Vec<_> = seen.iter().filter(|seen| seen.by_bot).collect();
    assert_eq!(seen.len(), 1);
    let text = &seen[0].text;
    assert!(text.contains("+the end") && text.contains(" characters left out …]"), "{text}");
    assert!(text.contains("approve A1") && seen[0].labels().len() == 3, "{text}");
}

#[tokio::test]
async fn a_question_takes_the_place_of_what_was_shown() {
    let scene = SenderScene::new().await;
    let shown = "I am going to clean up the folder now";
    scene
        .show_until(&[draft(&thread(GROUP), "run_1", shown)], |world| world.bot_texts(GROUP) == [shown])
        .await;
    scene.deliver(entry(&thread(GROUP), "run_1", 0, question("- why"))).await.unwrap();
    let texts = scene.texts(GROUP);
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("may I do this"), "{texts:?}");
}
