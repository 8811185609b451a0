//! The console in a browser, connected to a running daemon.

use serde_json::{Value, json};

use super::daemon::{Daemon, TOKEN};
use super::webdriver::{Browser, Viewport, key};

/// A window of ordinary size.
pub(crate) const DESKTOP: Viewport = Viewport::Desktop(1280, 820);

/// The selector of an element by its test id.
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
    pub(crate) async fn open(daemon: &Daemon, screen: Viewport, language: &str) -> Self {
        let console = Self { browser: Browser::start(screen, language).await };
        console.enter(daemon, TOKEN).await;
        console.until_connected().await;
        console
    }

    /// The same in a browser whose microphone plays this WAV file, again and again.
    pub(crate) async fn open_with_microphone(
        daemon: &Daemon,
        screen: Viewport,
        language: &str,
        wav: &[u8],
    ) -> Self {
        let console = Self { browser: Browser::with_microphone(screen, language, wav).await };
        console.enter(daemon, TOKEN).await;
        console.until_connected().await;
        console
    }

    /// Goes to the console with this token.
    pub(crate) async fn enter(&self, daemon: &Daemon, token: &str) {
        self.browser.visit(&format!("{}/#token={token}", daemon.base)).await;
    }

    /// Waits until the page is connected to the daemon.
    pub(crate) async fn until_connected(&self) {
        self.until("document.querySelector('[data-testid=connection]').dataset.state === 'open'").await;
    }

    /// Waits until an expression is true, and returns its value.
    pub(crate) async fn until(&self, expression: &str) -> Value {
        self.browser.until(expression).await
    }

    /// Waits until an element is visible, or hidden.
    pub(crate) async fn until_visible(&self, name: &str, visible: bool) {
        self.until(&format!("{visible} === {}", visibility(name))).await;
    }

    /// Whether an element is visible now.
    pub(crate) async fn sees(&self, name: &str) -> bool {
        self.browser.eval(&visibility(name)).await == true
    }

    /// Writes a message and sends it: with Enter, or on a touch screen, where Enter begins a line, with the button.
    pub(crate) async fn say(&self, text: &str) {
        if self.browser.eval("matchMedia('(pointer: coarse)').matches").await == true {
            self.browser.type_into(&part("composer"), text).await;
            self.browser.click(&part("send")).await;
        } else {
            self.browser.type_into(&part("composer"), &format!("{text}{}", key::ENTER)).await;
        }
    }

    /// All messages with their roles.
    pub(crate) async fn messages(&self) -> Vec<(String, String)> {
        let all = self.browser.eval(MESSAGES).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(|message| (text(&message[0]), text(&message[1]))).collect()
    }

    /// Waits until these are all the messages, and the thread is idle.
    pub(crate) async fn until_messages(&self, expected: &[(&str, &str)]) {
        let same = format!("JSON.stringify({MESSAGES}) === JSON.stringify({})", json!(expected));
        self.until(&format!("{same} && {IDLE}")).await;
    }

    /// Waits until these messages are shown, also while the agent is working.
    pub(crate) async fn until_shown(&self, expected: &[(&str, &str)]) {
        self.until(&format!("JSON.stringify({MESSAGES}) === JSON.stringify({})", json!(expected))).await;
    }

    /// Waits until the newest message has exactly this text.
    pub(crate) async fn until_newest(&self, text: &str) {
        self.until(&format!("{MESSAGES}.at(-1)?.[1] === {}", json!(text))).await;
    }

    /// Waits until the thread is idle.
    pub(crate) async fn until_idle(&self) {
        self.until(IDLE).await;
    }

    /// The text of the first element of a selector, once there is some.
    pub(crate) async fn text_of(&self, selector: &str) -> String {
        let text = self
            .until(&format!("document.querySelector({})?.innerText?.trim() || null", json!(selector)))
            .await;
        text.as_str().unwrap().to_owned()
    }

    /// Waits until an element says exactly this.
    pub(crate) async fn until_told(&self, name: &str, words: &str) {
        self.until(&format!(
            "document.querySelector({}).innerText.trim() === {}",
            json!(part(name)),
            json!(words)
        ))
        .await;
    }

    /// Waits until the button of a panel shows this count.
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

    /// No rule of axe-core is violated on the page as it is.
    pub(crate) async fn assert_accessible(&self) {
        assert_eq!(self.violations().await, json!([]), "accessibility");
    }

    /// The rules of axe-core that the page violates as it is.
    pub(crate) async fn violations(&self) -> Value {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page/node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{file}: {error}: run ./tests/run, which installs it"));
        let known = self.browser.eval("typeof window.axe === 'object'").await == true;
        self.browser.run_in_page(if known { "" } else { &axe }, VIOLATIONS).await
    }

    /// The browser has logged no errors.
    pub(crate) async fn assert_no_complaints(&self) {
        assert_eq!(self.browser.complaints().await, []);
    }

    /// The browser has logged no errors except for failed requests.
    pub(crate) async fn assert_only_network_complaints(&self) {
        let mut complaints = self.browser.complaints().await;
        complaints.retain(|(source, _)| source != "network");
        assert_eq!(complaints, []);
    }
}

/// The roles and texts of the messages on the page.
const MESSAGES: &str = "[...document.querySelectorAll('[data-testid=message]')]\
    .map((m) => [m.dataset.role, m.querySelector('.body').textContent.trim()])";

/// The violated rules, each with its first places.
const VIOLATIONS: &str = "axe.run(document, { resultTypes: ['violations'] }).then((result) => \
    result.violations.map((rule) => [rule.id, rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))";

const IDLE: &str = "(document.querySelector('[data-testid=stop]').hidden && \
    !document.querySelector('[data-testid=message][aria-busy]'))";

fn visibility(name: &str) -> String {
    let selector = json!(part(name));
    format!("(document.querySelector({selector})?.checkVisibility({{ visibilityProperty: true }}) ?? false)")
}
