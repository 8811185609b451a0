//! The console as a person sees it: a browser that looks at a running daemon.

use serde_json::{Value, json};

use super::daemon::{Daemon, TOKEN};
use super::webdriver::{Browser, Screen, key};

/// A window of ordinary size.
pub(crate) const DESKTOP: Screen = Screen::Desktop(1280, 820);

/// A part of the page, by the name it has for tests.
pub(crate) fn part(name: &str) -> String {
    format!("[data-testid=\"{name}\"]")
}

/// The console in a browser.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) browser: Browser,
}

impl Console {
    /// Opens the address that the daemon prints, and waits until the page is connected.
    pub(crate) async fn open(daemon: &Daemon, screen: Screen, language: &str) -> Self {
        let console = Self { browser: Browser::start(screen, language).await };
        console.enter(daemon, TOKEN).await;
        console.until_connected().await;
        console
    }

    /// Goes to the console with this token.
    pub(crate) async fn enter(&self, daemon: &Daemon, token: &str) {
        self.browser.visit(&format!("{}/#token={token}", daemon.base)).await;
    }

    /// Waits until the page hears from the daemon.
    pub(crate) async fn until_connected(&self) {
        self.until("document.querySelector('[data-testid=connection]').dataset.state === 'open'").await;
    }

    /// Waits until an expression is true, and gives its value.
    pub(crate) async fn until(&self, expression: &str) -> Value {
        self.browser.until(expression).await
    }

    /// Waits until a part of the page can be seen, or cannot.
    pub(crate) async fn until_visible(&self, name: &str, visible: bool) {
        self.until(&format!("{visible} === {}", visibility(name))).await;
    }

    /// Whether a part of the page can be seen now.
    pub(crate) async fn sees(&self, name: &str) -> bool {
        self.browser.eval(&visibility(name)).await == true
    }

    /// Writes a message and sends it with Enter.
    pub(crate) async fn say(&self, text: &str) {
        self.browser.type_into(&part("composer"), &format!("{text}{}", key::ENTER)).await;
    }

    /// All messages, each with who said it.
    pub(crate) async fn messages(&self) -> Vec<(String, String)> {
        let all = self.browser.eval(MESSAGES).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(|message| (text(&message[0]), text(&message[1]))).collect()
    }

    /// Waits until these are all the messages, and nobody is at work.
    pub(crate) async fn until_messages(&self, expected: &[(&str, &str)]) {
        let same = format!("JSON.stringify({MESSAGES}) === JSON.stringify({})", json!(expected));
        self.until(&format!("{same} && {IDLE}")).await;
    }

    /// Waits until these messages are shown, also while the agent is at work.
    pub(crate) async fn until_shown(&self, expected: &[(&str, &str)]) {
        self.until(&format!("JSON.stringify({MESSAGES}) === JSON.stringify({})", json!(expected))).await;
    }

    /// Waits until the newest message says this, to the letter.
    pub(crate) async fn until_newest(&self, text: &str) {
        self.until(&format!("{MESSAGES}.at(-1)?.[1] === {}", json!(text))).await;
    }

    /// Waits until nobody is at work.
    pub(crate) async fn until_idle(&self) {
        self.until(IDLE).await;
    }

    /// The text of the first element that fits a selector, once there is some.
    pub(crate) async fn text_of(&self, selector: &str) -> String {
        let text = self
            .until(&format!("document.querySelector({})?.innerText?.trim() || null", json!(selector)))
            .await;
        text.as_str().unwrap().to_owned()
    }

    /// Waits until the button of a panel counts so many.
    pub(crate) async fn until_count(&self, panel: &str, count: &str) {
        let button = part(&format!("{panel}-open"));
        self.until(&format!("document.querySelector({}).dataset.count === {}", json!(button), json!(count)))
            .await;
        assert_eq!(self.sees(&format!("{panel}-count")).await, count != "0");
    }

    /// Opens a panel by its button.
    pub(crate) async fn open_panel(&self, panel: &str) {
        self.browser.click(&part(&format!("{panel}-open"))).await;
        self.until_visible(panel, true).await;
    }

    /// The thread that is open.
    pub(crate) async fn thread(&self) -> String {
        let address = self.browser.address().await;
        address.split_once("#/t/").unwrap_or_else(|| panic!("no thread in {address}")).1.to_owned()
    }

    /// The browser has nothing to complain of.
    pub(crate) async fn assert_no_complaints(&self) {
        assert_eq!(self.browser.complaints().await, []);
    }

    /// The browser complains of nothing but requests that did not succeed.
    pub(crate) async fn assert_only_network_complaints(&self) {
        let mut complaints = self.browser.complaints().await;
        complaints.retain(|(source, _)| source != "network");
        assert_eq!(complaints, []);
    }
}

/// Who said what, as the page shows it.
const MESSAGES: &str = "[...document.querySelectorAll('[data-testid=message]')]\
    .map((m) => [m.dataset.role, m.querySelector('.body').textContent.trim()])";

const IDLE: &str = "(document.querySelector('[data-testid=stop]').hidden && \
    !document.querySelector('[data-testid=message][aria-busy]'))";

fn visibility(name: &str) -> String {
    let selector = json!(part(name));
    format!("(document.querySelector({selector})?.checkVisibility({{ visibilityProperty: true }}) ?? false)")
}
