//! Approvals in the console, in a real browser with a real daemon: pending, decided, history.

use serde_json::json;

use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::webdriver::{Colours, Viewport, key};

const EN: &str = "en-GB,en";
const ZH: &str = "zh-CN,zh";

const CONFIG: &str =
    "# Harbour\n\n[mooring]\nlines = 2\nfenders = 4\n\n[crew]\nsize = 3\nwatch = \"night\"\n";

fn asking(model: &FakeModel) -> Project {
    Project::with_model(&model.url(), json!({ "name": "harbour", "queue": { "mergeMs": 0 } }))
}

fn shell(command: &str) -> Reply {
    Reply::calls([("exec_shell", json!({ "command": command }))])
}

fn step(state: &str) -> String {
    format!("document.querySelector('[data-testid=tool-step][data-state={state}]')")
}

impl Console {
    async fn history(&self) -> Vec<String> {
        self.browser.click(&part("inbox-tab-history")).await;
        self.until_visible("history-item", true).await;
        let rows = "[...document.querySelectorAll('[data-testid=history-item]')].map((row) => row.innerText)";
        serde_json::from_value(self.browser.eval(rows).await).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_as_a_diff_in_the_inbox_approved_there_and_watched() {
    let edit =
        json!({ "path": "harbour.toml", "old": "fenders = 4\n", "new": "fenders = 6\nlights = \"green\"\n" });
    let model = FakeModel::start([
        Reply::calls([("edit_file", edit)]),
        Reply::text("Two more fenders, and the lights are green."),
    ])
    .await;
    let project = asking(&model);
    project.write("harbour.toml", CONFIG);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.until_count("inbox", "0").await;
    console.say("make the berth ready for the big ship").await;

    // The thread shows the question, and the header counts it.
    console.until_visible("approval", true).await;
    console.until_count("inbox", "1").await;
    assert!(console.until("document.title.startsWith('● (1) ')").await == true);
    assert_eq!(console.text_of(&part("approval-summary")).await, "A1 · edit_file harbour.toml");
    console.browser.picture("approval-thread-light").await;

    console.open_panel("inbox").await;
    console.until_visible("inbox-item", true).await;
    let card = console.text_of(&part("inbox-item")).await;
    for expected in
        ["A1", "edit_file harbour.toml", "medium risk", "asked by operator (Web)", "expires in 24 hours"]
    {
        assert!(card.contains(expected), "{expected} in {card}");
    }
    let lines = |kind: &str| {
        format!(
            "[...document.querySelectorAll('[data-testid=inbox-item] .{kind}')].map((line) => line.textContent.trim())"
        )
    };
    assert_eq!(
        console.browser.eval(&lines("diff-add")).await,
        json!(["+fenders = 6", "+lights = \"green\""])
    );
    assert_eq!(console.browser.eval(&lines("diff-del")).await, json!(["-fenders = 4"]));
    assert_eq!(
        console.text_of(&part("inbox-thread")).await,
        "make the berth ready for the big ship",
        "the thread by its title"
    );
    console.browser.picture("approvals-light").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("approvals-dark").await;

    console.browser.click("[data-testid=inbox-item] [data-testid=answer-approve]").await;
    console.until_count("inbox", "0").await;
    console.until_visible("inbox-note", true).await;
    let history = console.history().await;
    assert_eq!(history.len(), 1, "{history:?}");
    for expected in ["A1", "edit_file harbour.toml", "approved by operator (Web)", "Today", "in the console"]
    {
        assert!(history[0].contains(expected), "{expected} in {history:?}");
    }
    console.browser.picture("approvals-history-dark").await;
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("inbox", false).await;
    console.until(&step("output-available")).await;
    console.until("document.querySelector('.part-text')?.innerText.startsWith('Two more fenders')").await;
    console.until_idle().await;
    let text = std::fs::read_to_string(project.path().join("harbour.toml")).unwrap();
    assert!(text.contains("fenders = 6\nlights = \"green\"\n"), "{text}");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_is_approved_with_a_scope_or_denied_in_the_thread_itself() {
    let model = FakeModel::start([
        shell("touch one.txt"),
        Reply::text("Made."),
        shell("touch one.txt"),
        Reply::text("Made again."),
        shell("rm one.txt"),
        Reply::text("Left alone."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("make one.txt").await;
    console.until_visible("approval", true).await;
    // Escape stops a turn, but withdraws no request.
    console.browser.press(&key::ESCAPE.to_string()).await;
    let pending = daemon.get_json("/api/approvals?state=pending").await;
    assert_eq!(pending["approvals"].as_array().map(Vec::len), Some(1), "{pending}");
    // By keyboard: from the button to the menu beside it and back.
    console
        .until(
            "document.querySelector('[data-testid=approval] [data-testid=answer-approve]').focus() ?? true",
        )
        .await;
    console.browser.press(&key::TAB.to_string()).await;
    console.until("document.activeElement.dataset.testid === 'scope'").await;
    console.browser.type_into("[data-testid=approval] [data-testid=scope]", "in this").await;
    assert_eq!(console.browser.eval("document.activeElement.value").await, "thread");
    console.browser.click("[data-testid=approval] [data-testid=answer-approve]").await;
    console.until("document.querySelector('.part-text')?.innerText === 'Made.'").await;
    console.until_idle().await;
    assert!(project.path().join("one.txt").exists());

    // The same call is covered by the grant, without a question.
    console.say("once more").await;
    console.until_newest("exec_shelltouch one.txtdoneMade again.").await;
    console.until_idle().await;

    console.say("now remove it").await;
    console.until_count("inbox", "1").await;
    console.browser.click("[data-testid=approval]:not([hidden]) [data-testid=answer-deny]").await;
    console.until(&step("output-denied")).await;
    console.until_count("inbox", "0").await;
    console.until_idle().await;
    assert!(project.path().join("one.txt").exists(), "what was denied was not done");
    console.open_panel("inbox").await;
    let history = console.history().await;
    assert!(
        history[0].contains("rm one.txt") && history[0].contains("denied by operator (Web)"),
        "{history:?}"
    );
    assert!(history[1].contains("touch one.txt") && history[1].contains("in this thread"), "{history:?}");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unclear_reply_is_asked_back_with_buttons_that_decide_exactly_one_approval() {
    let model = FakeModel::start([
        Reply::calls([
            ("exec_shell", json!({ "command": "touch one.txt" })),
            ("exec_shell", json!({ "command": "touch two.txt" })),
        ]),
        Reply::text("As you decided."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("make two files").await;
    console.until_count("inbox", "2").await;
    assert_eq!(console.browser.eval("document.querySelectorAll('[data-testid=ask-back]').length").await, 0);

    // Which of the two is meant is unclear: nothing is decided, and both are offered.
    console.say("ok").await;
    console.until("document.querySelectorAll('[data-testid=ask-back]').length === 2").await;
    let rows = "[...document.querySelectorAll('[data-testid=ask-back]')].map((row) => \
        [row.querySelector('.ask-back-number').innerText, \
         ...[...row.querySelectorAll('button')].map((button) => button.innerText)].join(' '))";
    assert_eq!(console.browser.eval(rows).await, json!(["A1 Approve Deny", "A2 Approve Deny"]));
    let pending = daemon.get_json("/api/approvals?state=pending").await["approvals"].clone();
    assert_eq!(pending.as_array().unwrap().len(), 2, "{pending}");
    console.browser.picture("ask-back-light").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("ask-back-dark").await;

    let row = |number: &str| {
        let id =
            pending.as_array().unwrap().iter().find(|one| one["number"] == number).unwrap()["id"].clone();
        format!("[data-testid=ask-back][data-approval-id={id}]")
    };
    console.browser.click(&format!("{} [data-testid=answer-approve]", row("A2"))).await;
    console.until_count("inbox", "1").await;
    let left = daemon.get_json("/api/approvals?state=pending").await["approvals"].clone();
    assert_eq!((left[0]["number"].as_str(), left.as_array().unwrap().len()), (Some("A1"), 1), "{left}");
    // The answered row offers nothing any more; the other one still does.
    let open = "[...document.querySelectorAll('[data-testid=ask-back]:has(button)')].map((row) => \
        row.querySelector('.ask-back-number').innerText)";
    assert_eq!(console.browser.eval(open).await, json!(["A1"]));
    console.browser.picture("ask-back-decided-dark").await;
    console.browser.click(&format!("{} [data-testid=answer-deny]", row("A1"))).await;
    console.until_count("inbox", "0").await;
    console.until_idle().await;
    console
        .until("[...document.querySelectorAll('.part-text')].some((part) => part.innerText === 'As you decided.')")
        .await;
    assert!(project.path().join("two.txt").exists() && !project.path().join("one.txt").exists());
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_second_is_told_who_was_first() {
    let model = FakeModel::start([shell("touch one.txt"), Reply::text("As you wish.")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, ZH).await;
    console.say("建一个文件").await;
    console.until_count("inbox", "1").await;
    console.open_panel("inbox").await;
    console.until_visible("inbox-item", true).await;
    // A page that has not received the update yet.
    console
        .browser
        .eval(
            "(window.fetch = ((real) => (path, options) => \
              /^.api.(threads$|approvals.state=pending)/.test(path) ? new Promise(() => {}) : real(path, options))(fetch), 1)",
        )
        .await;
    let pending = daemon.get_json("/api/approvals?state=pending").await;
    let id = pending["approvals"][0]["id"].as_str().unwrap();
    let denied =
        daemon.post(&format!("/api/approvals/{id}"), &json!({ "decision": "deny" })).send().await.unwrap();
    assert_eq!(denied.status(), 200);
    console.browser.click("[data-testid=inbox-item] [data-testid=answer-approve]").await;
    console.until_visible("answer-problem", true).await;
    assert_eq!(console.text_of(&part("answer-problem")).await, "A1 已有决定：operator（网页）已拒绝");
    assert!(!project.path().join("one.txt").exists());
    console.assert_only_network_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_command_says_how_far_it_is_under_its_step() {
    let model = FakeModel::start([
        shell("until [ -e go ]; do echo 'building part 7 of 9'; sleep 0.1; done; touch built"),
        Reply::text("Built."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("build it").await;
    console.browser.click("[data-testid=approval] [data-testid=answer-approve]").await;
    console.until_visible("tool-progress", true).await;
    assert_eq!(console.text_of(&part("tool-progress")).await, "… building part 7 of 9");
    console.browser.picture("tool-progress").await;
    project.write("go", "");
    console.until("document.querySelector('.part-text')?.innerText === 'Built.'").await;
    console.until_visible("tool-progress", false).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_the_inbox_asks_what_became_of_a_call() {
    let model = FakeModel::start([
        shell("touch begun; until [ -e go ]; do sleep 0.1; done"),
        Reply::text("Good to know."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, Viewport::Phone, EN).await;
    console.say("begin").await;
    console.browser.click("[data-testid=approval] [data-testid=answer-approve]").await;
    daemon.until("the call to begin", async |_| project.path().join("begun").exists()).await;
    daemon.kill();
    let daemon = project.start().await;
    let thread = daemon.get_json("/api/threads").await["threads"][0]["threadId"].as_str().unwrap().to_owned();
    daemon.until_state(&thread, "awaiting-approval").await;
    console.enter(&daemon, crate::fakes::daemon::TOKEN).await;
    console.until_count("inbox", "1").await;
    console.open_panel("inbox").await;
    console.until_visible("inbox-item", true).await;
    let card = console.text_of(&part("inbox-item")).await;
    for expected in ["Whether it was done is not known", "Run again", "Skip", "It was done"] {
        assert!(card.contains(expected), "{expected} in {card}");
    }
    console.browser.picture("approvals-unknown-phone").await;
    console.browser.click("[data-testid=inbox-item] [data-testid=answer-done]").await;
    console.until_count("inbox", "0").await;
    console.browser.click(&part("inbox-close")).await;
    daemon.until_state(&thread, "idle").await;
    let messages = daemon.get_json(&format!("/api/threads/{thread}/messages")).await;
    assert!(messages.to_string().contains("Good to know."), "{messages}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_says_what_keeps_commands_in() {
    let project = Project::new(json!({
        "llm": { "provider": "offline" }, "permissions": { "exec_shell": { "sandbox": "off" } },
    }));
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    assert_eq!(console.text_of(&part("sandbox")).await, "Sandbox off");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_decides_one_question_that_is_seen() {
    let model = FakeModel::start([
        Reply::calls([
            ("exec_shell", json!({ "command": "touch one.txt" })),
            ("exec_shell", json!({ "command": "touch two.txt" })),
        ]),
        Reply::text("Done."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("make two files").await;
    console.until_count("inbox", "2").await;
    let thread = console.thread().await;
    let pending = async || {
        let body = daemon.get_json("/api/approvals?state=pending").await;
        body["approvals"].as_array().unwrap().len()
    };
    // Behind a page nothing is decided, and neither while the key is held down.
    console.browser.click(&part("page-health")).await;
    console.until_visible("health-run", true).await;
    console.browser.press_with(key::ALT, 'y').await;
    console.browser.eval(&format!("(location.hash = '#/t/{thread}', 1)")).await;
    console.until_visible("approval-actions", true).await;
    let held = "document.dispatchEvent(new KeyboardEvent('keydown', { code: 'KeyY', key: 'y', altKey: true, repeat: true, bubbles: true }))";
    console.browser.eval(held).await;
    // Out of sight: the first press brings the question there.
    console.browser.eval("(document.querySelector('#log').style.paddingTop = '3000px', document.querySelector('#scroller').scrollTop = 0, 1)").await;
    console.until("document.querySelector('[data-testid=answer-approve]').getBoundingClientRect().top > innerHeight").await;
    console.browser.press_with(key::ALT, 'y').await;
    console.until("document.activeElement?.dataset.testid === 'answer-approve'").await;
    assert_eq!(pending().await, 2);
    console.browser.press_with(key::ALT, 'y').await;
    console.until_count("inbox", "1").await;
    assert_eq!(pending().await, 1);
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approve_all_means_what_was_listed_at_the_first_press() {
    let asks = |seen: &crate::fakes::fake_model::Seen| {
        let answered =
            seen.body["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
        let name = seen.last_user_text().to_owned();
        if answered { Reply::text("Made.") } else { shell(&format!("touch {name}.txt")) }
    };
    let model = FakeModel::start(crate::fakes::fake_model::Script::compute(asks)).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let ask = async |name: &str| {
        daemon.execute(json!({ "instructions": name, "chatId": name, "timeoutMs": 1 })).await;
        daemon.until_state(&format!("api:chat:{name}"), "awaiting-approval").await;
    };
    ask("one").await;
    ask("two").await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.until_count("inbox", "2").await;
    console.open_panel("inbox").await;
    console.browser.click(&part("approve-all")).await;
    console.until_told("approve-all-question", "Approve these 2, each once: A1, A2?").await;
    for (colours, name) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("approve-all-{name}")).await;
        console.assert_accessible().await;
    }
    ask("three").await;
    console.until("document.querySelectorAll('[data-testid=inbox-item]').length === 3").await;
    console.browser.click(&part("approve-all-yes")).await;
    console.until_count("inbox", "1").await;
    let left = daemon.get_json("/api/approvals?state=pending").await["approvals"].clone();
    assert_eq!((left[0]["number"].as_str(), left.as_array().unwrap().len()), (Some("A3"), 1), "{left}");
    assert!(!project.path().join("three.txt").exists());
    console.assert_no_complaints().await;
}
