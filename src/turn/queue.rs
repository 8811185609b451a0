//! Accepts messages: which start a run, which join one, which wait.

use serde_json::Map;

use crate::domain::{
    ChatKind, Command, CommandInvocation, CorrelationId, IngressEvent, IngressKind, MemoryScope, MessageId,
    Said, Timestamp, WhileRunning,
};
use crate::ports::{Acceptance, Durability};
use crate::turn::approval::replies::Reply;
use crate::turn::machine::conversation::{Waiting, is_command};
use crate::turn::participants::IN_COMPANY;
use crate::turn::runs::run::{Phase, Run};
use crate::turn::{Conversation, Effect, Lookups, ReplyToken};
use crate::uimessage::{FilePart, Metadata, Part, Role, RunStatus, TextPart, UiMessage};

/// Most bytes of waiting messages per thread: all of them are in memory, and are read again after a restart.
const MAX_WAITING_BYTES: usize = 8 << 20;

/// An inbound event with its look-ups.
pub(in crate::turn) struct Arrival {
    pub(in crate::turn) event: IngressEvent,
    pub(in crate::turn) ticket: ReplyToken,
    pub(in crate::turn) known: bool,
    pub(in crate::turn) lookups: Lookups,
}

/// How a message relates to the run in flight.
enum RunRelation {
    /// It starts a run.
    First,
    /// It joins a run that has shown nothing: the model is called again.
    Join,
    /// The run reads it at its next step.
    Steer,
    /// The step is cancelled and started again with it.
    Interrupt,
    /// It waits for the next run.
    Wait,
}

impl Conversation {
    pub(in crate::turn) fn take_in(
        &mut self,
        arrival: Arrival,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let (event, ticket, known) = (&arrival.event, arrival.ticket, arrival.known);
        if self.stopping {
            out.push(Effect::Answer(ticket, Acceptance::Stopping));
            return;
        }
        if matches!(event.kind, IngressKind::Said(_)) && !known {
            self.sight.hear(event.at, now);
        }
        let duplicate = Acceptance::Duplicate { message: event.message.clone() };
        match &event.kind {
            IngressKind::Said(_) | IngressKind::Command(_) if known => {
                out.push(Effect::Answer(ticket, duplicate))
            }
            IngressKind::Said(said)
                if matches!(self.hear(said, &arrival, now, fresh, out), Reply::Handled) => {}
            IngressKind::Said(said) if said.context_only => self.overhear(event, said, ticket, fresh(), out),
            IngressKind::Said(said) => self.say(event, said, ticket, now, fresh, out),
            IngressKind::Decision(decision) => self.decide(decision, &arrival, now, fresh, out),
            IngressKind::Command(order) => match decision_in(order) {
                Some(words) => {
                    let said = Said { text: words, ..Said::default() };
                    if matches!(self.hear(&said, &arrival, now, fresh, out), Reply::Message) {
                        self.obey(order, &arrival, now, fresh(), out);
                    }
                }
                None => self.obey(order, &arrival, now, fresh(), out),
            },
            IngressKind::Edited(said) => self.edit(&arrival, said, fresh, out),
            IngressKind::Revised(said) => self.revise(event, said, ticket, now, out),
            IngressKind::Regenerate(answer) => self.regenerate(answer.as_ref(), ticket, now, out),
        }
    }

    fn say(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        if self.is_full(said) {
            out.push(Effect::Answer(ticket, Acceptance::Busy));
            return;
        }
        let place = self.place_of(now);
        let correlation = match (&place, &self.run, self.waiting.back()) {
            (RunRelation::First, ..) => fresh(),
            (RunRelation::Join | RunRelation::Steer | RunRelation::Interrupt, Some(run), _) => {
                run.correlation.clone()
            }
            (RunRelation::Wait, _, Some(waiting)) => waiting.correlation.clone(),
            (RunRelation::Wait, _, None) | (_, None, _) => fresh(),
        };
        let message = self.message_of(event, said, &correlation);
        let mut lines = Vec::new();
        if !matches!(place, RunRelation::First | RunRelation::Join) {
            lines.extend(self.place_held());
        }
        lines.push(message);
        let commit = self.commit(lines, Durability::Synced);
        out.push(commit);
        let accepted =
            Acceptance::Accepted { message: event.message.clone(), correlation: correlation.clone() };
        out.push(Effect::Answer(ticket, accepted));
        self.put(place, correlation, event, now, out);
        out.push(Effect::Publish);
    }

