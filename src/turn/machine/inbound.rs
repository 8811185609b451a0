//! Messages that arrive: from people, and from tools that post to this thread.

use super::conversation::Conversation;
use crate::domain::{
    Command, CommandInvocation, CorrelationId, IngressEvent, IngressKind, Intent, MessageId, Said, Timestamp,
    VoiceFailure,
};
use crate::ports::{Acceptance, Durability, RunMessage};
use crate::render::Phrase;
use crate::turn::queue::{Accepted, Edit, Queue, RunRelation};
use crate::turn::runs::run::Run;
use crate::turn::runs::run_messages::{message_from, said_by};
use crate::turn::user_message::{scheduled_run, user_message};
use crate::turn::{Effect, Lookups, ReplyToken, Spoken};
use crate::uimessage::UiMessage;

const BEING_ANSWERED: &str = "the message is being answered: stop the answer first, or wait for its end";

const NOT_WAITING: &str = "only a message of yours that still waits can be withdrawn";

/// The metadata of a message that its author took back before it was answered.
const WITHDRAWN: &str = "withdrawn";

impl Conversation {
    fn refused(&self, ticket: ReplyToken, why: &Phrase) -> Effect {
        Effect::Answer(ticket, Acceptance::Refused(why.say(self.language())))
    }

    pub(super) fn arrived(
        &mut self,
        event: &IngressEvent,
        ticket: ReplyToken,
        known: bool,
        lookups: &Lookups,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        if let Some(refusal) = self.queue.turned_away(event, known) {
            return vec![Effect::Answer(ticket, refusal)];
        }
        match &event.kind {
            // Messages of programs decide no approvals.
            IngressKind::Said(said) if said.peer.is_some() && said.addressed.context_only => {
                self.overhear(event, said, ticket, fresh(), now)
            }
            IngressKind::Said(said) if said.peer.is_some() => self.say(event, said, ticket, now, fresh),
            // Nor does a task, and it takes the place of nothing that a person was asked.
            IngressKind::Said(said) if said.scheduled.is_some() => self.say(event, said, ticket, now, fresh),
            IngressKind::Said(said) => {
                self.approvals.note_said(event.at, now);
                if let Some(failure) = unheard(said) {
                    let reply = Phrase::VoiceFailed(failure).say(self.language()).into();
                    return self.reply_to_said(said, event, reply, ticket, now, fresh());
                }
                let (read, mut effects) = self.read_reply(said, event, ticket, lookups, now, fresh);
                if read.is_message() && said.addressed.context_only {
                    effects.extend(self.overhear(event, said, ticket, fresh(), now));
                } else if read.is_message() {
                    effects.extend(self.say(event, said, ticket, now, fresh));
                }
                effects
            }
            IngressKind::Command(order) => {
                let mut effects = Vec::new();
                if let Some(text) = decision_in(order) {
                    let said = Said { text, ..Said::default() };
                    let (read, replied) = self.read_reply(&said, event, ticket, lookups, now, fresh);
                    effects = replied;
                    if !read.is_message() {
                        return effects;
                    }
                }
                effects.extend(self.run_command(order, event, ticket, lookups, now, fresh()));
                effects
            }
            IngressKind::Decision(decision) => {
                self.apply_decision(decision, event, ticket, lookups, now, fresh)
            }
            IngressKind::Edited(said) => self.edit(event, said, ticket, lookups, now, fresh),
            IngressKind::Revised(said) => self.revise(event, said, ticket, now, fresh),
            IngressKind::Withdrawn => self.take_back(event, ticket, fresh),
            IngressKind::StopRun(message) => self.stop_run_of(message, event, ticket, now),
            IngressKind::Regenerate(answer) => self.regenerate(answer.as_ref(), ticket, now),
        }
    }

    /// A message for the agent: it starts a run, joins one, or waits.
    fn say(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let ctx = crate::turn::context::TurnContext { settings: &self.settings, history: &self.history, now };
        let Some(accepted) = self.queue.accept(event, said, self.run.as_ref(), &ctx, fresh) else {
            return vec![Effect::Answer(ticket, Acceptance::Busy)];
        };
        let Accepted { relation, correlation, message } = accepted;
        let mut lines = match relation {
            RunRelation::First | RunRelation::Join => Vec::new(),
            RunRelation::Steer | RunRelation::Interrupt | RunRelation::Wait => self.place_run(),
        };
        lines.push(message);
        let say = self.announcement(event, said, &correlation);
        let mut effects = vec![
            self.recorded(Effect::Commit { messages: lines, say, durability: Durability::Synced }),
            accepted_as(ticket, event.message.clone(), correlation.clone()),
        ];
        effects.extend(self.pass_to_run(relation, correlation, event, now));
        effects.push(Effect::Publish);
        effects
    }

