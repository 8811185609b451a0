//! A daemon whose start is timed from the outside, to a fraction of a millisecond.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fakes::daemon::{Project, TOKEN};
use crate::process::Process;

const POLL: Duration = Duration::from_micros(300);
const PATIENCE: Duration = Duration::from_secs(60);

/// A scratch project with an address of its own.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) project: Project,
    address: SocketAddr,
}

impl Site {
    /// The web adapter, a model that is never asked, nothing else.
    pub(crate) fn new() -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let web = json!({ "web": { "listen": address.to_string(), "token": TOKEN } });
        Self { project: Project::with_model("http://127.0.0.1:9/v1", json!({ "adapters": web })), address }
    }

    /// Starts the daemon; how long it took from there until `/readyz` said 200.
    pub(crate) fn start(&self) -> (Process, Duration) {
        let command = self.project.command(&["run"]);
        let begun = Instant::now();
        let mut process = Process::start(command);
        while !self.get("/readyz").is_some_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            assert!(begun.elapsed() < PATIENCE, "the daemon does not become ready");
            process.assert_alive();
            std::thread::sleep(POLL);
        }
        (process, begun.elapsed())
    }

    /// One request over a connection of its own; `None` where nothing listens.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        self.ask("GET", path, "")
    }

    /// The same with a body of JSON.
    pub(crate) fn post(&self, path: &str, body: &str) -> Option<String> {
        self.ask("POST", path, body)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}
