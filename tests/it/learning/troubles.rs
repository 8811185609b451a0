//! A model that fails or answers nonsense: the thread goes on without a notice.

use serde_json::json;

use super::scene::{is_distil, is_summary, ledger, notes, project, questions, until};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};
use crate::fakes::prompt::check_prompts;

const ANN: &str = "web:user:ann";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rubbish_nothing_an_error_or_too_much_bothers_nobody() {
    type Case = (&'static str, fn() -> Reply);
    let cases: [Case; 6] = [
        ("rubbish", || Reply::text("I am sorry, I cannot do that. {\"memories\": [{]}")),
        ("nothing", || Reply::text("")),
        ("an error", || Reply::status(500, "oops")),
        ("too much", || {
            Reply::text(
                &json!({ "memories": vec![json!({ "ids": [1], "text": "word ".repeat(200) }); 2000] })
                    .to_string(),
            )
        }),
        ("a tool call", || Reply::calls([("exec_shell", json!({ "command": "ls" }))])),
        ("unknown ids", || Reply::text(r#"{"memories": [{"ids": [99], "text": "my dog is called Bo"}]}"#)),
    ];
    for (what, reply) in cases {
        let model = FakeModel::start(Script::compute(move |seen| {
            if is_distil(seen) || is_summary(seen) { reply() } else { Reply::text("Noted.") }
        }))
        .await;
        let project = project(&model.url(), 2, json!({ "llm": { "timeoutSecs": 8 } }));
        let daemon = InProcess::start(&project, &HandClock::evening());
        for turn in 0..8 {
            assert_eq!(
                daemon.say("c", &format!("my dog number {turn} is called Bo")).await,
                "Noted.",
                "{what}"
            );
        }
        until("a distil", || model.requests().iter().any(is_distil)).await;
        daemon.say("c", "/compact").await;
        assert_eq!(daemon.say("c", "still there?").await, "Noted.", "{what}");
        daemon.stop().await;
        assert_eq!(notes(&project, ANN), "", "{what}");
        assert!(questions(&project, "web:chat:c").is_empty(), "{what}");
        assert!(ledger(&project).iter().all(|line| line["op"] == "distil"), "{what}");
        let talk: Vec<_> = model.requests().into_iter().filter(|seen| !is_distil(seen)).collect();
        check_prompts(&talk);
    }
}