    /// The user message of an event, with metadata about the author and other participants.
    fn message_of(&self, event: &IngressEvent, said: &Said, correlation: &CorrelationId) -> UiMessage {
        let mut message = user_message(event, said, correlation);
        let scope = MemoryScope::resolve(&event.author.id, event.chat, &event.thread, &self.rules.scopes);
        message.set_memory_scope(&scope, self.rules.rights.origin_of(event));
        if event.chat.is_private() && self.is_in_company(&event.author.id) {
            message.metadata.extra.insert(IN_COMPANY.to_owned(), true.into());
        }
        message
    }

    /// Whether the waiting messages have reached their limit.
    fn is_full(&self, said: &Said) -> bool {
        let waiting: usize = self.waiting.iter().map(|waiting| waiting.messages.len()).sum();
        let joined = self.run.as_ref().map_or(0, |run| run.joined);
        if waiting.max(joined) >= self.rules.mailbox {
            return true;
        }
        let pending = self.history.iter().filter(|message| {
            message.role == Role::User && self.is_pending(&message.metadata.correlation_id)
        });
        let bytes: usize = pending.map(UiMessage::size).sum();
        let files: usize = said.files.iter().map(|file| file.url.len()).sum();
        bytes > 0 && bytes + said.text.len() + files > MAX_WAITING_BYTES
    }

    fn place_of(&self, now: Timestamp) -> RunRelation {
        let Some(run) = &self.run else {
            return if self.waiting.is_empty() { RunRelation::First } else { RunRelation::Wait };
        };
        let quick = now.millis_since(run.began) <= self.rules.merge_ms && self.rules.merge_ms > 0;
        let untouched = !run.shown && !run.placed && run.steps <= 1 && run.phase != Phase::Acting;
        // A run without a slot has done nothing yet, so joining it costs nothing.
        if untouched && (quick || run.phase == Phase::WaitingForSlot) {
            return RunRelation::Join;
        }
        // While an approval is pending the run does not continue: messages wait for the next run.
        if run.phase == Phase::AwaitingApproval {
            return RunRelation::Wait;
        }
        match self.rules.while_running {
            WhileRunning::Merge => RunRelation::Wait,
            WhileRunning::Steer => RunRelation::Steer,
            WhileRunning::Interrupt => RunRelation::Interrupt,
        }
    }

    fn put(
        &mut self,
        place: RunRelation,
        correlation: CorrelationId,
        event: &IngressEvent,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        if let Some(run) = self.run.as_mut().filter(|_| !matches!(place, RunRelation::Wait)) {
            run.joined += 1;
        }
        match (place, &mut self.run) {
            (RunRelation::First, _) => {
                self.run =
                    Some(Run::new(&self.thread, correlation, Some(event.platform_message.clone()), now));
                out.push(Effect::AcquireSlot);
            }
            (RunRelation::Join, Some(run)) => {
                if run.phase == Phase::Thinking {
                    out.push(Effect::CancelJobs);
                    out.push(Effect::CallModel);
                }
            }
            (RunRelation::Steer, Some(run)) => run.steered = true,
            (RunRelation::Interrupt, Some(run)) if run.phase == Phase::WaitingForSlot => run.steered = true,
            (RunRelation::Interrupt, Some(run)) => {
                run.steered = true;
                out.push(Effect::CancelJobs);
                if run.phase == Phase::Thinking {
                    run.forget_step();
                }
                self.withdraw("a new message took its place", &event.author.id, now, out);
                if let Some(run) = &mut self.run {
                    run.settle_all("Interrupted: the user sent a new message before this call finished.");
                }
                self.next_step(now, out);
            }
            (RunRelation::Wait, _) | (_, None) => {
                match self.waiting.iter_mut().find(|waiting| waiting.correlation == correlation) {
                    Some(waiting) => waiting.messages.push(event.message.clone()),
                    None => {
                        self.waiting
                            .push_back(Waiting { correlation, messages: vec![event.message.clone()] });
                    }
                }
            }
        }
    }

