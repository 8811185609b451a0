//! Messages in the console: files, editing, another answer, formatting, decisions with words.

use serde_json::json;

use super::project::{EN, asking};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::webdriver::{Colours, key};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_given_again_and_questions_are_edited_in_place_or_in_a_branch() {
    let model = FakeModel::start([
        Reply::text("first answer"),
        Reply::text("second answer"),
        Reply::text("edited answer"),
        Reply::text("later answer"),
        Reply::text("branch answer"),
    ])
    .await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("question").await;
    console.until_messages(&[("user", "question"), ("assistant", "first answer")]).await;
    console.browser.eval("document.querySelector('[data-testid=regenerate]:not([hidden])').click()").await;
    console.until_messages(&[("user", "question"), ("assistant", "second answer")]).await;

    console.browser.eval("document.querySelector('[data-role=user] [data-testid=edit]').click()").await;
    console.browser.picture("edit-message").await;
    console.browser.type_into(&part("edit-text"), " again").await;
    console.browser.click(&part("edit-send")).await;
    console.until_messages(&[("user", "question again"), ("assistant", "edited answer")]).await;

    console.say("more").await;
    console.until_newest("later answer").await;
    console.until_idle().await;
    let old = console.thread().await;
    console.browser.eval("document.querySelector('[data-role=user] [data-testid=edit]').click()").await;
    console.browser.type_into(&part("edit-text"), " elsewhere").await;
    console.browser.click(&part("edit-send")).await;
    console.until_messages(&[("user", "question again elsewhere"), ("assistant", "branch answer")]).await;
    assert_ne!(console.thread().await, old, "the old conversation stays as it was");
    let kept = daemon.get_json(&format!("/api/threads/{old}/messages")).await;
    assert_eq!(kept["messages"].as_array().unwrap().len(), 4);
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_pasted_shown_removed_and_sent_with_the_message() {
    let model = FakeModel::start([Reply::text("seen")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    let paste = |name: &str| {
        format!(
            "(() => {{ const data = new DataTransfer(); data.items.add(new File(['words of {name}'], '{name}', {{ type: 'text/plain' }})); \
             document.querySelector('[data-testid=composer]').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true, cancelable: true }})); }})()"
        )
    };
    for name in ["a.txt", "b.txt"] {
        console.browser.eval(&paste(name)).await;
    }
    console.until("document.querySelectorAll('[data-testid=attachment]').length === 2").await;
    console.browser.picture("attachments").await;
    console.assert_accessible().await;
    console.browser.click(&part("attachment-remove")).await;
    console.until("document.querySelectorAll('[data-testid=attachment]').length === 1").await;
    console.say("look").await;
    console.until_newest("seen").await;
    console.until("document.querySelector('[data-role=user] .part-file')?.innerText.includes('b.txt')").await;
    let thread = console.thread().await;
    let stored = daemon.get_json(&format!("/api/threads/{thread}/messages")).await;
    let parts = stored["messages"][0]["parts"].as_array().unwrap().clone();
    let files: Vec<_> = parts.iter().filter(|part| part["type"] == "file").collect();
    assert_eq!((files.len(), &files[0]["filename"]), (1, &json!("b.txt")), "{stored}");
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_shows_its_risk_and_is_denied_with_words_or_by_a_key() {
    let ask = |file: &str| Reply::calls([("exec_shell", json!({ "command": format!("touch {file}") }))]);
    let model =
        FakeModel::start([ask("one"), Reply::text("Not one."), ask("two"), Reply::text("Made.")]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.say("make one").await;
    console.until_visible("approval-actions", true).await;
    assert!(console.text_of(&part("risk")).await.ends_with("risk"));
    console.browser.click(&part("deny-why")).await;
    for (colours, name) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("deny-reason-{name}")).await;
        console.assert_accessible().await;
    }
    console.browser.type_into(&part("deny-reason"), &format!("use the other folder{}", key::ENTER)).await;
    console.until("document.querySelector('.part-text')?.innerText === 'Not one.'").await;
    console.until_idle().await;
    let outcome = console.text_of(&part("approval-outcome")).await;
    assert!(outcome.contains("use the other folder"), "{outcome}");
    let prompt = model.requests().last().unwrap().body.to_string();
    assert!(prompt.contains("use the other folder"), "the model reads the reason: {prompt}");

    console.say("make two").await;
    console.until_visible("approval-actions", true).await;
    console.browser.press_with(key::ALT, 'y').await;
    console.until("[...document.querySelectorAll('.part-text')].at(-1)?.innerText === 'Made.'").await;
    assert!(project.path().join("two").exists() && !project.path().join("one").exists());
    console.assert_no_complaints().await;
}

/// Texts that try to become markup, a script or a request.
const HOSTILE: &[&str] = &[
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "[click](data:text/html,<script>alert(1)</script>)",
    "![x](http://evil.example/pixel.png)",
    "<a href=\"javascript:alert(1)\">x</a>",
    "```html\n<img src=x onerror=alert(1)>\n```",
    "[^x]: <img src=x onerror=alert(1)>",
    "text[^\"><img/src/onerror=alert(1)>]",
    "$$\\text{<img src=x onerror=alert(1)>}$$",
    "$\\href{javascript:alert(1)}{x}$",
    "| <svg onload=alert(1)> | b |\n|---|---|\n| <iframe src=javascript:alert(1)> | 2 |",
    "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
    "Title <img src=x onerror=alert(1)>\n=====",
    "[a]: javascript:alert(1)\n\n[a]",
    "<details open ontoggle=alert(1)>x</details>",
    "&lt;img src=x onerror=alert(1)&gt;",
    "`<img src=x onerror=alert(1)>`",
    "```mermaid\ngraph TD\nA[\"<img src=x onerror=alert(1)>\"] --> B\nclick A \"javascript:alert(1)\"\n```",
    "![x][pixel]\n\n[pixel]: http://evil.example/pixel.png",
    "![x](/api/files/../info)",
    "[tab](java\tscript:alert(1))",
    "[entity](javascript&#58;alert(1))",
    "[case](JaVaScRiPt:alert(1))",
    "[vb](vbscript:msgbox(1))",
    "<https://a.example\" onmouseover=\"alert(1)>",
    "[quote](https://a.example/\"onmouseover=alert(1)//)",
    "![svg](data:image/svg+xml,<svg onload=alert(1)>)",
    "<svg><animate onbegin=alert(1) attributeName=x></svg>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<base href=http://evil.example/>",
    "- [x] <input autofocus onfocus=alert(1)>",
    "# <a id=composer href=# onclick=alert(1)>heading</a>",
    "```\"><img src=x onerror=alert(1)>\ncode\n```",
    "$$\\unicode{<img src=x onerror=alert(1)>}$$",
    "```mermaid\nflowchart LR\nA[<svg onload=alert(1)>] -->|\"<img src=x onerror=alert(1)>\"| B\n```",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_texts_stay_text_and_rich_ones_are_formatted() {
    let rich = "Title\n=====\n\nA note[^1] and $E = mc^2$.\n\n$$\n\\sum_{i=1}^{n} \\frac{1}{i}\n$$\n\n```rust\n// why\nfn main() { let x = 42; }\n```\n\n[^1]: The footnote.\n\nSee [the ships][s].\n\n[s]: https://ships.example/\n\n\
        ```mermaid\nflowchart LR\n  A[Harbour] --> B{Full?}\n  B -->|yes| C(Wait)\n  B -->|no| A\n```\n\n```mermaid\npie\n\"a\": 1\n```\n";
    let long = format!("```text\n{}```\n", "line\n".repeat(80));
    let model =
        FakeModel::start([Reply::text(&HOSTILE.join("\n\n")), Reply::text(&format!("{rich}\n{long}"))]).await;
    let project = asking(&model);
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.eval("window.alert = () => { window.attacked = true; }").await;
    console.say("attack").await;
    console.until("document.querySelectorAll('[data-role=assistant] .md > *').length > 0").await;
    console.until_idle().await;
    let bad = "document.querySelectorAll('#log :is(img, script, iframe, svg[onload], style, form, base, animate, #composer, details[ontoggle], a[href^=\"javascript\"], a[href^=\"data\"])').length";
    assert_eq!(console.browser.eval(bad).await, 0);
    // No element has a handler, and no link leads anywhere but to the web or to mail.
    let handlers = "[...document.querySelectorAll('#log *')].flatMap((el) => el.getAttributeNames()).filter((name) => name.startsWith('on'))";
    assert_eq!(console.browser.eval(handlers).await, json!([]));
    let links = "[...document.querySelectorAll('#log a')].filter((a) => !['http:', 'https:', 'mailto:'].includes(a.protocol)).map((a) => a.href)";
    assert_eq!(console.browser.eval(links).await, json!([]));
    assert_eq!(console.browser.eval("window.attacked ?? false").await, false);
    let loaded =
        "performance.getEntriesByType('resource').filter((entry) => entry.name.includes('evil')).length";
    assert_eq!(console.browser.eval(loaded).await, 0);

    console.say("format").await;
    console.until("[...document.querySelectorAll('.md-h1')].at(-1)?.innerText === 'Title'").await;
    console.until_idle().await;
    let last = "[...document.querySelectorAll('[data-role=assistant]')].at(-1)";
    console.until(&format!("{last}.querySelectorAll('[data-testid=math] math').length === 2")).await;
    console.until(&format!("{last}.querySelector('.hl-comment')?.innerText === '// why'")).await;
    console.until(&format!("{last}.querySelectorAll('[data-testid=diagram] svg text').length === 5")).await;
    let shown = console
        .browser
        .eval(&format!("{last}.querySelector('[data-testid=diagram]').getBoundingClientRect().height"))
        .await;
    assert!(shown.as_f64().unwrap() > 50.0, "{shown}");
    let unknown = format!(
        "[...{last}.querySelectorAll('.code-lang')].filter((el) => el.innerText === 'mermaid' && el.checkVisibility()).length"
    );
    assert_eq!(console.browser.eval(&unknown).await, 1, "one that is not understood is shown as its source");
    assert_eq!(
        console
            .browser
            .eval(&format!("{last}.querySelector('a[href=\"https://ships.example/\"]')?.innerText"))
            .await,
        "the ships"
    );
    assert_eq!(console.browser.eval(&format!("{last}.querySelector('.hl-keyword').innerText")).await, "fn");
    console.browser.eval(&format!("{last}.querySelector('.footnote-ref').click()")).await;
    console.until("document.activeElement.dataset.note === '1'").await;
    let folded = "document.querySelector('[data-testid=code-more]').previousElementSibling.clientHeight";
    let before = console.browser.eval(folded).await.as_f64().unwrap();
    console.browser.eval("document.querySelector('[data-testid=code-more]').click()").await;
    assert!(console.browser.eval(folded).await.as_f64().unwrap() > before);
    for (colours, name) in [(Colours::Light, "light"), (Colours::Dark, "dark")] {
        console.browser.prefer(colours).await;
        console.browser.picture(&format!("formatting-{name}")).await;
        console.assert_accessible().await;
    }
    console.assert_no_complaints().await;
}
