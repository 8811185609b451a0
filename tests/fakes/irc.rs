//! A real IRC server (`ngircd`, installed by `tests/setup`) and simulated people.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::daemon::PATIENCE;

/// The server. It stops when dropped.
#[derive(Debug)]
pub(crate) struct IrcServer {
    address: SocketAddr,
    dir: TempDir,
    child: Child,
}

impl IrcServer {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        let config = format!(
            "[Global]\nName = irc.test\nInfo = test\nListen = 127.0.0.1\nPorts = {}\nMotdPhrase = test\n\
             [Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 30\nMaxPenaltyTime = 0\n\
             [Options]\nDNS = no\nIdent = no\nPAM = no\n",
            address.port()
        );
        #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
        std::fs::write(dir.path().join("ngircd.conf"), config).unwrap();
        drop(free);
        let child = spawn(&dir);
        let server = Self { address, dir, child };
        server.wait_until_up().await;
        server
    }

    /// Ends the server, and with it every connection, and starts it again at the same address.
    pub(crate) async fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.dir);
        self.wait_until_up().await;
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    async fn wait_until_up(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while TcpStream::connect(self.address).await.is_err() {
            assert!(tokio::time::Instant::now() < deadline, "ngircd does not start");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn spawn(dir: &TempDir) -> Child {
    let mut command = Command::new("ngircd");
    command.env("PATH", "/usr/sbin:/usr/bin:/bin").arg("-n").arg("-f").arg(dir.path().join("ngircd.conf"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("ngircd is installed by tests/setup")
}

impl Drop for IrcServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) from: String,
    pub(crate) target: String,
    pub(crate) text: String,
    /// The length of the whole line, with its end.
    pub(crate) bytes: usize,
}

/// A person with their own client.
#[derive(Debug)]
pub(crate) struct IrcPerson {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
    /// Every message so far.
    pub(crate) received: Vec<Received>,
}

impl IrcPerson {
    /// A person with this nick, in these channels.
    pub(crate) async fn join(server: &IrcServer, nick: &str, channels: &[&str]) -> Self {
        let (reader, writer) = TcpStream::connect(server.address).await.unwrap().into_split();
        let mut person = Self { lines: BufReader::new(reader).lines(), writer, received: Vec::new() };
        person.send(&format!("NICK {nick}\r\nUSER {nick} 0 * :{nick}")).await;
        person.until_line("the welcome", |line| line.contains(" 001 ")).await;
        for channel in channels {
            person.send(&format!("JOIN {channel}")).await;
            person.until_line("the channel", |line| line.contains(" 366 ")).await;
        }
        person
    }

    async fn send(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn say(&mut self, target: &str, text: &str) {
        self.send(&format!("PRIVMSG {target} :{text}")).await;
    }

    /// Waits until this nick is in a channel.
    pub(crate) async fn until_present(&mut self, nick: &str, channel: &str) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            self.send(&format!("NAMES {channel}")).await;
            let mut there = false;
            self.until_line("the names", |line| {
                let names = line.split_once(" 353 ").and_then(|(_, rest)| rest.split_once(" :"));
                there |= names.is_some_and(|(_, names)| {
                    names.split(' ').any(|name| name.trim_start_matches('@') == nick)
                });
                line.contains(" 366 ")
            })
            .await;
            if there {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{nick} does not come to {channel}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for a message that contains this text.
    pub(crate) async fn until(&mut self, words: &str) -> Received {
        let known = self.received.len();
        self.until_line(words, |line| line.contains(" PRIVMSG ") && line.contains(words)).await;
        assert!(self.received.len() > known);
        self.received.last().cloned().unwrap()
    }

    /// How often exactly this text was received.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.received.iter().filter(|received| received.text == text).count()
    }

    async fn until_line(&mut self, what: &str, mut found: impl FnMut(&str) -> bool) {
        let read = async {
            loop {
                let line = self.lines.next_line().await.unwrap().expect("the server keeps the connection");
                if let Some(token) = line.strip_prefix("PING ") {
                    let pong = format!("PONG {token}\r\n");
                    self.writer.write_all(pong.as_bytes()).await.unwrap();
                }
                self.received.extend(message(&line));
                if found(&line) {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, read).await.unwrap_or_else(|_| panic!("waited in vain for {what}"));
    }
}

fn message(line: &str) -> Option<Received> {
    let (prefix, rest) = line.strip_prefix(':')?.split_once(" PRIVMSG ")?;
    let (target, text) = rest.split_once(" :")?;
    let from = prefix.split('!').next()?.to_owned();
    // The reader has removed the two characters of the line end.
    Some(Received { from, target: target.to_owned(), text: text.to_owned(), bytes: line.len() + 2 })
}
