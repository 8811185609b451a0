//! The console in a real browser, before a real daemon.

use serde_json::json;

use crate::support::console::{Console, DESKTOP, part};
use crate::support::daemon::{Project, TOKEN};
use crate::support::fake_model::{FakeModel, Gate, Reply, Script};
use crate::support::webdriver::{Browser, Colours, Screen, key};

const EN: &str = "en-GB,en";
const ZH: &str = "zh-CN,zh";

fn offline() -> Project {
    Project::new(json!({ "name": "harbour", "llm": { "provider": "offline" } }))
}

fn asking(model: &FakeModel) -> Project {
    Project::with_model(
        &model.url(),
        json!({ "name": "harbour", "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_printed_address_opens_the_console_and_the_token_leaves_the_bar() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    assert!(!console.browser.address().await.contains(TOKEN), "{}", console.browser.address().await);
    assert_eq!(console.text_of("#agent-name").await, "harbour");
    console.until("document.querySelectorAll('[data-testid=suggestion]').length === 4").await;
    console.browser.picture("welcome-light").await;
    console.browser.prefer(Colours::Dark).await;
    console.browser.picture("welcome-dark").await;

    console.say("hello there").await;
    console
        .until("document.querySelectorAll('[data-testid=message][data-role=assistant]').length === 1")
        .await;
    console.until_idle().await;
    let messages = console.messages().await;
    assert_eq!(messages[0], ("user".to_owned(), "hello there".to_owned()));
    assert!(messages[1].1.starts_with("Hello! I am the built-in offline model"), "{messages:?}");
    assert!(!console.sees("suggestion").await, "the welcome has gone");
    let thread = console.thread().await;
    console
        .until(&format!(
            "document.querySelector('[data-thread=\"{thread}\"]')?.innerText.includes('hello there')"
        ))
        .await;
    // Going back in the history must not bring the token to light either.
    console.browser.eval("history.back()").await;
    assert!(!console.browser.address().await.contains(TOKEN));
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_grows_while_the_model_still_speaks() {
    let gate = Gate::new();
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
    let gate = Gate::new();
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
    // The steps are told while the turn goes on.
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
async fn an_error_is_told_in_the_language_of_the_page() {
    let refused = Reply::status(401, r#"{"error":{"message":"bad key"}}"#);
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
async fn a_reload_shows_the_same_messages_once_also_in_the_middle_of_an_answer() {
    let gate = Gate::new();
    let model =
        FakeModel::start([Reply::text("One."), Reply::pieces(["Two, ", "and three."]).gated_after(2, &gate)])
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("a").await;
    console.until_messages(&[("user", "a"), ("assistant", "One.")]).await;
    let thread = console.thread().await;
    console.browser.reload().await;
    console.until_messages(&[("user", "a"), ("assistant", "One.")]).await;

    console.say("b").await;
    console.until_newest("Two,").await;
    console.browser.reload().await;
    console.until_newest("Two,").await;
    assert_eq!(console.messages().await.len(), 4);
    console.until_visible("stop", true).await;
    gate.open();
    let all = [("user", "a"), ("assistant", "One."), ("user", "b"), ("assistant", "Two, and three.")];
    console.until_messages(&all).await;
    console.browser.reload().await;
    console.until_messages(&all).await;
    assert_eq!(console.thread().await, thread);
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_finds_a_restarted_daemon_by_itself_and_shows_everything_once() {
    let gate = Gate::new();
    let model = FakeModel::start([
        Reply::pieces(["Lost ", "words"]).hang_after(2),
        Reply::pieces(["Found ", "again."]).behind(&gate),
        Reply::text("Late, but here."),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("keep this").await;
    console.until_newest("Lost").await;

    project.keep_address(&daemon);
    daemon.kill();
    console
        .until("document.querySelector('[data-testid=connection]').dataset.state === 'reconnecting'")
        .await;
    console.browser.picture("reconnecting").await;
    console.say("said to nobody").await;
    console.until_visible("retry", true).await;
    console.browser.picture("not-sent").await;

    let daemon = project.start().await;
    console.until_connected().await;
    gate.open();
    console
        .until(
            "[...document.querySelectorAll('.part-text')].some((text) => text.innerText === 'Found again.')",
        )
        .await;
    console.browser.click(&part("retry")).await;
    let all = [
        ("user", "keep this"),
        ("assistant", "Found again."),
        ("user", "said to nobody"),
        ("assistant", "Late, but here."),
    ];
    console.until_messages(&all).await;
    console.browser.reload().await;
    console.until_messages(&all).await;
    console.assert_only_network_complaints().await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_elsewhere_in_the_thread_is_shown_here() {
    let model =
        FakeModel::start(Script::compute(|seen| Reply::text(&format!("echo {}", seen.last_user_text()))))
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("from here").await;
    console.until_newest("echo from here").await;
    let thread = console.thread().await;
    let body = json!({ "id": "elsewhere", "text": "from elsewhere" });
    assert_eq!(
        daemon.post(&format!("/api/threads/{thread}/messages"), &body).send().await.unwrap().status(),
        202
    );
    let all = [
        ("user", "from here"),
        ("assistant", "echo from here"),
        ("user", "from elsewhere"),
        ("assistant", "echo from elsewhere"),
    ];
    console.until_messages(&all).await;

    // A thread of another channel can be read, not written.
    daemon.execute(json!({ "instructions": "from a program", "chatId": "p" })).await;
    console.browser.click("[data-testid=thread-item][data-thread=\"api:chat:p\"]").await;
    console.until_messages(&[("user", "from a program"), ("assistant", "echo from a program")]).await;
    console.until_visible("readonly", true).await;
    assert!(!console.sees("composer").await);
    console.browser.picture("read-only").await;
    console.browser.click(&format!("[data-testid=thread-item][data-thread=\"{thread}\"]")).await;
    console.until_messages(&all).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_conversation_is_loaded_in_pages_and_one_finds_back_to_its_end() {
    let model =
        FakeModel::start(Script::compute(|seen| Reply::text(&format!("echo {}", seen.last_user_text()))))
            .await;
    let project = asking(&model);
    let daemon = project.start().await;
    for number in 0..40 {
        let said = json!({ "id": format!("m{number}"), "role": "user", "parts": [{ "type": "text", "text": format!("number {number}") }] });
        let answer =
            daemon.post("/api/chat", &json!({ "id": "long", "messages": [said] })).send().await.unwrap();
        assert!(answer.text().await.unwrap().ends_with("data: [DONE]\n\n"));
    }
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click("[data-testid=thread-item][data-thread=\"web:chat:long\"]").await;
    console.until_newest("echo number 39").await;
    assert_eq!(console.messages().await.len(), 50, "one page");
    assert!(!console.sees("jump").await);
    console.browser.eval("document.querySelector('#scroller').scrollTo(0, 0)").await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 80").await;
    let said: Vec<String> = console.messages().await.into_iter().map(|(_, text)| text).collect();
    let expected: Vec<String> =
        (0..40).flat_map(|n| [format!("number {n}"), format!("echo number {n}")]).collect();
    assert_eq!(said, expected);
    console.until_visible("load-earlier", false).await;
    console.until_visible("jump", true).await;
    console.browser.click(&part("jump")).await;
    console.until_visible("jump", false).await;
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
async fn everything_can_be_done_with_the_keyboard_alone() {
    let project = offline();
    project.write("notes.txt", "buy milk\n");
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let browser = &console.browser;
    // The message box has the focus from the beginning.
    console.until("document.activeElement.id === 'composer'").await;
    browser.press("two").await;
    browser.press_with(key::SHIFT, key::ENTER).await;
    browser.press("lines").await;
    assert_eq!(browser.eval("document.activeElement.value").await, "two\nlines");
    browser.press(&key::ENTER.to_string()).await;
    console.until(&format!("{}.length === 2", "document.querySelectorAll('[data-testid=message]')")).await;
    console.until_idle().await;

    browser.press(&format!("read: notes.txt{}", key::ENTER)).await;
    console.until("document.querySelector('[data-testid=tool-step][data-state=output-available]')").await;
    console.until_idle().await;
    // Backwards from the message box to the step, and into it.
    tab_to(&console, "document.activeElement.closest('[data-testid=tool-step]') && document.activeElement.tagName === 'SUMMARY'", Direction::Back).await;
    browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelector('[data-testid=tool-step]').open").await;

    let thread = console.thread().await;
    browser.press_with(key::CONTROL, 'k').await;
    console
        .until(&format!("!location.hash.includes('{thread}') && document.activeElement.id === 'composer'"))
        .await;
    // A suggestion is a button like any other.
    tab_to(&console, "document.activeElement.dataset.testid === 'suggestion'", Direction::Back).await;
    browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.until_idle().await;
    // And the old conversation is found again through the list.
    tab_to(&console, &format!("document.activeElement.dataset.thread === '{thread}'"), Direction::Forth)
        .await;
    browser.press(&key::ENTER.to_string()).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 4").await;
    assert_eq!(console.thread().await, thread);
    console.assert_no_complaints().await;
}

#[derive(Clone, Copy)]
enum Direction {
    Forth,
    Back,
}

/// Presses Tab until the focus is where it should be; a whole round of the page at most.
async fn tab_to(console: &Console, there: &str, direction: Direction) {
    for _ in 0..60 {
        match direction {
            Direction::Forth => console.browser.press(&key::TAB.to_string()).await,
            Direction::Back => console.browser.press_with(key::SHIFT, key::TAB).await,
        }
        if console.browser.eval(there).await == true {
            return;
        }
    }
    panic!("the keyboard does not reach {there}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_has_room_for_everything() {
    let wide = "Look:\n\n```sh\nfind . -name '*.rs' -exec wc -l {} + | sort -rn | head -n 20 # a line wider than any phone\n```\n\n\
        | file | lines | what it is for, in so many words |\n|---|---|---|\n| main.rs | 34 | args to settings to app |\n";
    let model = FakeModel::start([Reply::text(wide)]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, Screen::Phone, EN).await;
    let browser = &console.browser;
    let fits = "document.documentElement.scrollWidth <= innerWidth && document.scrollingElement.scrollHeight <= innerHeight";
    assert_eq!(browser.eval(fits).await, true, "nothing sticks out");
    browser.picture("phone-welcome").await;
    browser.type_into(&part("composer"), "show me").await;
    browser.click(&part("send")).await;
    console.until("document.querySelector('.table') && document.querySelector('.code')").await;
    console.until_idle().await;
    assert_eq!(browser.eval(fits).await, true, "wide things scroll by themselves");
    browser.picture("phone-chat").await;

    assert!(!console.sees("new-chat").await, "the list is put away");
    browser.click("#drawer-open").await;
    console.until_visible("new-chat", true).await;
    let thread = console.thread().await;
    console
        .until(&format!(
            "document.querySelector('[data-thread=\"{thread}\"]')?.innerText.includes('show me')"
        ))
        .await;
    browser.picture("phone-drawer").await;
    browser.click(&part("new-chat")).await;
    console.until_visible("new-chat", false).await;
    console.until_visible("suggestion", true).await;
    browser.click("#drawer-open").await;
    browser.click(&format!("[data-thread=\"{thread}\"]")).await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.until_visible("new-chat", false).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_speaks_the_readers_language_and_remembers_another() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, ZH).await;
    let composer = "document.querySelector('[data-testid=composer]').placeholder";
    console.until(&format!("{composer}.includes('输入消息')")).await;
    assert_eq!(console.browser.eval("document.documentElement.lang").await, "zh-CN");
    console.browser.picture("welcome-zh").await;
    console.say("读：Agent.md").await;
    console.until("document.querySelector('[data-testid=tool-step][data-state=output-available]')").await;
    console.until_idle().await;
    console.browser.picture("chat-zh").await;

    console.browser.click(&part("language-toggle")).await;
    console.until(&format!("{composer}.startsWith('Message')")).await;
    assert_eq!(console.messages().await.len(), 2, "the conversation is still there");
    console.browser.reload().await;
    console.until(&format!("{composer}.startsWith('Message')")).await;
    assert_eq!(console.browser.eval("document.documentElement.lang").await, "en");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_token_there_is_only_the_login_form() {
    let project = offline();
    let daemon = project.start().await;
    let console = Console { browser: Browser::start(DESKTOP, EN).await };
    console.browser.visit(&daemon.base).await;
    console.until_visible("login-token", true).await;
    console.enter(&daemon, "wrong-token").await;
    console.until("document.querySelector('#login-error').innerText.includes('not accepted')").await;
    assert!(!console.browser.address().await.contains("wrong-token"));
    console.browser.picture("login").await;
    assert_eq!(
        console.browser.eval("document.querySelector('#app').inert").await,
        true,
        "nothing behind it can be reached"
    );

    console.browser.type_into(&part("login-token"), "wrong again").await;
    console.browser.click(&part("login-submit")).await;
    console.until("document.querySelector('#login-error').innerText.includes('not accepted')").await;
    console.browser.eval("document.querySelector('#login-token').value = ''").await;
    console.browser.type_into(&part("login-token"), &format!("{TOKEN}{}", key::ENTER)).await;
    console.until_connected().await;
    console.until_visible("login-token", false).await;
    console.say("time").await;
    console.until("document.querySelectorAll('[data-testid=message]').length === 2").await;
    console.browser.reload().await;
    console.until_connected().await;
    assert!(!console.sees("login-token").await, "the browser is remembered");
    console.assert_only_network_complaints().await;
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

/// For people to look at: everything the page can draw, in both themes.
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
    let console = Console::open(&daemon, Screen::Desktop(1280, 1100), EN).await;
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
