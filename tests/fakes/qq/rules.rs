//! The state and the rules of the platform. No sockets here.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

/// A failure of the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Refused with this status and code.
    Refuse(u16, u64),
    /// The message is shown, and the connection breaks before the response.
    Cut,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    /// `users`, `groups`, `channels` or `dms`.
    pub(crate) scene: String,
    pub(crate) chat: String,
    /// The id it replies to, and its sequence number there.
    pub(crate) answers: String,
    pub(crate) seq: u64,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// An event that can be replied to.
#[derive(Clone, Debug)]
struct Repliable {
    chat: String,
    at: Instant,
    used: Vec<u64>,
    /// The sequence numbers of refused messages.
    spent: Vec<u64>,
}

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upload {
    pub(crate) path: String,
    pub(crate) file_type: u64,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) info: String,
}

/// What the gateway should do to the connected bot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Push {
    Frame(Value),
    Close(u16),
}

#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) base: String,
    pub(crate) gateway: String,
    // Tokens.
    pub(crate) token_lasts: u64,
    pub(crate) tokens: Vec<String>,
    pub(crate) good_token: Option<String>,
    // The gateway.
    pub(crate) beat_ms: u64,
    pub(crate) silent: bool,
    pub(crate) intents_granted: u64,
    pub(crate) session: Option<String>,
    pub(crate) sessions: u64,
    pub(crate) events: Vec<(u64, Value)>,
    pub(crate) unsent: VecDeque<Value>,
    pub(crate) next_seq: u64,
    pub(crate) pushes: VecDeque<Push>,
    /// How to refuse the next resume: a close code, or 0 for an invalid session.
    pub(crate) refuse_resume: VecDeque<u16>,
    pub(crate) identified: Vec<u64>,
    pub(crate) resumed: Vec<u64>,
    pub(crate) beats: u64,
    // Messages.
    pub(crate) window: Duration,
    pub(crate) markdown: bool,
    pub(crate) links: bool,
    pub(crate) longest: usize,
    pub(crate) faults: VecDeque<Fault>,
    repliable: HashMap<String, Repliable>,
    pub(crate) sent: Vec<Sent>,
    /// Every attempt: path, body and the response code.
    pub(crate) tries: Vec<(String, Value, u64)>,
    pub(crate) typing: usize,
    pub(crate) uploads: Vec<Upload>,
    pub(crate) acknowledged: Vec<(String, u64)>,
    /// Files that people send.
    pub(crate) files: HashMap<String, Vec<u8>>,
    /// Whether file downloads are delayed while this is true.
    pub(crate) holds_files: bool,
    /// Whether a refused message uses up its sequence number.
    pub(crate) refusals_count: bool,
    /// Whether the server has only `/gateway/bot`, sends no event numbers, has no names and no typing indicator.
    pub(crate) minimal: bool,
    /// The roles of people in guilds.
    pub(crate) roles: HashMap<String, Vec<&'static str>>,
    pub(crate) numbers: u64,
}

