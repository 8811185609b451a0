//! Commands for the daemon, answered at once in any state of the thread.

use crate::domain::{AuthorId, Command, CommandInvocation, CorrelationId, Timestamp};
use crate::ports::Acceptance;
use crate::render::{Phrase, Status};
use crate::turn::exchange::Exchange;
use crate::turn::history::REFUSED;
use crate::turn::queue::Arrival;
use crate::turn::runs::run::Phase;
use crate::turn::{Conversation, Effect};
use crate::uimessage::{Part, RunStatus, UiMessage};

impl Conversation {
    pub(in crate::turn) fn obey(
        &mut self,
        order: &CommandInvocation,
        arrival: &Arrival,
        now: Timestamp,
        correlation: CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let (event, ticket) = (&arrival.event, arrival.ticket);
        let language = self.language();
        let mut lines = Vec::new();
        let mut ended = Vec::new();
        let refused = match order.command {
            Command::Stop => !self.may_stop(event),
            Command::New => !self.may_begin_anew(event),
            _ => false,
        };
        if order.command == Command::Compact && self.run.is_none() && self.manual.is_none() {
            let working = Phrase::Compacting.say(language);
            let exchange = Exchange::new(&order.to_string(), event, working, correlation.clone(), now);
            let message = exchange.record.id.clone();
            self.ask_to_compact(order, exchange, correlation.clone(), out);
            out.push(Effect::Answer(ticket, Acceptance::Accepted { message, correlation }));
            out.push(Effect::Publish);
            return;
        }
        let reply = match order.command {
            Command::Compact => Phrase::CompactLater.say(language),
            Command::Help => Phrase::Help.say(language),
            Command::Status => Phrase::Status(self.status_facts(now)).say(language),
            Command::Stop | Command::New if refused => Phrase::NotTheirsToStop.say(language),
            Command::Stop => {
                let stopped = self.stop_run(&event.author.id, now, &mut lines, &mut ended, out);
                if stopped { Phrase::Stopped.say(language) } else { Phrase::NothingToStop.say(language) }
            }
            Command::New => {
                self.stop_run(&event.author.id, now, &mut lines, &mut ended, out);
                self.drop_waiting(now, &mut lines, &mut ended);
                Phrase::NewConversation.say(language)
            }
            Command::Cancel => self.cancel(&event.author, now, out),
            Command::Approvals => Phrase::Pending(self.pending_approvals()).say(language),
            Command::Approve | Command::Deny => Phrase::NotOpen.say(language),
            Command::Grants => {
                arrival.lookups.words.clone().unwrap_or_else(|| Phrase::NoGrants.say(language))
            }
            Command::Memory | Command::Tasks => arrival.lookups.words.clone().unwrap_or_default(),
            Command::Model => Phrase::ModelIs(self.rules.model.clone()).say(language),
            Command::Id => {
                let (thread, author) = (self.thread.clone(), event.author.id.clone());
                Phrase::Id { thread, author }.say(language)
            }
        };
        let mut exchange = Exchange::new(&order.to_string(), event, reply, correlation.clone(), now);
        if refused {
            exchange.record.metadata.extra.insert(REFUSED.to_owned(), true.into());
        }
        self.reply_to(exchange, lines, ticket, out);
        out.extend(ended.into_iter().map(Effect::Finished));
        out.push(Effect::Finished(correlation));
        if self.run.is_none() {
            self.start_next(now, out);
        }
        out.push(Effect::Publish);
    }

    /// Ends the run in flight. Returns whether there was one.
    fn stop_run(
        &mut self,
        by: &AuthorId,
        now: Timestamp,
        lines: &mut Vec<UiMessage>,
        ended: &mut Vec<CorrelationId>,
        out: &mut Vec<Effect>,
    ) -> bool {
        self.withdraw("the turn was stopped", by, now, out);
        let Some(mut run) = self.run.take() else { return false };
        run.end_texts();
        run.settle_all("Stopped by the user before it finished.");
        if run.message.parts.is_empty() {
            run.message.parts.push(Part::StepStart);
        }
        run.message.metadata.status = Some(RunStatus::Stopped);
        ended.push(run.correlation);
        lines.push(run.message);
        out.push(Effect::CancelJobs);
        out.push(Effect::ReleaseSlot);
        true
    }

    /// Waiting messages belong to the conversation that ends: they are closed with a visible status.
    fn drop_waiting(&mut self, now: Timestamp, lines: &mut Vec<UiMessage>, ended: &mut Vec<CorrelationId>) {
        for waiting in std::mem::take(&mut self.waiting) {
            let mut run = crate::turn::runs::run::Run::new(&self.thread, waiting.correlation, None, now);
            run.message.parts.push(Part::StepStart);
            run.message.metadata.status = Some(RunStatus::Stopped);
            ended.push(run.correlation);
            lines.push(run.message);
        }
    }

    fn status_facts(&self, now: Timestamp) -> Status {
        let begun = self.run.as_ref().filter(|run| run.phase != Phase::WaitingForSlot);
        Status {
            state: self.state(),
            running: begun.map(|run| (now.millis_since(run.began) / 1000, run.steps)),
            queued: self.waiting.iter().map(|waiting| waiting.messages.len()).sum(),
            model: self.rules.model.clone(),
            undelivered: self.deliveries.outstanding,
            held: self.deliveries.held,
            dead: self.deliveries.dead,
        }
    }
}
