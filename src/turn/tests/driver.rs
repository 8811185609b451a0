//! Drives a conversation: performs its effects on a list of lines, and simulates the model and the tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::Class;
use crate::domain::{
    Approval, ApprovalNumber, Author, AuthorRole, Capabilities, ChatKind, Command, CorrelationId, Effects,
    ErrorKind, Footer, IngressEvent, IngressKind, MessageId, RAISE_CALL, ReadReplies, Risk, Said, ScopeKind,
    ThreadId, Timestamp, ToolCallId, WhileRunning, WhileWaiting,
};
use crate::policy::Rights;
use crate::policy::reply::{Named, decided_outright};
use crate::ports::{
    Acceptance, Completion, Judgement, ModelDelta, ModelError, Ruling, ThreadRecord, ToolCall, WholeText,
};
use crate::turn::{
    ApprovalSlot, CheckArguments, Compacted, Conversation, Effect, EffectsOf, Event, Lookups, ReplyToken,
    Rules, by_rules,
};
use crate::uimessage::{Content, ModelMessage, Role, UiMessage, fold, to_model, words_in};

pub(super) fn thread() -> ThreadId {
    "web:chat:t".parse().unwrap()
}

pub(super) fn rules() -> Rules {
    Rules {
        merge_ms: 600,
        while_running: WhileRunning::Merge,
        mailbox: 3,
        max_steps: 5,
        language: None,
        compaction: crate::turn::CompactionRules::default(),
        scopes: Arc::default(),
        footer: Footer::Off,
        currency: crate::domain::Currency::default(),
        capabilities: Capabilities::pull(),
        rights: Rights {
            requester: true,
            people: vec!["web:user:owner".parse().unwrap()],
            ..Rights::default()
        },
        expire_ms: 60_000,
        while_waiting: WhileWaiting::Queue,
        speech: crate::domain::SpeechMode::Off,
        read_replies: ReadReplies::Rules,
    }
}

pub(super) fn effects_of() -> EffectsOf {
    Arc::new(|name| match name {
        "look" | "task_done" | RAISE_CALL => Some(Effects::ReadOnly),
        "tell" => Some(Effects::Speaks),
        "act" | "ask" | "forbidden" | "peek" => Some(Effects::SideEffects),
        _ => None,
    })
}

/// Every tool takes an object without `malformed`.
pub(super) fn check_arguments() -> CheckArguments {
    Arc::new(|_, input| match input.get("malformed") {
        Some(_) => Err("invalid arguments: `malformed` must not be given".to_owned()),
        None => Ok(()),
    })
}

pub(super) fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

pub(super) fn event(message: &str, kind: IngressKind) -> Box<IngressEvent> {
    Box::new(IngressEvent {
        thread: thread(),
        author: Author {
            id: "web:user:u".parse().unwrap(),
            name: Some("Ada".to_owned()),
            role: AuthorRole::Person,
        },
        message: id(message),
        platform_message: message.to_owned(),
        at: Timestamp::from_millis(1),
        chat: ChatKind::Direct,
        kind,
    })
}

pub(super) fn said(text: &str) -> Said {
    Said { text: text.to_owned(), ..Said::default() }
}

pub(super) fn words(text: &str) -> Result<Completion, ModelError> {
    Ok(Completion { text: text.to_owned(), ..Completion::default() })
}

pub(super) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: id.parse().unwrap(), name: name.to_owned(), arguments: Ok(arguments) }
}

pub(super) fn calls(tool_calls: Vec<ToolCall>) -> Result<Completion, ModelError> {
    Ok(Completion { tool_calls, ..Completion::default() })
}

pub(super) fn model_error(kind: ErrorKind) -> Result<Completion, ModelError> {
    Err(ModelError { kind, detail: "scripted".to_owned(), retry_after: None, shortage: None })
}

/// A tool named `ask` needs approval, `forbidden` never runs, any other may; `peek` could have side effects, but its
/// calls are read-only.
pub(super) fn judge(name: &str, input: &Value, world: &str) -> Judgement {
    let ruling = match name {
        "ask" | RAISE_CALL => Ruling::Ask,
        "forbidden" => Ruling::Deny("not here".to_owned()),
        "look" | "peek" | "task_done" => Ruling::Allow(Class::ReadOnly),
        _ => Ruling::Allow(Class::ProjectWritable),
    };
    let fingerprint = format!("{name} {input} {world}");
    let long = input.get("long").and_then(Value::as_str);
    Judgement {
        ruling,
        fingerprint,
        summary: format!("{name} {input}"),
        details: long.map(|text| format!("- why\n\n```sh\n{text}\n```")),
        whole: long.map(|text| WholeText { name: "command.sh.txt", text: text.to_owned(), cut: false }),
        risk: Risk::Medium,
        scopes: match input.get("once") {
            Some(_) => vec![ScopeKind::Once],
            None => {
                [ScopeKind::Once, ScopeKind::Thread, ScopeKind::Minutes, ScopeKind::Shape, ScopeKind::Project]
                    .to_vec()
            }
        },
        grants: Vec::new(),
    }
}

