//! An IRC adapter outside the crate: shipagent with one more platform, in one file. `docs/adapters.md` walks through it.
//!
//! IRC has no message ids, no receipts and no redelivery: a line counts as received once it is on the disk, and a reply as
//! delivered once the server has answered a PING behind it. A nick is as trustworthy as the network makes it.

use std::collections::VecDeque;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use shipagent::adapters::chat::{
    Facts, GroupsSection, Pace, Rate, TextIntake, TextMessage, plain_words, probe,
};
use shipagent::domain::{Capabilities, ChatKind, LengthUnit, Platform};
use shipagent::ports::{
    Adapter, AdapterDef, AdapterError, AdapterIo, AdapterParts, Attempt, BoxFuture, BuiltAdapter, Clock,
    ConfiguredAdapter, Delivering, DeliveryError, InitKey, InitValue, OutboxEntry, Probe, ProbeParts,
    Receipt, Running, parse_section, section_schema,
};
use shipagent::render::split;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The platform's line in the adapter table.
const DEF: AdapterDef = AdapterDef {
    name: "irc",
    title: "IRC",
    about: "IRC, by a nick of yours.",
    schema: section_schema::<IrcSection>,
    parse: parse_section::<IrcSection>,
    init: &[
        InitKey { key: "host", value: SERVER },
        InitKey { key: "channels", value: InitValue::Json("[]") },
    ],
    aliases: &[],
    address_key: "host",
    invitation: None,
};
const SERVER: InitValue = InitValue::Ask { en: "IRC server", zh: "IRC 服务器", default: "localhost" };

/// The longest line of the protocol, with its end.
const LINE: usize = 512;
/// What the server puts before a line that it passes on: `:nick!user@host `, at its longest.
const PREFIX: usize = 120;
/// Within this time the server must have taken a connection or a line, and confirmed a reply.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const PING: &str = "PING :shipagent";
/// After this time without a line the server is asked whether it is there.
const PING_AFTER: Duration = Duration::from_secs(45);
/// Servers throttle or disconnect those who send faster.
const RATE: Rate = Rate { burst: 5, every: Duration::from_millis(700) };

fn main() -> ExitCode {
    shipagent::program::run(&shipagent::adapters::builtin().with(DEF))
}

/// The `adapters.irc` section of `ship.json`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct IrcSection {
    /// Whether the adapter runs.
    enabled: bool,
    /// The server.
    #[schemars(extend("format" = "host-name"))]
    host: String,
    /// Its port, without TLS.
    #[schemars(range(min = 1, max = 65535))]
    port: u16,
    /// What the bot is called; underscores are added while the name is in use.
    #[schemars(length(min = 1, max = 30))]
    nick: String,
    /// The server's password, best as ${VAR}.
    #[schemars(with = "Option<String>", extend("writeOnly" = true))]
    password: Option<SecretString>,
    /// The channels the bot joins and serves.
    #[schemars(inner(length(min = 2)))]
    channels: Vec<String>,
    /// Nicks of people who may write to the bot in private.
    #[schemars(inner(length(min = 1)))]
    allowed_users: Vec<String>,
    /// How the agent behaves in channels.
    groups: GroupsSection,
}

impl Default for IrcSection {
    fn default() -> Self {
        Self {
            enabled: true,
            host: String::new(),
            port: 6667,
            nick: "shipagent".to_owned(),
            password: None,
            channels: Vec::new(),
            allowed_users: Vec::new(),
            groups: GroupsSection::default(),
        }
    }
}

impl ConfiguredAdapter for IrcSection {
    fn enabled(&self) -> bool {
        self.enabled
    }

    fn missing(&self) -> Vec<&'static str> {
        if self.host.is_empty() { vec!["host"] } else { Vec::new() }
    }

    fn build(&self, parts: AdapterParts) -> BuiltAdapter {
        let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>();
        let (people, channels) = (lower(&self.allowed_users), lower(&self.channels));
        let adapter = IrcAdapter {
            intake: TextIntake::new(&parts, &people, &channels, &self.groups),
            section: self.clone(),
            platform: parts.platform,
            clock: parts.chat.clock,
            pace: Pace::new(RATE),
            link: watch::Sender::new(None),
        };
        BuiltAdapter { adapter: Arc::new(adapter), hook: None }
    }

    fn probe(&self, with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async move {
            vec![match TcpStream::connect((self.host.as_str(), self.port)).await {
                Ok(_) => probe::bot(&format!("{} at {}", self.nick, self.host), with.language),
                Err(error) => probe::unreachable(&DEF, &error.to_string(), with.language),
            }]
        })
    }
}

