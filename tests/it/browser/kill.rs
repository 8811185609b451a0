//! A pending approval in the console while the daemon is killed and restarted: the existing buttons still decide.

use serde_json::json;

use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Daemon, Project, TOKEN};
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};

const EN: &str = "en-GB,en";

/// Appends a line each time it runs, and prints something.
const COMMAND: &str = "echo ran >> trace.txt; echo the ship is moored";

/// The buttons: under the question in the thread, and in the inbox.
const IN_THREAD: &str = "[data-testid=approval] [data-testid=answer-approve]";
const IN_INBOX: &str = "[data-testid=inbox-item] [data-testid=answer-approve]";

/// Calls the command, and answers once it has the result. The same for every daemon.
fn mooring(seen: &Seen) -> Reply {
    let last = seen.body["messages"].as_array().and_then(|messages| messages.last());
    match last {
        Some(last) if last["role"] == "tool" => Reply::text("She lies fast."),
        _ => Reply::calls([("exec_shell", json!({ "command": COMMAND }))]),
    }
}

/// A pending approval in a console.
struct Asked {
    model: FakeModel,
    project: Project,
    daemon: Daemon,
    console: Console,
    approval: String,
}

impl Asked {
    async fn new() -> Self {
        let model = FakeModel::start(Script::compute(mooring)).await;
        let project =
            Project::with_model(&model.url(), json!({ "name": "harbour", "queue": { "mergeMs": 0 } }));
        let daemon = project.start().await;
        project.keep_address(&daemon);
        let console = Console::open(&daemon, DESKTOP, EN).await;
        console.say("moor the ship").await;
        console.until_visible("approval", true).await;
        console.until_count("inbox", "1").await;
        let approval = console.browser.eval(&id_of(IN_THREAD)).await;
        let approval = approval.as_str().unwrap().to_owned();
        Self { model, project, daemon, console, approval }
    }

    /// Marks a button, which must stay the same element to the end.
    async fn keep(&self, button: &str) {
        self.console.until(&format!("(window.kept = document.querySelector('{button}')) && true")).await;
    }

    /// kill -9, with the page open.
    async fn kill(self) -> Dead {
        let Self { model, project, daemon, console, approval } = self;
        daemon.kill();
        console
            .until("document.querySelector('[data-testid=connection]').dataset.state === 'reconnecting'")
            .await;
        assert!(!project.path().join("trace.txt").exists());
        Dead { model, project, console, approval }
    }
}

/// The same while no daemon runs.
struct Dead {
    model: FakeModel,
    project: Project,
    console: Console,
    approval: String,
}

impl Dead {
    async fn start(self) -> Asked {
        let Self { model, project, console, approval } = self;
        let daemon = project.start().await;
        Asked { model, project, daemon, console, approval }
    }
}

impl Asked {
    /// Pressing the button completes the turn.
    async fn approve_and_watch(self, button: &str) {
        let Self { model, project, daemon, console, approval } = self;
        assert_eq!(console.browser.eval(&id_of(button)).await, json!(approval), "the same question");
        console.browser.click(button).await;
        console.until_count("inbox", "0").await;
        console.until("document.querySelector('[data-testid=tool-step][data-state=output-available]')").await;
        console.until("document.querySelector('.part-text')?.innerText === 'She lies fast.'").await;
        console.until_idle().await;
        assert!(!console.sees("approval").await, "nothing is asked any more");

        // One question, one turn with the call, its output and the answer.
        if console.sees("inbox").await {
            console.browser.click(&part("inbox-close")).await;
        }
        let roles: Vec<String> = console.messages().await.into_iter().map(|(role, _)| role).collect();
        assert_eq!(roles, ["user", "assistant"]);
        console.browser.click("[data-testid=tool-step] > summary").await;
        console
            .until("document.querySelector('[data-testid=tool-step] .io-output')?.innerText.includes('the ship is moored')")
            .await;
        console.browser.picture("approved-after-a-kill").await;
        let trace = std::fs::read_to_string(project.path().join("trace.txt")).unwrap();
        assert_eq!(trace, "ran\n", "exactly once");
        assert_eq!(model.requests().len(), 2, "the model was not asked for the call again");
        console.assert_only_network_complaints().await;
        assert!(daemon.stop().await.success());
    }
}