/// A conversation and its simulated environment.
pub(super) struct Driver {
    pub(super) conversation: Conversation,
    pub(super) lines: Vec<UiMessage>,
    /// Every effect since the last call.
    pub(super) effects: Vec<Effect>,
    pub(super) now: i64,
    /// The approval records, as they are on the disk.
    pub(super) book: BTreeMap<String, Approval>,
    /// What judging a call depends on besides its arguments; changes when a file does.
    pub(super) world: String,
    tickets: u64,
    runs: u64,
    pub(super) slots_taken: u32,
    /// The window, in estimated tokens.
    pub(super) usable: usize,
}

impl Driver {
    pub(super) fn new() -> Self {
        Self::with(rules(), Vec::new())
    }

    pub(super) fn with(rules: Rules, lines: Vec<UiMessage>) -> Self {
        Self::resumed(rules, lines, BTreeMap::new())
    }

    /// A restart: only the lines and the records are left.
    pub(super) fn resumed(rules: Rules, lines: Vec<UiMessage>, book: BTreeMap<String, Approval>) -> Self {
        Self::resumed_at(1000, rules, lines, book)
    }

    /// The same at another time.
    pub(super) fn resumed_at(
        now: i64,
        rules: Rules,
        lines: Vec<UiMessage>,
        book: BTreeMap<String, Approval>,
    ) -> Self {
        let record = ThreadRecord { tail: fold(lines.clone()), ..ThreadRecord::default() };
        let runs = u64::try_from(lines.len()).unwrap() * 1000;
        let conversation =
            Conversation::new(thread(), Arc::new(rules), effects_of(), check_arguments(), record);
        let approvals = book.values().cloned().collect();
        let world = String::new();
        let mut driver = Self {
            conversation,
            lines,
            effects: Vec::new(),
            now,
            book,
            world,
            tickets: 0,
            runs,
            slots_taken: 0,
            usable: 8000,
        };
        driver.feed(Event::Resumed(approvals));
        driver
    }

