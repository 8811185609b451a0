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
    AddressingFacts, GroupsSection, LineReader, Rate, TextAdapter, TextConnection, TextLimits, TextLink,
    TextMessage, TextOutgoing, TextTransport, probe,
};
use shipagent::domain::{Capabilities, ChatKind, LengthUnit};
use shipagent::ports::{
    AdapterDef, AdapterError, AdapterIo, AdapterParts, BoxFuture, BuiltAdapter, ConfiguredAdapter, InitKey,
    InitValue, Probe, ProbeParts, parse_section, section_schema,
};
use shipagent::render::split;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
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
const PING: &str = "PING :shipagent\r\n";
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
        let adapter = TextAdapter::new(parts, &people, &channels, &self.groups, self.clone());
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

impl TextTransport for IrcSection {
    fn limits(&self) -> TextLimits {
        let capabilities = Capabilities::plain_text(2000, LengthUnit::Bytes);
        TextLimits { capabilities, rate: RATE, stale_after: Some(PING_AFTER * 3) }
    }

    /// PRIVMSG lines: none longer than the protocol allows, none cut inside a character, none empty.
    fn lines(&self, target: &str, text: &str) -> Vec<String> {
        let room = LINE.saturating_sub(PREFIX + "PRIVMSG  :\r\n".len() + target.len());
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("```"));
        let pieces =
            lines.flat_map(|line| split(&line.replace(char::is_control, " "), room, LengthUnit::Bytes));
        pieces.map(|piece| format!("PRIVMSG {target} :{}", piece.replace('\n', " "))).collect()
    }

    fn connect<'a>(
        &'a self,
        mut link: TextLink,
        io: &'a AdapterIo,
        stop: &'a CancellationToken,
    ) -> TextConnection<'a> {
        Box::pin(async move {
            let stream = within(TcpStream::connect((self.host.as_str(), self.port))).await?;
            let (reader, mut writer) = stream.into_split();
            let mut reader = LineReader::new(BufReader::new(reader), LINE * 32);
            let mut pings: VecDeque<oneshot::Sender<()>> = VecDeque::new();
            let mut me = self.nick.clone();
            let password = self.password.as_ref().map(ExposeSecret::expose_secret);
            let mut send = password.map(|password| format!("PASS {password}\r\n")).unwrap_or_default();
            send.push_str(&format!("NICK {me}\r\nUSER {me} 0 * :shipagent\r\n"));
            loop {
                within(writer.write_all(std::mem::take(&mut send).as_bytes())).await?;
                let line = tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    outgoing = link.next() => {
                        send = match outgoing {
                            TextOutgoing::Line(line) => line + "\r\n",
                            TextOutgoing::Confirm(confirm) => {
                                pings.push_back(confirm);
                                PING.to_owned()
                            }
                        };
                        continue;
                    }
                    line = timeout(PING_AFTER, reader.next_line()) => match line {
                        Ok(line) => line.map_err(broken)?,
                        Err(_) if !pings.is_empty() => return Err(broken(io::ErrorKind::TimedOut.into())),
                        Err(_) => {
                            pings.push_back(oneshot::channel().0);
                            send = PING.to_owned();
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
                        send = self.channels.iter().map(|name| format!("JOIN {name}\r\n")).collect();
                        link.open();
                    }
                    "433" if me.len() < self.nick.len() + 5 => {
                        me.push('_'); // The nick is in use.
                        send = format!("NICK {me}\r\n");
                    }
                    "432" | "464" | "465" => return Err(AdapterError::Fatal(last.to_owned())),
                    "433" | "ERROR" => return Err(AdapterError::Broken(last.to_owned())),
                    "PRIVMSG" => link.receive(message(from, params.first(), last, &me)).await,
                    _ => {}
                }
                link.alive(io);
            }
        })
    }
}

async fn within<T>(step: impl Future<Output = io::Result<T>>) -> Result<T, AdapterError> {
    let ended = timeout(ANSWER_WITHIN, step).await;
    ended.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(broken)
}

fn broken(error: io::Error) -> AdapterError {
    AdapterError::Broken(format!("the connection broke: {error}"))
}

/// A line as the pipeline gets it. Names are the same in upper and lower case.
fn message(nick: &str, target: Option<&&str>, text: &str, me: &str) -> TextMessage {
    let channel = target.filter(|target| target.starts_with(['#', '&']));
    let is_me = |word: &str| word.trim_end_matches([':', ',', '?', '!', '.']).eq_ignore_ascii_case(me);
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let facts = AddressingFacts {
        mentions_me: text.split(' ').any(is_me),
        turns_to_another: first.ends_with(':') && !is_me(first),
        ..AddressingFacts::default()
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
