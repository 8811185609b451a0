//! The display of a conversation.

use serde_json::json;

use super::project::{EN, ZH, asking, offline};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::fake_model::{FakeModel, Latch, Reply};
use crate::fakes::webdriver::{Colours, Viewport, key};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_grows_while_the_model_still_speaks() {
    let gate = Latch::new();
    let model =
        FakeModel::start([Reply::pieces(["The first half, ", "and the rest."]).gated_after(2, &gate)]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("tell me all").await;
    console.until_newest("The first half,").await;
    console.until_visible("stop", true).await;
    assert!(console.until("document.title.startsWith('●')").await == true);
    gate.open();
    console.until_messages(&[("user", "tell me all"), ("assistant", "The first half, and the rest.")]).await;
    console.until_visible("stop", false).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_step_shows_what_went_in_and_what_came_out() {
    let gate = Latch::new();
    let calls = Reply::calls([
        ("read_file", json!({ "path": "notes.txt" })),
        ("read_file", json!({ "path": "gone.txt" })),
    ]);
    let model = FakeModel::start([calls, Reply::text("Buy milk.").behind(&gate)]).await;
    let project = asking(&model);
    project.write("notes.txt", "buy milk\n");
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("what do my notes say?").await;
    let step = |state: &str| format!("[data-testid=tool-step][data-tool=read_file][data-state={state}]");
    // The steps are shown during the turn.
    console
        .until(&format!(
            "document.querySelector('{}') && document.querySelector('{}')",
            step("output-available"),
            step("output-error")
        ))
        .await;
    console.browser.click(&format!("{} > summary", step("output-available"))).await;
    console
        .until(&format!(
            "document.querySelector('{}').innerText.includes('buy milk')",
            step("output-available")
        ))
        .await;
    gate.open();
    console.until("document.querySelector('.part-text')?.innerText === 'Buy milk.'").await;
    console.until_idle().await;
    assert_eq!(
        console.browser.eval(&format!("document.querySelector('{}').open", step("output-available"))).await,
        true,
        "it stays open"
    );
    console.browser.click(&format!("{} > summary", step("output-error"))).await;
    console
        .until(&format!(
            "document.querySelector('{} .io-error')?.innerText.includes('gone.txt')",
            step("output-error")
        ))
        .await;
    console.browser.picture("tool-steps").await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_is_told_in_the_language_of_the_page_and_in_the_providers_own_words() {
    let refused =
        Reply::status(401, r#"{"error":{"message":"Incorrect API key: sk-test-canary-123456 (org 7)"}}"#);
    let model = FakeModel::start(refused).await;
    let project = asking(&model);
    let daemon = project.start().await;
    for (name, language, question, title, words) in [
        ("en", EN, "are you there?", "Something went wrong", "The model refused the API key."),
        ("zh", ZH, "你在吗？", "出错了", "模型拒绝了 API 密钥。"),
    ] {
        let console = Console::open(&daemon, DESKTOP, language).await;
        console.say(question).await;
        let shown = console.text_of(&part("error")).await;
        assert!(shown.contains(title) && shown.contains(words), "{shown}");
        // The reader of the page operates the agent: the provider's own words are shown, without the key.
        assert!(shown.contains("Incorrect API key") && shown.contains("(org 7)"), "{shown}");
        assert!(!shown.contains("sk-test"), "{shown}");
        console.until_idle().await;
        assert_eq!(
            console.browser.eval("document.querySelectorAll('[data-testid=error]').length").await,
            1,
            "told once"
        );
        console.browser.picture(&format!("error-{name}")).await;
        console.browser.reload().await;
        assert!(console.text_of(&part("error")).await.contains(words), "it is still told after a reload");
        console.assert_no_complaints().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_frees_a_conversation_whose_model_hangs() {
    let model =
        FakeModel::start([Reply::hang(), Reply::text("Half of it").hang_after(3), Reply::text("Here I am.")])
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("first").await;
    console.until_visible("stop", true).await;
    model.wait_for_requests(1).await;
    console.browser.click(&part("stop")).await;
    console.until_visible("stop", false).await;

    console.say("second").await;
    console.until_newest("Half of").await;
    // Escape stops as well.
    console.browser.press(&key::ESCAPE.to_string()).await;
    console.until_visible("stop", false).await;
    console.until("[...document.querySelectorAll('.mark-word')].some((mark) => mark.checkVisibility() && mark.innerText === 'Stopped')").await;
    console.browser.picture("stopped").await;

    console.say("third").await;
    console.until_newest("Here I am.").await;
    console.until_idle().await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_leave_a_note_and_not_a_message() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("/help").await;
    let note = console.text_of(".note").await;
    for command in ["/help", "/status", "/stop", "/new"] {
        assert!(note.contains(command), "{note}");
    }
    console.say("/new").await;
    console.until("document.querySelector('.divider')").await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.browser.picture("commands").await;
    console.browser.reload().await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_model_a_file_or_a_person_writes_is_never_run() {
    let evil = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=2</script>\n\n[click](javascript:window.pwned=3) \
        [data](data:text/html,<script>window.pwned=4</script>) ![picture](https://tracker.example/pixel.png)\n\n\
        ```html\n<svg onload=\"window.pwned=5\">\n```\n\n<iframe srcdoc=\"<script>parent.pwned=6</script>\"></iframe>";
    let model =
        FakeModel::start([Reply::calls([("read_file", json!({ "path": "evil.html" }))]), Reply::text(evil)])
            .await;
    let project = asking(&model);
    project.write("evil.html", "<script>window.pwned=7</script>\n");
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let said = "<img src=x onerror=window.pwned=8><b>bold</b>";
    console.say(said).await;
    console.until("document.querySelector('.part-text')?.textContent.includes('onload')").await;
    console.until_idle().await;
    assert_eq!(console.messages().await[0].1, said);
    console.browser.click("[data-testid=tool-step] > summary").await;
    console.until("document.querySelector('[data-testid=tool-step]').innerText.includes('pwned=7')").await;
    // The thread's title is what the person wrote.
    console.until("[...document.querySelectorAll('[data-testid=thread-item]')].some((item) => item.innerText.includes('<b>'))").await;
    let made = console.browser.eval("document.querySelectorAll('main img, main iframe, main script, #log svg[onload], main b').length").await;
    assert_eq!(made, 0);
    let links = console
        .browser
        .eval("[...document.querySelectorAll('#log a')].map((a) => a.getAttribute('href'))")
        .await;
    let links: Vec<&str> = links.as_array().unwrap().iter().filter_map(serde_json::Value::as_str).collect();
    assert!(links.iter().all(|link| link.starts_with("https://")), "{links:?}");
    assert_eq!(console.browser.eval("window.pwned ?? null").await, serde_json::Value::Null);
    console.browser.picture("inert").await;
    console.assert_no_complaints().await;
}

/// For visual inspection: everything the page can draw, in both themes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rich_answer_is_drawn_in_light_and_dark() {
    let rich = "## What I found\n\nThe project has **three** parts, and `Agent.md` says who I am:\n\n\
        1. a daemon that keeps *every* message\n2. a console, which is this page\n   - with lists in lists\n   - and [links](https://example.org/)\n\n\
        > Accepted before acknowledged.\n\n```rust\nfn main() -> ExitCode {\n    // the one place that prints\n    run().unwrap_or_else(report)\n}\n```\n\n\
        | part | lines | state |\n|:--|--:|:-:|\n| daemon | 3,200 | good |\n| console | 1,900 | good |\n\n- [x] written\n- [ ] read\n\n中文也要好看：消息先落盘，再确认。";
    let reasoning = json!({ "reasoning_content": "The person wants an overview. I have read the files." });
    let pieces: Vec<&str> = rich.split_inclusive('\n').collect();
    let deltas = std::iter::once(reasoning).chain(pieces.iter().map(|piece| json!({ "content": piece })));
    let model = FakeModel::start([
        Reply::calls([("list_files", json!({ "path": "." })), ("search_files", json!({ "query": "agent" }))]),
        Reply::deltas(deltas, "stop"),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    daemon.execute(json!({ "instructions": "/status", "chatId": "nightly report" })).await;
    let console = Console::open(&daemon, Viewport::Desktop(1280, 1100), EN).await;
    console.browser.prefer(Colours::Light).await;
    console.say("Give me an overview of this project, please.").await;
    console.until("document.querySelector('.table') && document.querySelectorAll('[data-testid=tool-step]').length === 2").await;
    console.until_idle().await;
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = console.browser.eval(background).await;
    console.browser.picture("rich-light").await;
    console.browser.click(&part("theme-toggle")).await;
    console.until(&format!("{background} !== {light}")).await;
    console.browser.picture("rich-dark").await;
    console.browser.reload().await;
    console.until(&format!("{background} !== {light}")).await;
    console.assert_no_complaints().await;
}
