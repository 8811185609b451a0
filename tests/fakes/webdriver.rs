//! A remote-controlled browser: the few commands of the WebDriver protocol that the tests need.
//!
//! Knows nothing of the console. Waits are always for a condition, never for a time.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::daemon::PATIENCE;

/// The protocol's key for an element's id.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Special keys, as the protocol encodes them.
pub(crate) mod key {
    pub(crate) const TAB: char = '\u{e004}';
    pub(crate) const ENTER: char = '\u{e007}';
    pub(crate) const SHIFT: char = '\u{e008}';
    pub(crate) const CONTROL: char = '\u{e009}';
    pub(crate) const ESCAPE: char = '\u{e00c}';
    pub(crate) const ALT: char = '\u{e00a}';
}

/// The kind of screen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Viewport {
    /// A window of this many points.
    Desktop(u32, u32),
    /// A small touch screen.
    Phone,
}

/// The preferred colour scheme.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Colours {
    Light,
    Dark,
}

/// A browser with its own profile. It ends when dropped.
#[derive(Debug)]
pub(crate) struct Browser {
    driver: Child,
    session: String,
    http: reqwest::Client,
    profile: Option<TempDir>,
}

impl Browser {
    /// Starts a browser with this language.
    pub(crate) async fn start(screen: Viewport, language: &str) -> Self {
        Self::with_profile(tempfile::tempdir().unwrap(), screen, language, &[]).await
    }