    /// Feeds an event and performs the effects that need no answer; a slot is granted at once.
    pub(super) fn feed(&mut self, event: Event) -> &mut Self {
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let runs = &mut self.runs;
            let mut fresh = || {
                *runs += 1;
                CorrelationId::made("run_", &runs.to_string())
            };
            let effects = self.conversation.step(event, Timestamp::from_millis(self.now), &mut fresh);
            for effect in effects {
                match &effect {
                    Effect::Commit { messages, .. } => self.lines.extend(messages.iter().cloned()),
                    Effect::AcquireSlot => events.push(Event::SlotGranted),
                    Effect::Compact { reason, focus } => {
                        let span = self.conversation.plan_compaction(*reason, focus.clone(), self.usable);
                        let result = span.and_then(|span| by_rules(&span).map(|draft| (span, draft)));
                        let flushed = Vec::new();
                        let done = Compacted { reason: *reason, result, flushed, tokens_before: 5000 };
                        events.push(Event::Compacted(Box::new(done)));
                    }
                    Effect::SaveApproval(approval) => {
                        drop(self.book.insert(approval.id.to_string(), *approval.clone()))
                    }
                    Effect::Judge { call, name, input } => {
                        let (call, judgement) = (call.clone(), Box::new(judge(name, input, &self.world)));
                        let slot = self.conversation.needs_slot(&call, &judgement).then(|| {
                            self.slots_taken += 1;
                            let id = format!("apr_{:020}", self.slots_taken).parse().unwrap();
                            ApprovalSlot { id, number: ApprovalNumber(self.slots_taken) }
                        });
                        // Calls are judged in their order.
                        events.insert(0, Event::Judged { call, judgement, slot });
                    }
                    _ => {}
                }
                self.effects.push(effect);
            }
        }
        self
    }

    pub(super) fn arrive(&mut self, message: &str, kind: IngressKind) -> Acceptance {
        let ticket = ReplyToken(self.tickets);
        self.tickets += 1;
        let known = self.lines.iter().any(|line| line.id == id(message));
        let lookups = self.look_up(&kind);
        self.feed(Event::Arrived { event: event(message, kind), ticket, known, lookups });
        let answer = self.effects.iter().find_map(|effect| match effect {
            Effect::Answer(answered, acceptance) if *answered == ticket => Some(acceptance.clone()),
            _ => None,
        });
        answer.expect("every arrival is answered")
    }

    /// The actor's look-ups: the approvals that a text decides by number or id.
    fn look_up(&self, kind: &IngressKind) -> Lookups {
        let words = match kind {
            IngressKind::Said(said) => said.text.clone(),
            IngressKind::Command(order) => order.to_string(),
            _ => String::new(),
        };
        let named = decided_outright(&words);
        let is_named = |one: &&Approval| {
            named.contains(&Named::Number(one.number)) || named.contains(&Named::Id(one.id.clone()))
        };
        Lookups { approvals: self.book.values().filter(is_named).cloned().collect(), ..Lookups::default() }
    }

    pub(super) fn say(&mut self, message: &str) -> Acceptance {
        self.arrive(message, IngressKind::Said(said(message)))
    }

    pub(super) fn command(&mut self, message: &str, command: Command) -> Acceptance {
        self.arrive(message, IngressKind::Command(command.into()))
    }

    pub(super) fn model(&mut self, result: Result<Completion, ModelError>) -> &mut Self {
        self.feed(Event::ModelEnded(result))
    }

    pub(super) fn shows(&mut self, text: &str) -> &mut Self {
        self.feed(Event::Delta(ModelDelta::Text(text.to_owned())))
    }

    pub(super) fn tool(&mut self, call: &str, output: &str) -> &mut Self {
        let call: ToolCallId = call.parse().unwrap();
        self.feed(Event::ToolEnded { call, outcome: Ok(json!(output)) })
    }

    /// The names of the effects since the last call.
    pub(super) fn take_effects(&mut self) -> Vec<String> {
        let name = |effect: &Effect| match effect {
            Effect::Commit { messages, durability, .. } => {
                let ids: Vec<_> = messages.iter().map(|message| message.id.as_str()).collect();
                format!("commit {} {durability:?}", ids.join("+"))
            }
            Effect::RunTool { call, name, .. } => format!("run {name} {call}"),
            Effect::Answer(_, Acceptance::Accepted { .. }) => "accepted".to_owned(),
            Effect::Answer(_, other) => format!("{other:?}"),
            Effect::Show(intent) => format!("show {intent:?}"),
            Effect::Finished(run) => format!("finished {run}"),
            Effect::SaveApproval(approval) => format!("save {} {}", approval.number, state_word(approval)),
            Effect::Parked(run) => format!("parked {run}"),
            Effect::Grant(approval, scope) => format!("grant {} {scope:?}", approval.number),
            other => format!("{other:?}"),
        };
        let told = self
            .effects
            .iter()
            .filter(|effect| !matches!(effect, Effect::Judge { .. } | Effect::Publish | Effect::Audit(_)));
        let names = told.map(name).filter(|name| !name.contains("Typing")).collect();
        self.effects.clear();
        names
    }

    /// What the model is shown now, as short lines.
    pub(super) fn context(&self) -> Vec<String> {
        to_model(self.conversation.context()).iter().map(short).collect()
    }

    /// The conversation as stored: role, text, status.
    pub(super) fn transcript(&self) -> Vec<String> {
        let line = |message: &UiMessage| match message.role {
            Role::User => format!("user {}: {}", message.id, message.text()),
            Role::System | Role::Assistant => {
                format!("{} {:?}: {}", message.id, message.metadata.status.unwrap(), message.text())
            }
        };
        fold(self.lines.clone()).iter().map(line).collect()
    }
}

pub(super) fn short(message: &ModelMessage) -> String {
    match message {
        ModelMessage::System(text) => format!("system {text}"),
        ModelMessage::User { content, .. } => {
            let told = |piece: &Content| match piece {
                Content::Text(text) => format!("{:?}", Content::Text(words_in(text).to_owned())),
                other => format!("{other:?}"),
            };
            format!("user {}", content.iter().map(told).collect::<String>())
                .replace("Text(\"", "")
                .replace("\")", "")
        }
        ModelMessage::Assistant { text, tool_calls, .. } => {
            let calls: Vec<_> =
                tool_calls.iter().map(|call| format!(" {}({})", call.name, call.id)).collect();
            format!("assistant {text}{}", calls.concat())
        }
        ModelMessage::Tool { call_id, content } => format!("tool {call_id}: {content}"),
    }
}

/// The requirement of every provider: each call has exactly one result, right after it.
pub(super) fn assert_provider_valid(messages: &[ModelMessage]) {
    let mut expected: Vec<String> = Vec::new();
    for message in messages {
        if let ModelMessage::Tool { call_id, .. } = message {
            assert_eq!(expected.first(), Some(call_id), "a result without its call: {messages:?}");
            expected.remove(0);
            continue;
        }
        assert!(expected.is_empty(), "calls without results {expected:?} in {messages:?}");
        if let ModelMessage::Assistant { tool_calls, .. } = message {
            for call in tool_calls {
                assert!(serde_json::from_str::<Value>(&call.arguments).is_ok(), "{call:?}");
            }
            expected = tool_calls.iter().map(|call| call.id.clone()).collect();
        }
    }
    assert!(expected.is_empty(), "calls without results {expected:?} at the end");
}

pub(super) fn state_word(approval: &Approval) -> String {
    let word = format!("{:?}", approval.state);
    word.chars().take_while(|c| c.is_alphabetic()).collect()
}
