//! `shipagent chat` and other commands in a pseudo-terminal: keys in, screen output out.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::fakes::daemon::{PATIENCE, Project};

/// The prompt of a project that is named `tester`.
pub(super) const PROMPT: &str = "tester › ";

/// A command on its own pseudo-terminal.
pub(crate) struct Terminal {
    script: Child,
    keyboard: ChildStdin,
    output: mpsc::Receiver<Vec<u8>>,
    /// Output that was not consumed yet.
    unread: String,
}

impl Terminal {
    pub(super) fn open(project: &Project, env: &[(&str, &str)]) -> Self {
        Self::run(&project.command(&["chat"]), env)
    }

    /// Runs a command on a pseudo-terminal.
    pub(crate) fn run(command: &Command, env: &[(&str, &str)]) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let line: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
        let mut script = Command::new("script");
        script.args(["-qec", &format!("exec {}", line.join(" ")), "/dev/null"]).env_clear();
        script.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.env("TERM", "xterm").env("SHELL", "/bin/sh").envs(env.iter().copied());
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut script = script.spawn().expect("script, of util-linux");
        let (keyboard, mut shown) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = shown.read(&mut bytes) {
                drop(sender.send(bytes[..count].to_vec()));
            }
        });
        Self { script, keyboard, output, unread: String::new() }
    }

    /// Waits until this is shown; returns the text before it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.unread.find(text) {
                let rest = self.unread.split_off(at + text.len());
                return std::mem::replace(&mut self.unread, rest);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.unread.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("waited in vain for {text:?}; the screen says\n{}", self.unread),
            }
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end: the exit code, and the last output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.script.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the chat does not end:\n{}", self.unread);
            std::thread::sleep(Duration::from_millis(5));
        };
        let rest: Vec<u8> = self.output.iter().flatten().collect();
        self.unread.push_str(&String::from_utf8_lossy(&rest));
        (status.code(), std::mem::take(&mut self.unread))
    }
}