fn id_of(button: &str) -> String {
    format!("document.querySelector('{button}').closest('[data-approval-id]').dataset.approvalId")
}

fn is_kept(button: &str) -> String {
    format!("window.kept?.isConnected && window.kept === document.querySelector('{button}')")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_very_same_button_approves_after_the_daemon_was_killed_and_started() {
    let asked = Asked::new().await;
    asked.keep(IN_THREAD).await;
    let dead = asked.kill().await;
    // A failed press shows an error, and the button can be pressed again.
    dead.console.browser.click(IN_THREAD).await;
    dead.console.until_visible("answer-problem", true).await;
    assert_eq!(dead.console.text_of(&part("answer-problem")).await, "Daemon not reachable");
    dead.console.browser.picture("approval-unreachable").await;
    let asked = dead.start().await;
    asked.console.until_connected().await;
    assert_eq!(asked.console.browser.eval(&is_kept(IN_THREAD)).await, true, "neither reloaded nor rebuilt");
    asked.approve_and_watch(IN_THREAD).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_button_works_at_once_before_the_page_has_found_the_daemon_again() {
    let asked = Asked::new().await;
    asked.keep(IN_THREAD).await;
    let asked = asked.kill().await.start().await;
    assert_eq!(asked.console.browser.eval(&is_kept(IN_THREAD)).await, true);
    asked.approve_and_watch(IN_THREAD).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_loaded_anew_after_a_kill_asks_the_same_question() {
    let asked = Asked::new().await.kill().await.start().await;
    asked.console.browser.reload().await;
    asked.console.until_connected().await;
    asked.console.until_visible("approval", true).await;
    asked.console.until_count("inbox", "1").await;
    asked.approve_and_watch(IN_THREAD).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_that_was_open_during_a_kill_finds_its_questions_again() {
    let asked = Asked::new().await;
    asked.console.open_panel("inbox").await;
    asked.console.until_visible("inbox-item", true).await;
    asked.keep(IN_INBOX).await;
    let dead = asked.kill().await;
    // Loading the history fails with an error, which must disappear later.
    dead.console.browser.click(&part("inbox-tab-history")).await;
    dead.console
        .until("document.querySelector('[data-testid=inbox-note]').innerText === 'Daemon not reachable'")
        .await;
    let asked = dead.start().await;
    asked.console.until("document.querySelector('[data-testid=inbox-note]').innerText.startsWith('Nothing has been decided')").await;
    asked.console.browser.click(&part("inbox-tab-pending")).await;
    asked.console.until_visible("inbox-item", true).await;
    assert_eq!(asked.console.browser.eval(&is_kept(IN_INBOX)).await, true);
    asked.approve_and_watch(IN_INBOX).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_denied_in_the_moment_before_a_kill_is_not_asked_again_in_the_page() {
    let asked = Asked::new().await;
    // Decided elsewhere just before: the page learns it only from the restarted daemon.
    let path = format!("/api/approvals/{}", asked.approval);
    let answer = asked.daemon.post(&path, &json!({ "decision": "deny" })).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let Asked { model, project, daemon, console, approval: _ } = asked;
    daemon.kill();
    let daemon = project.start().await;
    console.until_connected().await;
    console.until_count("inbox", "0").await;
    console.until_visible("approval", false).await;
    console.until("document.querySelector('[data-testid=tool-step][data-state=output-denied]')").await;
    console.until_idle().await;
    assert!(!project.path().join("trace.txt").exists());
    console.enter(&daemon, TOKEN).await;
    console.until("document.querySelector('[data-testid=tool-step][data-state=output-denied]')").await;
    console.assert_only_network_complaints().await;
    drop(model);
    assert!(daemon.stop().await.success());
}
