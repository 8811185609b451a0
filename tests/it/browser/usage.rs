//! The page of usage, and the choice of a model in a conversation.

use serde_json::{Value, json};

use super::pages::look;
use super::project::{EN, ZH};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Script};
use crate::fakes::webdriver::{Viewport, key};
use crate::usage::{named, with_deep};

/// Calls of the last days: two priced models, one without a price, one call without a known end, a task.
fn spent() -> Project {
    let project =
        Project::new(json!({ "name": "harbour", "llm": { "provider": "offline" }, "timezone": "UTC" }));
    let now = jiff::Timestamp::now();
    let mut months: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    for call in 0_i64..60 {
        let at = now.checked_sub(jiff::SignedDuration::from_hours(call * 7)).unwrap().to_string();
        let model = ["gpt-6-luna", "kimi-k3", "house-model"][usize::try_from(call % 3).unwrap()];
        let mut line = json!({ "t": "settle", "id": format!("c{call}"), "at": at, "model": model,
            "threadId": format!("telegram:chat:{}", call % 4), "authorId": format!("telegram:user:{}", call % 2),
            "purpose": if call % 5 == 0 { "distil" } else { "turn" }, "in": 9000 + call, "inCached": 6000, "out": 700,
            "cost": 40_000 + call, "source": "reported" });
        let fields = line.as_object_mut().unwrap();
        match call {
            3 => drop(fields.insert("source".to_owned(), json!("uncertain"))),
            4 => drop(fields.insert("taskId".to_owned(), json!("daily"))),
            _ if model == "house-model" => drop(fields.remove("cost")),
            _ => {}
        }
        let text = months.entry(at.chars().take(7).collect()).or_default();
        text.push_str(&format!("{line}\n"));
    }
    for (month, text) in months {
        project.write(&format!(".ship/logs/usage-{month}.jsonl"), &text);
    }
    project
}

fn printed(project: &Project, by: &str) -> Value {
    let output = project.run(&["usage", "--by", by, "--json"]);
    serde_json::from_str(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_is_shown_with_the_numbers_of_the_command_line() {
    let project = spent();
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.browser.click(&part("page-usage")).await;
    console
        .until(
            "document.querySelectorAll('[data-testid=usage-by-model] [data-testid=usage-bar]').length === 3",
        )
        .await;
    let report = printed(&project, "model");
    let total = &report["reports"][0]["total"];
    let micros = total["costMicros"].as_u64().unwrap();
    let cents = (micros + 5_000) / 10_000;
    let shown = console.text_of(&part("usage-total")).await;
    assert!(shown.contains(&format!("at least {}.{:02} USD", cents / 100, cents % 100)), "{shown}");
    assert!(shown.contains("60 calls"), "{shown}");
    let uncertain = total["uncertainMicros"].as_u64().unwrap() * 100 / micros;
    let shown = console.text_of(&part("usage-uncertain")).await;
    assert!(shown.contains(&format!("{uncertain}%")), "{shown}");
    let cached = total["inCached"].as_u64().unwrap() * 100 / total["in"].as_u64().unwrap();
    assert!(console.text_of(&part("usage-cached")).await.contains(&format!("{cached}%")));
    for by in ["model", "thread", "person", "task", "purpose"] {
        let rows = printed(&project, by)["reports"][0]["rows"].clone();
        let keys = format!(
            "JSON.stringify([...document.querySelectorAll('[data-testid=usage-by-{by}] [data-testid=usage-bar]')].map((row) => row.dataset.key).sort())"
        );
        let mut expected: Vec<&str> =
            rows.as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
        expected.sort_unstable();
        assert_eq!(console.browser.eval(&keys).await, json!(json!(expected).to_string()), "{by}");
        let lines = project.run(&["usage", "--by", by]).stdout;
        for key in expected.into_iter().filter(|key| !key.is_empty()) {
            let value = console
                .text_of(&format!("[data-testid=usage-by-{by}] [data-key='{key}'] .usage-value"))
                .await;
            let line = lines
                .lines()
                .find(|line| line.starts_with(key))
                .unwrap_or_else(|| panic!("{key} in {lines}"));
            assert!(line.trim_end().ends_with(&value), "{value} in {line}");
        }
    }
    let unpriced = console.text_of("[data-testid=usage-by-model] [data-key=house-model]").await;
    assert!(unpriced.contains("price unknown"), "{unpriced}");
    look(&console, "usage").await;

    // The numbers of the chart can be read as a table, also by keyboard.
    console.browser.eval("document.querySelector('[data-testid=usage-as-table]').focus()").await;
    console.browser.press(&key::ENTER.to_string()).await;
    let days = printed(&project, "day")["reports"][0]["rows"].as_array().unwrap().len();
    console
        .until(&format!("document.querySelectorAll('[data-testid=usage-table] tbody tr').length === {days}"))
        .await;
    let choose = |testid: &str, value: &str| {
        format!(
            "(() => {{ const one = document.querySelector('[data-testid={testid}]'); one.value = '{value}'; one.dispatchEvent(new Event('change')); }})()"
        )
    };
    console.browser.eval(&choose("usage-measure", "tokens")).await;
    console.until("document.querySelector('[data-testid=usage-by-model] .usage-value').innerText.endsWith('tokens')").await;
    console.browser.eval(&choose("usage-range", "year")).await;
    console.until_visible("usage-by-month", true).await;
    console.assert_no_complaints().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_fits_phones_and_desktops_in_both_languages() {
    let project = spent();
    let daemon = project.start().await;
    for (screen, language, words, name) in [
        (Viewport::Phone, ZH, ["至少", "60 次调用"], "usage-phone-zh"),
        (Viewport::Phone, EN, ["at least", "60 calls"], "usage-phone-en"),
        (DESKTOP, ZH, ["至少", "60 次调用"], "usage-desktop-zh"),
    ] {
        let console = Console::open(&daemon, screen, language).await;
        if matches!(screen, Viewport::Phone) {
            console.browser.click("#drawer-open").await;
        }
        console.browser.click(&part("page-usage")).await;
        console.until_visible("usage-total", true).await;
        let shown = console.text_of(&part("usage-total")).await;
        assert!(words.iter().all(|word| shown.contains(word)), "{shown}");
        look(&console, name).await;
        let fits = "document.documentElement.scrollWidth <= innerWidth && document.querySelector('#page').scrollWidth <= innerWidth";
        assert_eq!(console.browser.eval(fits).await, true, "nothing sticks out");
        console.assert_no_complaints().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_chosen_in_the_conversation() {
    let model = FakeModel::start(Script::compute(named)).await;
    let project = with_deep(&model.url(), json!({}));
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, EN).await;
    console.until_visible("model-choice", true).await;
    console.browser.picture("model-choice").await;
    console.assert_accessible().await;
    console
        .browser
        .eval("(() => { const one = document.querySelector('[data-testid=model-choice]'); one.value = 'deep'; one.dispatchEvent(new Event('change')); })()")
        .await;
    console
        .until("document.querySelector('[data-testid=toast]').innerText.includes('deep (fake-deep)')")
        .await;
    console.browser.type_into(&part("composer"), &format!("hello{}", key::ENTER)).await;
    console.until("document.querySelector('#log').innerText.includes('fake-deep: hello')").await;
    // A command chooses as well, and the page shows it.
    console.browser.type_into(&part("composer"), &format!("/model default{}", key::ENTER)).await;
    console.until("document.querySelector('[data-testid=model-choice]').value === ''").await;
    console.browser.reload().await;
    console.until("document.querySelector('[data-testid=model-choice]')?.value === ''").await;
    console.assert_no_complaints().await;
}