/// A line for the server; with a PING, who is told that the server has taken every line before it.
type Outgoing = (String, Option<oneshot::Sender<()>>);

#[derive(Debug)]
struct IrcAdapter {
    platform: Platform,
    section: IrcSection,
    clock: Arc<dyn Clock>,
    intake: TextIntake,
    pace: Pace,
    /// The way to the server, while the bot is registered there.
    link: watch::Sender<Option<mpsc::Sender<Outgoing>>>,
}

impl Adapter for IrcAdapter {
    fn platform(&self) -> Platform {
        self.platform.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::plain_text(2000, LengthUnit::Bytes)
    }

    fn stale_after(&self) -> Option<Duration> {
        Some(PING_AFTER * 3)
    }

    /// One connection. When it breaks, the daemon runs this again, after a wait that doubles up to a minute.
    fn run(self: Arc<Self>, io: AdapterIo, stop: CancellationToken) -> Running {
        Box::pin(async move {
            let (heard, inbox) = mpsc::channel(256);
            // What was heard before the connection broke is still taken in.
            let (ended, ()) = tokio::join!(self.converse(&io, &stop, heard), self.take_in(&io, inbox));
            self.link.send_replace(None);
            ended
        })
    }

    fn deliver(&self, entry: OutboxEntry, _attempt: Attempt) -> Delivering<'_> {
        Box::pin(async move {
            let later = |reason: &str| DeliveryError::Retry { after: None, reason: reason.to_owned() };
            let Some(words) = plain_words(&entry.intent.intent, self.clock.now()) else {
                return Err(DeliveryError::Permanent {
                    reason: "shown in passing, not delivered".to_owned(),
                });
            };
            let link = self.link.borrow().clone().ok_or_else(|| later("not connected"))?;
            let target = entry.intent.thread_id.chat();
            for line in lines(&target, &words) {
                self.pace.wait(&target, RATE).await;
                link.send((line, None)).await.map_err(|_| later("disconnected"))?;
            }
            let (confirm, confirmed) = oneshot::channel();
            link.send((PING.to_owned(), Some(confirm))).await.map_err(|_| later("disconnected"))?;
            match timeout(ANSWER_WITHIN, confirmed).await {
                Ok(Ok(())) => Ok(Receipt::default()),
                Ok(Err(_)) | Err(_) => Err(later("the server did not confirm the reply")),
            }
        })
    }
}

impl IrcAdapter {
    /// Speaks with the server until the connection or the daemon ends.
    async fn converse(
        &self,
        io: &AdapterIo,
        stop: &CancellationToken,
        heard: mpsc::Sender<TextMessage>,
    ) -> Result<(), AdapterError> {
        let stream = within(TcpStream::connect((self.section.host.as_str(), self.section.port))).await?;
        let (reader, mut writer) = stream.into_split();
        let mut reader = LineReader { reader: BufReader::new(reader), partial: Vec::new() };
        let (link, mut outgoing) = mpsc::channel(64);
        let mut pings: VecDeque<oneshot::Sender<()>> = VecDeque::new();
        let mut me = self.section.nick.clone();
        let password = self.section.password.as_ref().map(ExposeSecret::expose_secret);
        let mut send = password.map(|password| format!("PASS {password}\r\n")).unwrap_or_default();
        send.push_str(&format!("NICK {me}\r\nUSER {me} 0 * :shipagent\r\n"));
        loop {
            within(writer.write_all(std::mem::take(&mut send).as_bytes())).await?;
            let line = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                Some((line, confirm)) = outgoing.recv() => {
                    pings.extend(confirm);
                    send = line + "\r\n";
                    continue;
                }
                line = timeout(PING_AFTER, reader.next_line()) => match line {
                    Ok(line) => line.map_err(broken)?,
                    Err(_) if !pings.is_empty() => return Err(broken(io::ErrorKind::TimedOut.into())),
                    Err(_) => {
                        pings.push_back(oneshot::channel().0);
                        send = format!("{PING}\r\n");
                        continue;
                    }
                },
            };
            let (from, command, params) = parse(&line);
            let last = params.last().copied().unwrap_or_default();
            match command {
                "PING" => send = format!("PONG :{last}\r\n"),
                "PONG" => drop(pings.pop_front().map(|confirm| confirm.send(()))),
                "001" => {
                    send = self.section.channels.iter().map(|name| format!("JOIN {name}\r\n")).collect();
                    self.link.send_replace(Some(link.clone()));
                }
                "433" if me.len() < self.section.nick.len() + 5 => {
                    me.push('_'); // The nick is in use.
                    send = format!("NICK {me}\r\n");
                }
                "432" | "464" | "465" => return Err(AdapterError::Fatal(last.to_owned())),
                "433" | "ERROR" => return Err(AdapterError::Broken(last.to_owned())),
                // The receiver never waits for this connection, so this wait ends.
                "PRIVMSG" => drop(heard.send(message(from, params.first(), last, &me)).await),
                _ => {}
            }
            if self.link.borrow().is_some() {
                io.health.alive(io.clock.now());
            }
        }
    }

    async fn take_in(&self, io: &AdapterIo, mut inbox: mpsc::Receiver<TextMessage>) {
        while let Some(message) = inbox.recv().await {
            let taken = self.intake.take_surely(&io.threads, &message).await;
            let (Some(words), Some(link)) = (taken, self.link.borrow().clone()) else { continue };
            for line in lines(&message.chat, &words) {
                // A notice may be lost; a wait here could be one for the connection that fills the inbox.
                drop(link.try_send((line, None)));
            }
        }
    }
}