    /// What the people of the thread are shown of a message that they did not see: without it they would read an answer
    /// to nothing.
    fn announcement(&self, event: &IngressEvent, said: &Said, correlation: &CorrelationId) -> Vec<Spoken> {
        if !said.announced {
            return Vec::new();
        }
        let names =
            said.files.iter().map(|file| file.name.clone().unwrap_or_else(|| file.media_type.clone()));
        let words = Phrase::FromOperator { text: said.text.clone(), files: names.collect() };
        vec![Spoken {
            source: event.message.to_string(),
            correlation: correlation.clone(),
            reply_to: None,
            intent: Intent::AssistantText { text: words.say(self.language()) },
        }]
    }

    /// What an accepted message does to the run in flight.
    fn pass_to_run(
        &mut self,
        relation: RunRelation,
        correlation: CorrelationId,
        event: &IngressEvent,
        now: Timestamp,
    ) -> Vec<Effect> {
        match (relation, self.run.as_mut()) {
            (RunRelation::First, _) => {
                // The platform has no message that a task could reply to.
                let said = self.history.find_said(&event.message);
                let reply_to = said.and_then(reply_target);
                self.run = Some(Run::new(&self.settings.thread, correlation, reply_to, now));
                vec![Effect::AcquireSlot]
            }
            (RunRelation::Join, Some(run)) => run.join(),
            (RunRelation::Steer, Some(run)) => {
                run.steer();
                Vec::new()
            }
            (RunRelation::Interrupt, Some(run)) => {
                let Some(cancel) = run.interrupt() else { return Vec::new() };
                let mut effects = vec![cancel];
                effects.extend(self.withdraw("a new message took its place", &event.author.id, now));
                self.approvals.forget_calls();
                effects.extend(self.with_run(now, Run::resume_interrupted));
                effects
            }
            (RunRelation::Wait, _) | (_, None) => Vec::new(),
        }
    }

    /// A message of a group that is not for the agent: it is kept as context.
    fn overhear(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        correlation: CorrelationId,
        now: Timestamp,
    ) -> Vec<Effect> {
        let mut message = user_message(event, said, &correlation, &self.at(now));
        message.metadata.context = true;
        let mut lines = self.place_run();
        lines.push(message);
        let commit = self.recorded(Effect::commit(lines, Durability::Synced));
        vec![commit, accepted_as(ticket, event.message.clone(), correlation)]
    }

    /// A queued message is replaced. One that is being answered starts its run over, as long as the run has shown and
    /// done nothing. One that was answered is corrected in the record only.
    fn edit(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        lookups: &Lookups,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        match Queue::edit(event, said, lookups.earlier.as_deref(), &self.at(now), fresh) {
            Edit::Unknown => vec![self.refused(ticket, &Phrase::NoSuchMessage)],
            Edit::Unchanged => {
                vec![Effect::Answer(ticket, Acceptance::Duplicate { message: event.message.clone() })]
            }
            Edit::Replaced(line) => {
                let correlation = line.metadata.correlation_id.clone();
                let answered = |run: &&Run| *run.correlation() == correlation && run.may_start_over();
                let again = self.run.as_ref().filter(answered).map(Run::start_over).unwrap_or_default();
                let mut effects = vec![self.recorded(Effect::commit(vec![*line], Durability::Synced))];
                effects.push(accepted_as(ticket, event.message.clone(), correlation));
                effects.extend(again);
                effects.push(Effect::Publish);
                effects
            }
            Edit::Corrected { line, note } => {
                let correlation = note.metadata.correlation_id.clone();
                // The corrected line is not in memory, so only the note enters the history.
                self.history.remember(&note);
                let mut messages = self.place_run();
                messages.extend([*line, *note]);
                vec![
                    Effect::commit(messages, Durability::Synced),
                    accepted_as(ticket, event.message.clone(), correlation),
                    Effect::Publish,
                ]
            }
        }
    }

    /// A message that waits is hidden from the model, and its run begins without it.
    fn take_back(
        &mut self,
        event: &IngressEvent,
        ticket: ReplyToken,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let waits = self.queue.has_message(&event.message);
        let known = self.history.find_said(&event.message).filter(|_| waits);
        let theirs = |known: &&UiMessage| known.metadata.author_id.as_ref() == Some(&event.author.id);
        let Some(mut line) = known.filter(theirs).cloned() else {
            return vec![Effect::Answer(ticket, Acceptance::Refused(NOT_WAITING.to_owned()))];
        };
        // The other waiting messages keep their run id.
        let alone = self.queue.is_alone(&event.message);
        let correlation = if alone { line.metadata.correlation_id.clone() } else { fresh() };
        line.metadata.command = true;
        line.metadata.correlation_id = correlation.clone();
        line.metadata.extra.insert(WITHDRAWN.to_owned(), true.into());
        self.queue.remove(&event.message);
        let mut effects = vec![
            self.recorded(Effect::commit(vec![line], Durability::Synced)),
            accepted_as(ticket, event.message.clone(), correlation.clone()),
        ];
        if !alone {
            effects.push(Effect::Moved { message: event.message.clone(), to: correlation.clone() });
        }
        effects.extend([Effect::Finished(correlation), Effect::Publish]);
        effects
    }