    /// Starts a browser whose microphone plays this WAV file, and which lets pages use it.
    pub(crate) async fn with_microphone(screen: Viewport, language: &str, wav: &[u8]) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let file = profile.path().join("microphone.wav");
        #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
        std::fs::write(&file, wav).unwrap();
        let args = [
            "--use-fake-device-for-media-stream".to_owned(),
            "--use-fake-ui-for-media-stream".to_owned(),
            format!("--use-file-for-fake-audio-capture={}", file.display()),
        ];
        Self::with_profile(profile, screen, language, &args).await
    }

    /// Quits the browser and starts another one with its profile.
    pub(crate) async fn restart(mut self, screen: Viewport, language: &str) -> Self {
        // A normal end, so that the page's storage is written.
        read(self.http.delete(&self.session).send().await).await.unwrap();
        let profile = self.profile.take().unwrap();
        drop(self);
        Self::with_profile(profile, screen, language, &[]).await
    }

    async fn with_profile(profile: TempDir, screen: Viewport, language: &str, further: &[String]) -> Self {
        shipagent::http_client::install_tls();
        let (driver, port) = start_driver(profile.path());
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let mut browser = Self { driver, session: String::new(), http, profile: Some(profile) };
        let url = format!("http://127.0.0.1:{port}/session");
        let wishes = capabilities(browser.profile.as_ref().unwrap().path(), screen, language, further);
        let answer = browser.send(&url, &wishes).await.unwrap_or_else(|error| panic!("no browser: {error}"));
        browser.session = format!("{url}/{}", answer["sessionId"].as_str().unwrap());
        browser
    }

    async fn send(&self, url: &str, body: &Value) -> Result<Value, String> {
        let sent =
            self.http.post(url).header("content-type", "application/json").body(body.to_string()).send();
        read(sent.await).await
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.send(&format!("{}/{path}", self.session), &body).await;
        answer.unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }

    async fn get(&self, path: &str) -> Value {
        let answer = read(self.http.get(format!("{}/{path}", self.session)).send().await).await;
        answer.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// A command of the browser's own protocol.
    async fn devtools(&self, command: &str, parameters: Value) {
        self.post("goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await;
    }

    /// Runs a script at the beginning of every page from now on.
    pub(crate) async fn on_every_page(&self, script: &str) {
        self.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    /// Opens a URL and waits until the page is loaded.
    pub(crate) async fn visit(&self, url: &str) {
        self.post("url", json!({ "url": url })).await;
    }

    /// Opens a tab and switches to it.
    pub(crate) async fn open_tab(&self) -> String {
        let tab = self.post("window/new", json!({ "type": "tab" })).await;
        let tab = tab["handle"].as_str().unwrap().to_owned();
        self.go_to_tab(&tab).await;
        tab
    }

    pub(crate) async fn tab(&self) -> String {
        self.get("window").await.as_str().unwrap().to_owned()
    }

    pub(crate) async fn tabs(&self) -> Vec<String> {
        let tabs = self.get("window/handles").await;
        tabs.as_array().unwrap().iter().map(|tab| tab.as_str().unwrap().to_owned()).collect()
    }

    /// Switches to another tab.
    pub(crate) async fn go_to_tab(&self, tab: &str) {
        self.post("window", json!({ "handle": tab })).await;
        // A background tab is not rendered.
        self.devtools("Page.bringToFront", json!({})).await;
    }

    /// Every cookie of the browser, of any host.
    pub(crate) async fn cookies(&self) -> Value {
        let all = json!({ "cmd": "Network.getAllCookies", "params": {} });
        self.post("goog/cdp/execute", all).await["cookies"].take()
    }

    /// Waits until a file of this name was downloaded completely, and returns its bytes.
    pub(crate) async fn downloaded(&self, name: &str) -> Vec<u8> {
        let path = self.profile.as_ref().unwrap().path().join("downloads").join(name);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        // The browser renames a file when it is complete.
        while !path.exists() {
            assert!(tokio::time::Instant::now() < deadline, "{name} was not downloaded");
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        std::fs::read(path).unwrap()
    }

    pub(crate) async fn address(&self) -> String {
        self.get("url").await.as_str().unwrap().to_owned()
    }

    pub(crate) async fn reload(&self) {
        self.post("refresh", json!({})).await;
    }

    /// The value of a JavaScript expression.
    pub(crate) async fn eval(&self, expression: &str) -> Value {
        self.post("execute/sync", json!({ "script": format!("return ({expression});"), "args": [] })).await
    }

    /// Runs a script in the page, then a JavaScript expression that gives a promise; returns its value.
    pub(crate) async fn run_in_page(&self, script: &str, promise: &str) -> Value {
        self.post("execute/sync", json!({ "script": script, "args": [] })).await;
        let script = format!(
            "const done = arguments[arguments.length - 1]; ({promise}).then(done, (error) => done(String(error)));"
        );
        self.post("execute/async", json!({ "script": script, "args": [] })).await
    }

    /// Waits until a JavaScript expression is true, and returns its value.
    pub(crate) async fn until(&self, expression: &str) -> Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let value = self.eval(expression).await;
            if !matches!(value, Value::Null | Value::Bool(false)) {
                return value;
            }
            if tokio::time::Instant::now() >= deadline {
                let shown = self.eval("document.body.innerText").await;
                panic!(
                    "waited in vain for {expression}; the page shows:\n{}",
                    shown.as_str().unwrap_or_default()
                );
            }
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }

    /// The element of a selector, once it is visible.
    async fn element(&self, selector: &str) -> String {
        let seen = format!(
            "document.querySelector({})?.checkVisibility({{ visibilityProperty: true }})",
            json!(selector)
        );
        self.until(&seen).await;
        let found = self.post("element", json!({ "using": "css selector", "value": selector })).await;
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    /// Waits until animations have ended; endless ones do not count.
    async fn rests(&self) {
        self.until("!document.getAnimations().some((a) => a.playState === 'running' && a.effect.getTiming().iterations === 1)")
            .await;
    }

    /// Clicks or taps in the middle of an element; fails if something covers it.
    pub(crate) async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        // A moving drawer cannot be clicked yet.
        self.rests().await;
        self.post(&format!("element/{element}/click"), json!({})).await;
    }

    /// Types into an element, key by key.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.post(&format!("element/{element}/value"), json!({ "text": text })).await;
    }

    /// Presses keys one after the other, at the current focus.
    pub(crate) async fn press(&self, keys: &str) {
        let strokes = keys.chars().flat_map(|key| [down(key), up(key)]).collect();
        self.strike(strokes).await;
    }

    /// Presses a key while another is held.
    pub(crate) async fn press_with(&self, held: char, key: char) {
        self.strike(vec![down(held), down(key), up(key), up(held)]).await;
    }

    async fn strike(&self, strokes: Vec<Value>) {
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("actions", json!({ "actions": [keyboard] })).await;
    }

    /// Sets the preferred colour scheme.
    pub(crate) async fn prefer(&self, colours: Colours) {
        let value = match colours {
            Colours::Light => "light",
            Colours::Dark => "dark",
        };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Stores a screenshot among the build results, for people. Returns its path.
    pub(crate) async fn picture(&self, name: &str) -> PathBuf {
        self.rests().await;
        let encoded = self.get("screenshot").await;
        let bytes = base64(encoded.as_str().unwrap());
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/screenshots");
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("{name}.png"));
        #[expect(clippy::disallowed_methods, reason = "a picture is not kept for ever")]
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The browser's log messages since the last call, each with its source.
    pub(crate) async fn complaints(&self) -> Vec<(String, String)> {
        let log = self.post("se/log", json!({ "type": "browser" })).await;
        let of = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let entries = log.as_array().unwrap().iter();
        entries
            .filter(|entry| ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap_or_default()))
            .map(|entry| (of(entry, "source"), of(entry, "message")))
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = i32::try_from(self.driver.id()).ok().and_then(Pid::from_raw).unwrap();
        // It may have ended already, and a failing test must not fail here a second time.
        kill_process_group(group, Signal::KILL).ok();
        drop(self.driver.wait());
    }
}

/// Starts the driver. The port that it chooses may be taken before it listens; then it ends, and is started again.
fn start_driver(profile: &Path) -> (Child, u16) {
    for _ in 0..3 {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", profile)
            .env("TMPDIR", profile)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // The browser and its helpers stay in the driver's process group, so that they end with it.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| {
                panic!("cannot start chromedriver ({error}): run ./tests/run, which installs it")
            });
        if let Some(port) = driver_port(&mut driver) {
            return (driver, port);
        }
        driver.wait().unwrap();
    }
    panic!("chromedriver ended at once, three times");
}

