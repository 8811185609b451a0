//! The question about a cap on Feishu, on QQ and in the console.

use serde_json::{Value, json};

use super::{budget, lines};
use crate::fakes::console::{Console, DESKTOP, part};
use crate::fakes::daemon::{Project, merge};
use crate::fakes::fake_model::{FakeModel, Reply};
use crate::fakes::feishu::people::Message;
use crate::fakes::feishu::server::Feishu;
use crate::fakes::qq::QqFake;
use crate::fakes::qq::people::Place;

/// The first call of 0.40 fits into a day of 0.50.
fn project(model: &FakeModel, extra: Value) -> Project {
    let mut config = budget(json!({ "day": 0.5 }));
    merge(&mut config, json!({ "queue": { "mergeMs": 0 }, "language": "en" }));
    merge(&mut config, extra);
    Project::with_model(&model.url(), config)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_feishu_an_owner_presses_a_button_of_the_card_and_a_member_in_vain() {
    let (feishu, model) = (Feishu::start().await, FakeModel::start(Reply::text("hello there")).await);
    let mut config = feishu.section(json!({}));
    merge(&mut config, json!({ "owners": ["feishu:user:ou_ada"] }));
    let project = project(&model, config);
    let daemon = project.start().await;
    feishu.write(&Message::private("ou_ada", "one"));
    feishu.wait_for_words("oc_ada", "hello there").await;
    feishu.write(&Message::group("oc_group", "ou_bob", "two").mentioning());
    let card = feishu.question("oc_group").await;
    assert!(card.content.to_string().contains("0.40 USD of 0.50 USD"), "{}", card.content);
    let press = feishu.press(&card, "+1", "ou_bob");
    assert_eq!(feishu.acknowledgement(&press).await.data["toast"]["type"], "warning");
    assert_eq!(lines(&project, "grant").len(), 0);
    let press = feishu.press(&card, "Until midnight", "ou_ada");
    assert_eq!(feishu.acknowledgement(&press).await.data["toast"]["type"], "success");
    feishu.wait_for_words("oc_group", "hello there").await;
    assert_eq!(lines(&project, "grant").len(), 1);
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_qq_an_owner_presses_a_button_or_answers_in_words() {
    for by_button in [true, false] {
        let (qq, model) = (QqFake::start().await, FakeModel::start(Reply::text("hello there")).await);
        qq.rule(|rules| rules.markdown = true);
        let mut config = qq.config();
        merge(&mut config, json!({ "adapters": { "qq": { "markdown": true } }, "owners": ["qq:user:U1"] }));
        let project = project(&model, config);
        let daemon = project.start().await;
        qq.says(Place::C2c("U1"), "one");
        qq.text_with("U1", "hello there").await;
        qq.says(Place::C2c("U1"), "two");
        let sent = qq.text_with("U1", "May I go on?").await;
        if by_button {
            let rows = sent.body["keyboard"]["content"]["rows"].as_array().unwrap().clone();
            let mut buttons = rows.iter().flat_map(|row| row["buttons"].as_array().unwrap().clone());
            let plus_five =
                buttons.find(|button| button["render_data"]["label"].as_str() == Some("+5")).unwrap();
            qq.presses(Place::C2c("U1"), plus_five["action"]["data"].as_str().unwrap());
        } else {
            qq.says(Place::C2c("U1"), "+5");
        }
        daemon.until("a grant", async |_| lines(&project, "grant").len() == 1).await;
        assert_eq!(lines(&project, "grant")[0]["add"], 5_000_000);
        daemon.until("the answer", async |_| model.requests().len() == 2).await;
        assert!(daemon.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_console_the_card_has_the_choices_and_the_turn_goes_on() {
    let model = FakeModel::start(Reply::text("hello there")).await;
    let project = project(&model, json!({ "name": "harbour" }));
    let daemon = project.start().await;
    let console = Console::open(&daemon, DESKTOP, "en-GB,en").await;
    console.say("one").await;
    console.until("document.querySelector('#log').innerText.includes('hello there')").await;
    console.say("two").await;
    console.until_visible("approval", true).await;
    let card = console.text_of(&part("approval")).await;
    assert!(card.contains("0.40 USD of 0.50 USD"), "{card}");
    let press = "(() => { const all = [...document.querySelectorAll('[data-testid=approval] button')]; \
                 const one = all.find((button) => button.innerText.trim() === '+5'); one?.click(); \
                 return all.map((button) => button.innerText.trim()).join('|'); })()";
    let labels = console.browser.eval(press).await;
    assert!(labels.as_str().unwrap().contains("+5"), "{labels}");
    daemon.until("a grant", async |_| lines(&project, "grant").len() == 1).await;
    console.until("document.querySelector('#log').innerText.split('hello there').length === 3").await;
    console.assert_no_complaints().await;
}