/// A refusal: status, code, message.
pub(crate) type Refusal = (u16, u64, &'static str);

impl Rules {
    pub(super) fn new(gateway: String) -> Self {
        Self {
            base: String::new(),
            gateway,
            token_lasts: 7200,
            tokens: Vec::new(),
            good_token: None,
            beat_ms: 30_000,
            silent: false,
            intents_granted: u64::MAX,
            session: None,
            sessions: 0,
            events: Vec::new(),
            unsent: VecDeque::new(),
            next_seq: 1,
            pushes: VecDeque::new(),
            refuse_resume: VecDeque::new(),
            identified: Vec::new(),
            resumed: Vec::new(),
            beats: 0,
            window: Duration::from_secs(300),
            markdown: false,
            links: false,
            longest: 5000,
            faults: VecDeque::new(),
            repliable: HashMap::new(),
            sent: Vec::new(),
            tries: Vec::new(),
            typing: 0,
            uploads: Vec::new(),
            acknowledged: Vec::new(),
            files: HashMap::new(),
            holds_files: false,
            refusals_count: false,
            minimal: false,
            roles: HashMap::new(),
            numbers: 0,
        }
    }

    /// Closes the bot's connection with this code.
    pub(crate) fn close(&mut self, code: u16) {
        self.pushes.push_back(Push::Close(code));
    }

    /// Sends the bot this frame.
    pub(crate) fn frame(&mut self, frame: Value) {
        self.pushes.push_back(Push::Frame(frame));
    }

    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The texts of the messages in a chat, in order.
    pub(crate) fn texts(&self, chat: &str) -> Vec<String> {
        self.sent.iter().filter(|sent| sent.chat == chat).map(|sent| sent.text.clone()).collect()
    }

    pub(super) fn hand_out_token(&mut self) -> Value {
        let number = self.number();
        let token = format!("tok-canary-{number}");
        self.tokens.push(token.clone());
        self.good_token = Some(token.clone());
        // A string, as in the platform's documentation.
        json!({ "access_token": token, "expires_in": self.token_lasts.to_string() })
    }

    pub(super) fn is_authorized(&self, header: Option<&str>) -> bool {
        let good = self.good_token.as_ref().map(|token| format!("QQBot {token}"));
        good.is_some() && good.as_deref() == header
    }

    /// Registers an event that can be replied to.
    pub(crate) fn repliable(&mut self, id: &str, chat: &str) {
        let new =
            Repliable { chat: chat.to_owned(), at: Instant::now(), used: Vec::new(), spent: Vec::new() };
        self.repliable.entry(id.to_owned()).or_insert(new);
    }

    /// Queues an event for the bot.
    pub(super) fn emit(&mut self, name: &str, event_id: &str, body: Value) {
        self.unsent.push_back(json!({ "op": 0, "t": name, "id": event_id, "d": body }));
        self.number_events();
    }

    /// Moves queued events into the session, if there is one.
    pub(super) fn number_events(&mut self) {
        while self.session.is_some()
            && let Some(mut frame) = self.unsent.pop_front()
        {
            frame["s"] = self.next_seq.into();
            self.events.push((self.next_seq, frame));
            self.next_seq += 1;
        }
    }

    /// A message of the bot. Returns its response.
    pub(super) fn post(&mut self, scene: &str, chat: &str, body: Value) -> Result<(Value, bool), Refusal> {
        let fault = self.faults.pop_front();
        let judged = match fault {
            Some(Fault::Refuse(status, code)) => Err((status, code, "on purpose")),
            Some(Fault::Cut) | None => self.judge(scene, chat, &body),
        };
        let path = format!("{scene}/{chat}");
        let code = judged.as_ref().map_or_else(|(_, code, _)| *code, |()| 0);
        self.tries.push((path, body.clone(), code));
        let (answers, seq) = pair(&body);
        if judged.is_err()
            && self.refusals_count
            && let Some(known) = self.repliable.get_mut(&answers)
        {
            known.spent.push(seq);
        }
        judged?;
        if let Some(known) = self.repliable.get_mut(&answers) {
            known.used.push(seq);
        }
        if body["msg_type"] == 6 {
            self.typing += 1;
        } else {
            let words = body["markdown"]["content"].as_str().or_else(|| body["content"].as_str());
            let text = words.unwrap_or_default().to_owned();
            let (scene, chat) = (scene.to_owned(), chat.to_owned());
            self.sent.push(Sent { scene, chat, answers, seq, text, body });
        }
        let id = format!("BOT-{}", self.number());
        Ok((json!({ "id": id, "timestamp": 1_700_000_000 }), fault == Some(Fault::Cut)))
    }

    fn judge(&self, scene: &str, chat: &str, body: &Value) -> Result<(), Refusal> {
        let (answers, seq) = pair(body);
        if answers.is_empty() {
            return Err((400, 40_034_102, "active messages are not granted"));
        }
        let known = self.repliable.get(&answers).filter(|known| known.chat == chat);
        let Some(known) = known else { return Err((400, 40_034_024, "msg_id is invalid")) };
        let v2 = matches!(scene, "users" | "groups");
        if v2 && (known.used.contains(&seq) || known.spent.contains(&seq)) {
            return Err((400, 40_054_005, "the message was sent already"));
        }
        if known.at.elapsed() > self.window {
            return Err((400, 40_034_005, "the message is too old to be replied to"));
        }
        if v2 && known.used.len() >= 5 {
            return Err((400, 40_034_128, "replied to too often"));
        }
        if body["msg_type"] == 6 && self.minimal {
            return Err((400, 12_345, "what is that"));
        }
        if body["msg_type"] == 2 && !self.markdown {
            return Err((400, 304_036, "no permission for markdown"));
        }
        if body["msg_type"] == 7 {
            let info = &body["media"]["file_info"];
            return match self.uploads.iter().any(|upload| *info == upload.info && upload.path.contains(chat))
            {
                true => Ok(()),
                false => Err((400, 304_080, "file_info is invalid")),
            };
        }
        let words =
            body["markdown"]["content"].as_str().or_else(|| body["content"].as_str()).unwrap_or_default();
        if words.is_empty() && body["msg_type"] != 6 {
            return Err((400, 304_061, "the message is empty"));
        }
        if words.chars().count() > self.longest {
            return Err((400, 40_054_007, "the message is too long"));
        }
        if words.contains("://") && !self.links && body["msg_type"] != 2 {
            return Err((400, 40_054_010, "links are not allowed"));
        }
        Ok(())
    }
}

/// The id that a message replies to, and its sequence number.
fn pair(body: &Value) -> (String, u64) {
    let answers = body["msg_id"].as_str().or_else(|| body["event_id"].as_str()).unwrap_or_default();
    (answers.to_owned(), body["msg_seq"].as_u64().unwrap_or(1))
}