    fn overhear(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        correlation: CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let mut message = self.message_of(event, said, &correlation);
        message.metadata.context = true;
        let mut lines: Vec<UiMessage> = self.place_held().into_iter().collect();
        lines.push(message);
        let commit = self.commit(lines, Durability::Synced);
        out.push(commit);
        out.push(Effect::Answer(
            ticket,
            Acceptance::Accepted { message: event.message.clone(), correlation },
        ));
    }

    /// A queued message is replaced. One that is being answered starts its run over, as long as the run has shown and
    /// done nothing. One that was answered is corrected in the record only.
    fn edit(
        &mut self,
        arrival: &Arrival,
        said: &Said,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let (event, ticket) = (&arrival.event, arrival.ticket);
        let Some(known) =
            self.history.iter().find(|message| message.id == event.message && message.role == Role::User)
        else {
            return self.edit_earlier(arrival, said, fresh, out);
        };
        let correlation = known.metadata.correlation_id.clone();
        let mut message = self.message_of(event, said, &correlation);
        let Metadata { timestamp, context, command, .. } = known.metadata;
        message.metadata = Metadata { timestamp, context, command, ..message.metadata };
        message.keep_memory_scope_of(known);
        message.metadata.extra.insert("edited".to_owned(), true.into());
        if message.parts == known.parts {
            out.push(Effect::Answer(ticket, Acceptance::Duplicate { message: event.message.clone() }));
            return;
        }
        let commit = self.commit(vec![message], Durability::Synced);
        out.push(commit);
        out.push(Effect::Answer(
            ticket,
            Acceptance::Accepted { message: event.message.clone(), correlation: correlation.clone() },
        ));
        if self.run.as_ref().is_some_and(|run| run.correlation == correlation && run.may_start_over()) {
            out.push(Effect::CancelJobs);
            out.push(Effect::CallModel);
        }
        out.push(Effect::Publish);
    }

    /// Corrects a message that is no longer in memory, because a checkpoint covers it. What was made of it cannot be
    /// changed, so the model is told of the correction where the conversation is now.
    fn edit_earlier(
        &mut self,
        arrival: &Arrival,
        said: &Said,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let (event, ticket) = (&arrival.event, arrival.ticket);
        let Some(known) = &arrival.lookups.earlier else {
            let why = "there is no such message of yours in this conversation".to_owned();
            out.push(Effect::Answer(ticket, Acceptance::Refused(why)));
            return;
        };
        let mut corrected = self.message_of(event, said, &known.metadata.correlation_id);
        if corrected.parts == known.parts {
            out.push(Effect::Answer(ticket, Acceptance::Duplicate { message: event.message.clone() }));
            return;
        }
        let Metadata { timestamp, context, command, .. } = known.metadata;
        corrected.metadata = Metadata { timestamp, context, command, ..corrected.metadata };
        corrected.keep_memory_scope_of(known);
        corrected.metadata.extra.insert("edited".to_owned(), true.into());
        let correlation = fresh();
        let mut note = self.message_of(event, said, &correlation);
        note.id = MessageId::made(correlation.as_str(), ".edit");
        note.metadata.context = true;
        note.metadata.extra.insert("corrects".to_owned(), event.message.as_str().into());
        self.remember(&note);
        let mut messages: Vec<UiMessage> = self.place_held().into_iter().collect();
        messages.extend([corrected, note]);
        out.push(Effect::Commit { messages, say: Vec::new(), durability: Durability::Synced });
        out.push(Effect::Answer(
            ticket,
            Acceptance::Accepted { message: event.message.clone(), correlation },
        ));
        out.push(Effect::Publish);
    }

    fn revise(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let Some((question, answer)) =
            self.last_exchange().filter(|(question, _)| *question == event.message)
        else {
            out.push(Effect::Answer(ticket, Acceptance::Refused(ONLY_LAST.to_owned())));
            return;
        };
        let correlation = answer.metadata.correlation_id.clone();
        let message = self.message_of(event, said, &correlation);
        self.answer_again(answer, vec![message], question, ticket, now, out);
    }

