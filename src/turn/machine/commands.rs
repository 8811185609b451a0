//! Commands for the daemon, answered at once in any state of the thread.

use super::conversation::Conversation;
use super::inbound::accepted_as;
use crate::domain::{
    AuthorId, Command, CommandInvocation, CorrelationId, IngressEvent, MessageId, Timestamp,
};
use crate::ports::{Acceptance, Durability};
use crate::render::{Phrase, Status};
use crate::turn::exchange::Exchange;
use crate::turn::runs::run::{Run, RunPhase};
use crate::turn::{Effect, Lookups, ReplyToken};
use crate::uimessage::{Role, UiMessage, VOICE};

/// Runs that a command ended: their last messages and their ids.
#[derive(Default)]
struct Stopped {
    lines: Vec<UiMessage>,
    runs: Vec<CorrelationId>,
}

impl Stopped {
    fn add(&mut self, (run, line): (CorrelationId, UiMessage)) {
        self.runs.push(run);
        self.lines.push(line);
    }
}

impl Conversation {
    pub(super) fn run_command(
        &mut self,
        order: &CommandInvocation,
        event: &IngressEvent,
        ticket: ReplyToken,
        lookups: &Lookups,
        now: Timestamp,
        correlation: CorrelationId,
    ) -> Vec<Effect> {
        let language = self.language();
        if order.command == Command::Compact && self.run.is_none() && self.manual.is_none() {
            let working = Phrase::Compacting.say(language);
            let exchange = Exchange::new(&order.to_string(), event, working, correlation.clone(), now);
            let message = exchange.record().id.clone();
            let mut effects = self.ask_to_compact(order, &exchange);
            effects.extend([accepted_as(ticket, message, correlation), Effect::Publish]);
            return effects;
        }
        let refused = match order.command {
            Command::Stop => !self.may_stop(event),
            Command::New => !self.may_begin_anew(event),
            _ => false,
        };
        let mut effects = Vec::new();
        let mut stopped = Stopped::default();
        let reply = match order.command {
            Command::Compact => Phrase::CompactLater.say(language),
            Command::Help => Phrase::Help.say(language),
            Command::Status => Phrase::Status(self.status_facts(lookups, now)).say(language),
            Command::Stop | Command::New if refused => Phrase::NotTheirsToStop.say(language),
            Command::Stop => {
                effects = self.stop_run(&event.author.id, &mut stopped, now);
                let phrase = if stopped.runs.is_empty() { Phrase::NothingToStop } else { Phrase::Stopped };
                phrase.say(language)
            }
            Command::New => {
                effects = self.end_conversation(&event.author.id, &mut stopped, now);
                Phrase::NewConversation.say(language)
            }
            Command::Forget if lookups.begins_anew => {
                effects = self.end_conversation(&event.author.id, &mut stopped, now);
                lookups.words.clone().unwrap_or_default()
            }
            Command::Cancel => {
                let (withdrawn, reply) = self.cancel(event, now);
                effects = withdrawn;
                reply
            }
            Command::Approvals => Phrase::Pending(self.pending_approvals()).say(language),
            Command::Approve | Command::Deny => Phrase::NotOpen.say(language),
            Command::Grants => lookups.words.clone().unwrap_or_else(|| Phrase::NoGrants.say(language)),
            Command::Memory
            | Command::Forget
            | Command::Tasks
            | Command::Budget
            | Command::Model
            | Command::Usage => lookups.words.clone().unwrap_or_default(),
            Command::Transcript => self.transcript().say(language),
            Command::Id => {
                let (thread, author) = (self.settings.thread.clone(), event.author.id.clone());
                Phrase::Id { thread, author }.say(language)
            }
        };
        let mut exchange = Exchange::new(&order.to_string(), event, reply, correlation.clone(), now);
        if refused {
            exchange = exchange.refused();
        }
        if lookups.begins_anew {
            exchange = exchange.begins_anew();
        }
        effects.extend(self.reply(exchange, stopped.lines, ticket));
        effects.extend(stopped.runs.into_iter().chain([correlation]).map(Effect::Finished));
        effects.extend(self.start_next(now));
        effects.push(Effect::Publish);
        effects
    }