/// The port of the driver, from its output; `None` where it ended before it listened.
fn driver_port(driver: &mut Child) -> Option<u16> {
    let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
    let ready = said.find_map(|line| {
        line.unwrap().split_once("started successfully on port ").map(|(_, port)| port.to_owned())
    });
    ready.map(|port| port.trim_end_matches('.').parse().unwrap())
}

fn capabilities(profile: &Path, screen: Viewport, language: &str, further: &[String]) -> Value {
    let mut args: Vec<String> = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-breakpad",
        "--no-proxy-server",
        "--hide-scrollbars",
    ]
    .map(str::to_owned)
    .into();
    args.extend_from_slice(further);
    args.push(format!("--user-data-dir={}", profile.join("profile").display()));
    let downloads = profile.join("downloads");
    std::fs::create_dir_all(&downloads).unwrap();
    let mut options = json!({ "prefs": {
        "intl.accept_languages": language,
        "download.default_directory": downloads,
    } });
    match screen {
        Viewport::Desktop(width, height) => args.push(format!("--window-size={width},{height}")),
        Viewport::Phone => {
            let metrics =
                json!({ "width": 390, "height": 780, "pixelRatio": 2.0, "touch": true, "mobile": true });
            options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
        }
    }
    options["args"] = json!(args);
    json!({ "capabilities": { "alwaysMatch": {
        "goog:chromeOptions": options,
        "goog:loggingPrefs": { "browser": "ALL" },
    } } })
}

/// The driver's response, or its error.
async fn read(sent: Result<reqwest::Response, reqwest::Error>) -> Result<Value, String> {
    let text = sent.map_err(|error| error.to_string())?.text().await.map_err(|error| error.to_string())?;
    let mut answer: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    let value = answer["value"].take();
    match value["error"].as_str() {
        Some(error) => Err(format!("{error}: {}", value["message"].as_str().unwrap_or_default())),
        None => Ok(value),
    }
}

fn down(key: char) -> Value {
    json!({ "type": "keyDown", "value": key })
}

fn up(key: char) -> Value {
    json!({ "type": "keyUp", "value": key })
}

/// Decodes a driver's base64: one line, with padding.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = LETTERS.iter().position(|known| *known == letter).expect("base64");
        bits = bits << 6 | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}