    fn regenerate(
        &mut self,
        answer: Option<&MessageId>,
        ticket: ReplyToken,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        match self.last_exchange() {
            Some((question, last)) if answer.is_none_or(|answer| *answer == last.id) => {
                self.answer_again(last, Vec::new(), question, ticket, now, out);
            }
            _ => out.push(Effect::Answer(ticket, Acceptance::Refused(ONLY_LAST.to_owned()))),
        }
    }

    /// Starts a run that supersedes an answer: same run id, same message id, new content.
    fn answer_again(
        &mut self,
        answer: UiMessage,
        mut lines: Vec<UiMessage>,
        question: MessageId,
        ticket: ReplyToken,
        now: Timestamp,
        out: &mut Vec<Effect>,
    ) {
        let correlation = answer.metadata.correlation_id.clone();
        let run = Run::new(&self.thread, correlation.clone(), None, now).instead_of(answer.id);
        lines.push(run.message.clone());
        let commit = self.commit(lines, Durability::Synced);
        self.run = Some(run);
        out.push(commit);
        out.push(Effect::Answer(ticket, Acceptance::Accepted { message: question, correlation }));
        out.push(Effect::AcquireSlot);
        out.push(Effect::Publish);
    }

    /// The last question and its answer, if no run is in flight and no message has arrived since. An answer of several
    /// messages cannot be superseded, because a line cannot remove another.
    fn last_exchange(&self) -> Option<(MessageId, UiMessage)> {
        let answer = self.history.iter().rfind(|message| !is_command(message));
        let answer = answer.filter(|message| message.role == Role::Assistant && self.is_idle())?;
        let correlation = &answer.metadata.correlation_id;
        let same_run = |message: &&UiMessage| message.metadata.correlation_id == *correlation;
        let answers =
            self.history.iter().filter(same_run).filter(|message| message.role == Role::Assistant).count();
        let question = self.history.iter().filter(same_run).rfind(|message| message.role == Role::User)?;
        let ended = answer.metadata.status.is_some_and(RunStatus::is_final);
        (answers == 1 && ended).then(|| (question.id.clone(), answer.clone()))
    }
}

const ONLY_LAST: &str = "only the last answer can be made anew, and only while nothing else is going on: \
     send a new message instead";

/// The text of a decision that was given as a command.
fn decision_in(order: &CommandInvocation) -> Option<String> {
    match order.command {
        Command::Approve | Command::Deny => Some(order.to_string()),
        _ => None,
    }
}

/// The user message of an event, with the unchanged text.
fn user_message(event: &IngressEvent, said: &Said, correlation: &CorrelationId) -> UiMessage {
    // Files before the text: clients that show the message before it is stored use the same order.
    let mut parts: Vec<Part> = said
        .files
        .iter()
        .map(|file| {
            Part::File(FilePart {
                media_type: file.media_type.clone(),
                url: file.url.clone(),
                filename: file.name.clone(),
                extra: Map::new(),
            })
        })
        .collect();
    if !said.text.is_empty() || said.files.is_empty() {
        parts.push(Part::Text(TextPart::plain(said.text.clone())));
    }
    let mut extra = Map::new();
    // In a group the model is told the speaker, in a separate part and not inside the text.
    if event.chat == ChatKind::Group {
        let speaker = event.author.name.clone().unwrap_or_else(|| event.author.id.to_string());
        extra.insert("speaker".to_owned(), speaker.into());
    }
    if let Some(quoted) = &said.quoted {
        let quoted = serde_json::json!({
            "messageId": quoted.platform_message, "author": quoted.author, "text": quoted.text,
        });
        extra.insert("replyTo".to_owned(), quoted);
    }
    if let Some(from) = &said.forwarded_from {
        extra.insert("forwardedFrom".to_owned(), from.clone().into());
    }
    UiMessage {
        id: event.message.clone(),
        role: Role::User,
        metadata: Metadata {
            platform: event.thread.platform().as_str().to_owned(),
            thread_id: event.thread.clone(),
            author_id: Some(event.author.id.clone()),
            author_name: event.author.name.clone(),
            message_id: Some(event.platform_message.clone()),
            timestamp: event.at,
            correlation_id: correlation.clone(),
            status: None,
            command: false,
            context: false,
            checkpoint: false,
            extra,
        },
        parts,
    }
}