    /// What was understood of the newest spoken message.
    fn transcript(&self) -> Phrase {
        let spoken =
            |message: &&UiMessage| message.role == Role::User && message.metadata.extra.contains_key(VOICE);
        match self.history.messages().iter().rev().find(spoken).map(UiMessage::text) {
            Some(text) if !text.trim().is_empty() => Phrase::Transcript(text),
            Some(_) => Phrase::NoTranscript,
            None => Phrase::NothingSpoken,
        }
    }

    /// Ends the run in flight, if there is one.
    fn stop_run(&mut self, by: &AuthorId, stopped: &mut Stopped, now: Timestamp) -> Vec<Effect> {
        let mut effects = self.withdraw("the turn was stopped", by, now);
        if let Some(run) = self.run.take() {
            self.approvals.run_ended();
            stopped.add(run.stop());
            effects.extend([Effect::CancelJobs, Effect::ReleaseSlot]);
        }
        effects
    }

    /// Ends the run that answers this message, in flight or waiting, and no other.
    pub(super) fn stop_run_of(
        &mut self,
        message: &MessageId,
        event: &IngressEvent,
        ticket: ReplyToken,
        now: Timestamp,
    ) -> Vec<Effect> {
        let Some((correlation, _)) = self.run_of(message).filter(|(run, _)| self.is_pending(run)) else {
            return vec![Effect::Answer(ticket, Acceptance::Duplicate { message: event.message.clone() })];
        };
        let mut stopped = Stopped::default();
        let mut effects = Vec::new();
        if self.current() == Some(&correlation) {
            effects = self.stop_run(&event.author.id, &mut stopped, now);
        } else {
            self.queue.take_run(&correlation);
            stopped.add(Run::new(&self.settings.thread, correlation.clone(), None, now).stop());
        }
        let mut lines = self.place_run();
        lines.extend(stopped.lines);
        effects.push(self.recorded(Effect::commit(lines, Durability::Synced)));
        effects.push(accepted_as(ticket, event.message.clone(), correlation));
        effects.extend(stopped.runs.into_iter().map(Effect::Finished));
        effects.extend(self.start_next(now));
        effects.push(Effect::Publish);
        effects
    }

    /// Ends the run in flight and all that wait: they belong to the conversation that ends, and are closed with a visible
    /// status.
    fn end_conversation(&mut self, by: &AuthorId, stopped: &mut Stopped, now: Timestamp) -> Vec<Effect> {
        let effects = self.stop_run(by, stopped, now);
        for waiting in self.queue.take_all() {
            stopped.add(Run::new(&self.settings.thread, waiting.correlation, None, now).stop());
        }
        effects
    }

    /// Whether a person may stop the run in flight: the authors of the messages it answers may, and higher roles. In a
    /// thread of one person, that person may.
    fn may_stop(&self, event: &IngressEvent) -> bool {
        let alone = event.chat.is_private() || self.settings.thread.is_of_one_person();
        let Some(run) = self.run.as_ref().filter(|_| !alone) else { return true };
        let (rights, by) = (&self.settings.rules.rights, &event.author);
        let theirs = self.history.authors_of(run.correlation()).any(|author| *author == by.id);
        theirs || rights.may_end(self.requester().as_ref(), &by.id, by.role)
    }

    /// Whether a person may begin a new conversation, which also ends everything that waits.
    fn may_begin_anew(&self, event: &IngressEvent) -> bool {
        let alone = event.chat.is_private() || self.settings.thread.is_of_one_person();
        let (rights, by) = (&self.settings.rules.rights, &event.author);
        let mut waiting = self.queue.runs().flat_map(|run| self.history.authors_of(run));
        let may_end = |author: &AuthorId| rights.may_end(Some(author), &by.id, by.role);
        alone || (self.may_stop(event) && waiting.all(may_end))
    }

    fn status_facts(&self, lookups: &Lookups, now: Timestamp) -> Status {
        let begun = self.run.as_ref().filter(|run| run.phase() != RunPhase::WaitingForSlot);
        Status {
            state: self.state(),
            running: begun.map(|run| (now.millis_since(run.began()) / 1000, run.steps())),
            queued: self.queue.len(),
            model: lookups.model.clone().unwrap_or_default(),
            spent: lookups.spent.clone(),
            undelivered: self.deliveries.outstanding,
            held: self.deliveries.held,
            dead: self.deliveries.dead,
            others: if self.is_group() { self.others.clone() } else { Vec::new() },
        }
    }
}