/// Bounds a step of the connection.
async fn within<T>(step: impl Future<Output = io::Result<T>>) -> Result<T, AdapterError> {
    let ended = timeout(ANSWER_WITHIN, step).await;
    ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(broken)
}

fn broken(error: io::Error) -> AdapterError {
    AdapterError::Broken(format!("the connection broke: {error}"))
}

/// A text as PRIVMSG lines: none longer than the protocol allows, none cut inside a character, none empty.
fn lines(target: &str, text: &str) -> Vec<String> {
    let room = LINE.saturating_sub(PREFIX + "PRIVMSG  :\r\n".len() + target.len());
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
    let pieces = lines.flat_map(|line| split(&line.replace(char::is_control, " "), room, LengthUnit::Bytes));
    pieces.map(|piece| format!("PRIVMSG {target} :{}", piece.replace('\n', " "))).collect()
}

/// A line as the threads are told of it. Names are the same in upper and lower case.
fn message(nick: &str, target: Option<&&str>, text: &str, me: &str) -> TextMessage {
    let channel = target.filter(|target| target.starts_with(['#', '&']));
    let is_me = |word: &str| word.trim_end_matches([':', ',', '?', '!', '.']).eq_ignore_ascii_case(me);
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let facts = Facts {
        mentions_me: text.split(' ').any(is_me),
        turns_to_another: first.ends_with(':') && !is_me(first),
        ..Facts::default()
    };
    let text = if first.ends_with([':', ',']) && is_me(first) { rest.trim() } else { text.trim() };
    TextMessage {
        id: None,
        chat: channel.copied().unwrap_or(nick).to_lowercase(),
        kind: if channel.is_some() { ChatKind::Group } else { ChatKind::Direct },
        user: nick.to_lowercase(),
        name: Some(nick.to_owned()),
        // IRC clients take a line that begins with a slash for themselves: `!status` is `/status`.
        text: text.strip_prefix('!').map_or_else(|| text.to_owned(), |command| format!("/{command}")),
        facts,
    }
}

/// The nick, the command and the parameters of a line.
fn parse(line: &str) -> (&str, &str, Vec<&str>) {
    let (prefix, rest) = line.strip_prefix(':').and_then(|line| line.split_once(' ')).unwrap_or(("", line));
    let (head, trailing) = rest.split_once(" :").map_or((rest, None), |(head, last)| (head, Some(last)));
    let mut words = head.split(' ').filter(|word| !word.is_empty());
    let command = words.next().unwrap_or_default();
    (prefix.split('!').next().unwrap_or_default(), command, words.chain(trailing).collect())
}

/// Reads lines of bounded length; dropping a read loses nothing.
#[derive(Debug)]
struct LineReader {
    reader: BufReader<OwnedReadHalf>,
    partial: Vec<u8>,
}

impl LineReader {
    async fn next_line(&mut self) -> io::Result<String> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            self.partial.extend(chunk.iter().take(taken));
            self.reader.consume(taken);
            if taken == 0 || self.partial.len() > LINE * 32 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if end.is_some() {
                return Ok(String::from_utf8_lossy(&std::mem::take(&mut self.partial)).trim_end().to_owned());
            }
        }
    }
}
