//! The real binary in a temporary project: started, called, killed and started again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::checker::check_project;

/// The token of every temporary project.
pub(crate) const TOKEN: &str = "test-token-0123456789";

/// How long a test waits for an expected event, also on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary project. Its thread files are checked when it is dropped.
#[derive(Debug)]
pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    /// A project with an `Agent.md` and this `ship.json`, to which a listen address and the token are added.
    pub(crate) fn new(mut config: Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let web = &mut config["adapters"]["web"];
        if web.is_null() {
            *web = json!({ "listen": "127.0.0.1:0", "token": TOKEN });
        }
        let project = Self { dir };
        project.write("Agent.md", "You are the agent of a scratch project. Say hello.\n");
        project.write("ship.json", &config.to_string());
        project
    }

    /// A project whose model is at this address.
    pub(crate) fn with_model(url: &str, extra: Value) -> Self {
        let mut config = json!({
            "llm": { "provider": "openai", "baseUrl": url, "apiKey": "sk-test-canary-123456", "model": "fake", "timeoutSecs": 5 },
        });
        merge(&mut config, extra);
        Self::new(config)
    }

    /// A directory without any file.
    pub(crate) fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// The token that a daemon without a configured one made.
    pub(crate) fn own_token(&self) -> String {
        let text = std::fs::read_to_string(self.path().join(".ship/run/token")).unwrap();
        text.trim().to_owned()
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
        std::fs::write(path, text).unwrap();
    }

    /// The log of all its daemons.
    pub(crate) fn log(&self) -> String {
        let files = std::fs::read_dir(self.path().join(".ship/logs")).into_iter().flatten().flatten();
        files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect()
    }

    pub(crate) fn thread_file(&self, thread: &str) -> PathBuf {
        let name = thread.replace('%', "%25").replace(':', "%3A");
        self.path().join(".ship/threads").join(format!("{name}.jsonl"))
    }

    /// Runs a command of the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).stdin(Stdio::null()).output().unwrap();
        Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The binary on this project, with an environment that contains nothing of the machine's.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shipagent"));
        command.args(args).arg("-C").arg(self.path());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.path()).env("LANG", "C.UTF-8");
        command
    }

    /// From the next start on, the daemon listens at its current, randomly chosen address.
    pub(crate) fn keep_address(&self, daemon: &Daemon) {
        let text = std::fs::read_to_string(self.path().join("ship.json")).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["adapters"]["web"]["listen"] = json!(daemon.base.trim_start_matches("http://"));
        self.write("ship.json", &config.to_string());
    }

    /// Starts the daemon and waits until it is ready.
    pub(crate) async fn start(&self) -> Daemon {
        Daemon::start(self.command(&["run"]), self.path()).await
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            check_project(self.dir.path());
        }
    }
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running daemon, killed on drop.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    pub(crate) base: String,
    pub(crate) http: reqwest::Client,
}

impl Daemon {
    /// Starts a command that serves the project and waits until it reports that it is ready.
    pub(crate) async fn start(mut command: Command, project: &Path) -> Self {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Self::announced(command, project).await;
        daemon
            .until("the daemon to be ready", async |daemon: &Self| {
                let ready = daemon.http.get(format!("{}/readyz", daemon.base)).send().await;
                ready.is_ok_and(|answer| answer.status() == 200)
            })
            .await;
        daemon
    }

    /// Starts a command that serves the project and waits until it reports its address, ready or not.
    pub(crate) async fn announced(mut command: Command, project: &Path) -> Self {
        shipagent::http_client::install_tls();
        let address = project.join(".ship/run/address");
        drop(std::fs::remove_file(&address));
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut daemon = Self { child, base: String::new(), http };
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                panic!("the daemon ended at once: {status}");
            }
            assert!(tokio::time::Instant::now() < deadline, "the daemon does not say where it is");
            if let Ok(text) = std::fs::read_to_string(&address)
                && text.ends_with('\n')
            {
                daemon.base = format!("http://{}", text.trim());
                return daemon;
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Waits for a pairing request, and approves it for a guest.
    pub(crate) async fn let_in_whoever_asks(&self) {
        self.until("the code", async |daemon| !daemon.get_json("/api/access").await["asking"][0].is_null())
            .await;
        let code = self.get_json("/api/access").await["asking"][0]["code"].clone();
        let body = json!({ "code": code, "role": "guest" });
        assert_eq!(self.post("/api/access/approve", &body).send().await.unwrap().status(), 200);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) async fn stop(self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.ended().await
    }

    /// Waits for the end.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(tokio::time::Instant::now() < deadline, "the daemon does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.get(format!("{}{path}", self.base)).bearer_auth(TOKEN)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.base)).bearer_auth(TOKEN);
        request.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        let answer = self.get(path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// One message over `/api/execute`, to its end.
    pub(crate) async fn execute(&self, body: Value) -> Value {
        let answer = self.post("/api/execute", &body).timeout(PATIENCE).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until a thread is in this state.
    pub(crate) async fn until_state(&self, thread: &str, state: &str) {
        self.until(&format!("{thread} to be {state}"), async |daemon: &Self| {
            let threads = daemon.get_json("/api/threads").await;
            let threads = threads["threads"].as_array().unwrap().clone();
            threads.iter().any(|known| known["threadId"] == thread && known["state"] == state)
        })
        .await;
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !is_so(self).await {
            assert!(tokio::time::Instant::now() < deadline, "waited in vain for {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Merges one JSON object into another, deeply.
pub(crate) fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}