    /// A message that waits is replaced, and the last question is asked anew with other words. While it is being answered,
    /// it can be changed as long as the answer has not begun.
    fn revise(
        &mut self,
        event: &IngressEvent,
        said: &Said,
        ticket: ReplyToken,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let asked = self.history.find_said(&event.message).map(|known| known.metadata.correlation_id.clone());
        let run = self.run.as_ref().filter(|run| asked.as_ref() == Some(run.correlation()));
        if self.queue.has_message(&event.message) || run.is_some_and(Run::may_start_over) {
            return self.edit(event, said, ticket, &Lookups::default(), now, fresh);
        }
        if run.is_some() {
            return vec![Effect::Answer(ticket, Acceptance::Refused(BEING_ANSWERED.to_owned()))];
        }
        match self.last_exchange() {
            Some((question, answer)) if question == event.message => {
                let correlation = &answer.metadata.correlation_id;
                let message = user_message(event, said, correlation, &self.at(now));
                self.answer_again(answer, vec![message], question, ticket, now)
            }
            _ => vec![self.refused(ticket, &Phrase::OnlyLastAnswer)],
        }
    }

    fn regenerate(&mut self, answer: Option<&MessageId>, ticket: ReplyToken, now: Timestamp) -> Vec<Effect> {
        match self.last_exchange() {
            Some((question, last)) if answer.is_none_or(|answer| *answer == last.id) => {
                self.answer_again(last, Vec::new(), question, ticket, now)
            }
            _ => vec![self.refused(ticket, &Phrase::OnlyLastAnswer)],
        }
    }

    /// The last question and its answer, if no run is in flight and no message has arrived since.
    fn last_exchange(&self) -> Option<(MessageId, UiMessage)> {
        self.is_idle().then(|| self.history.last_exchange()).flatten()
    }

    /// Starts a run that supersedes an answer: same run id, same message id, new content.
    fn answer_again(
        &mut self,
        answer: UiMessage,
        mut lines: Vec<UiMessage>,
        question: MessageId,
        ticket: ReplyToken,
        now: Timestamp,
    ) -> Vec<Effect> {
        let correlation = answer.metadata.correlation_id.clone();
        let run = Run::new(&self.settings.thread, correlation.clone(), None, now).instead_of(answer.id);
        lines.push(run.message().clone());
        self.run = Some(run);
        vec![
            self.recorded(Effect::commit(lines, Durability::Synced)),
            accepted_as(ticket, question, correlation),
            Effect::AcquireSlot,
            Effect::Publish,
        ]
    }

    /// A tool posts a message to this thread.
    pub(super) fn post_run_message(
        &mut self,
        run_message: RunMessage,
        ticket: ReplyToken,
        known: bool,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
    ) -> Vec<Effect> {
        let message = said_by(&run_message);
        let answer = |acceptance| vec![Effect::Answer(ticket, acceptance)];
        if self.queue.is_closed() {
            return answer(Acceptance::Stopping);
        }
        if known {
            return answer(Acceptance::Duplicate { message });
        }
        let (lines, correlation, reply_to) = if run_message.from == self.settings.thread {
            let Some(run) =
                self.run.as_mut().filter(|run| run_message.call().is_some_and(|call| run.is_running(call)))
            else {
                let why = "the call that wants to speak is not running any more";
                return answer(Acceptance::Refused(why.to_owned()));
            };
            let Some(line) = run.post(&run_message) else { return answer(Acceptance::Duplicate { message }) };
            (vec![line], run.correlation().clone(), run.reply_to().map(str::to_owned))
        } else {
            let correlation = fresh();
            let mut lines = self.place_run();
            lines.push(message_from(&run_message, &self.settings.thread, &correlation, now));
            (lines, correlation, None)
        };
        let source = message.to_string();
        let say =
            vec![Spoken { source, correlation: correlation.clone(), reply_to, intent: run_message.intent }];
        let commit = Effect::Commit { messages: lines, say, durability: Durability::Synced };
        vec![self.recorded(commit), accepted_as(ticket, message, correlation), Effect::Publish]
    }
}

/// Tells the sender that a message was accepted.
pub(super) const fn accepted_as(
    ticket: ReplyToken,
    message: MessageId,
    correlation: CorrelationId,
) -> Effect {
    Effect::Answer(ticket, Acceptance::Accepted { message, correlation })
}

/// The platform's message that the answer to this one replies to. The platform has none for the run of a task.
pub(super) fn reply_target(message: &UiMessage) -> Option<String> {
    message.metadata.message_id.clone().filter(|_| scheduled_run(message).is_none())
}

/// Why a spoken message has no words for the model.
fn unheard(said: &Said) -> Option<VoiceFailure> {
    let silent = said.text.trim().is_empty() && !said.addressed.context_only;
    said.voice.as_ref().and_then(|voice| voice.failure).filter(|_| silent)
}

/// The text of a decision that was given as a command.
fn decision_in(order: &CommandInvocation) -> Option<String> {
    match order.command {
        Command::Approve | Command::Deny => Some(order.to_string()),
        _ => None,
    }
}
