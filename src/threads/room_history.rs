//! Asks the platform for what was said while this process did not listen. Messages that start a turn wait for it beside the
//! actor: commands, buttons and the turn that runs do not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::actor::Actor;
use super::jobs::Done;
use super::room_limits::HistoryNeed;
use super::room_link::OLDEST_MS;
use super::runtime::Runtime;
use crate::domain::{
    AgentCard, ChatKind, Command, IngressEvent, IngressKind, LineAuthor, RoomLine, SpeakerKind, ThreadId,
    Timestamp, Via,
};
use crate::groups::reported_message;
use crate::ports::{Acceptance, HistoryError, PastWords};
use crate::turn::Event;
use crate::uimessage::UiMessage;

/// How many messages the platform is asked for, and how long it may take.
const MOST_ASKED: usize = 100;
const ASK_WITHIN: Duration = Duration::from_secs(3);

/// The events that wait for the platform's history, in their order.
#[derive(Debug, Default)]
pub(super) struct HistoryWait(VecDeque<(Box<IngressEvent>, oneshot::Sender<Acceptance>)>);

impl HistoryWait {
    pub(super) fn is_busy(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Actor {
    /// Keeps an event until the platform has told what was said before; hands it back where nothing is asked.
    pub(super) async fn wait_for_history(
        &mut self,
        event: Box<IngressEvent>,
        reply: oneshot::Sender<Acceptance>,
    ) -> Option<(Box<IngressEvent>, oneshot::Sender<Acceptance>)> {
        let waits = match &event.kind {
            IngressKind::Command(order) => order.command == Command::New,
            IngressKind::Decision(_) => false,
            _ => true,
        };
        if !(waits && (self.history.is_busy() || self.ask_history(&event).await)) {
            return Some((event, reply));
        }
        self.history.0.push_back((event, reply));
        None
    }

    /// Asks in a job, where there is reason to.
    async fn ask_history(&mut self, event: &IngressEvent) -> bool {
        let IngressKind::Said(said) = &event.kind else { return false };
        if said.addressed.context_only || event.chat != ChatKind::Group || self.id.is_of_one_person() {
            return false;
        }
        let room = self.id.clone();
        let runtime = self.runtime.clone();
        let Some(adapter) = runtime.adapters.get(room.platform()) else { return false };
        if adapter.history(&room, MOST_ASKED).is_none() {
            return false;
        }
        let own_name = adapter.account().map(|account| account.name);
        let quoted =
            said.quoted.as_ref().filter(|quoted| quoted.author.is_none() || quoted.author != own_name);
        let missing = match quoted.and_then(|quoted| self.shared_id(&quoted.platform_message)) {
            Some(id) => !self.knows(&id).await.unwrap_or(true),
            None => false,
        };
        if !runtime.groups.may_ask_history(&room, HistoryNeed { back_at: adapter.back_at(), missing }) {
            return false;
        }
        let job = async move { Done::History(asked(&runtime, &room).await) };
        self.jobs.start(job, Done::History(Vec::new()));
        true
    }

    /// The platform has answered, or not in time: the events that wait are taken up.
    pub(super) async fn history_told(&mut self, past: Vec<PastWords>) {
        if let Some((event, _)) = self.history.0.front() {
            let (arriving, at) = (event.message.clone(), event.at);
            let mut taken: Vec<UiMessage> = Vec::new();
            for line in self.lines_of(past, at).await {
                let again = taken.iter().any(|message| message.id == line.key);
                if again || line.key == arriving || self.knows(&line.key).await.unwrap_or(true) {
                    continue;
                }
                taken.push(reported_message(&line, &self.id, self.runtime.ids.correlation()));
                // The others on this machine need not ask.
                self.runtime.groups.append(&self.id, line).await;
            }
            if !taken.is_empty() {
                self.upcoming.push_back(Event::Reported(taken));
            }
        }
        while let Some((event, reply)) = self.history.0.pop_front() {
            while let Some(event) = self.upcoming.pop_front() {
                self.feed(event).await;
            }
            self.take_up(event, reply).await;
        }
    }

    /// The lines of what the platform told, oldest first.
    async fn lines_of(&self, mut past: Vec<PastWords>, until: Timestamp) -> Vec<RoomLine> {
        let now = self.runtime.clock.now().as_millis();
        let oldest = now.saturating_sub(i64::try_from(OLDEST_MS).unwrap_or(0));
        let others = self.runtime.groups.others().await;
        past.sort_by_key(|past| past.at);
        past.retain(|past| past.at.as_millis() >= oldest && past.at <= until);
        past.into_iter().filter_map(|past| self.history_line(past, &others)).collect()
    }

    fn history_line(&self, past: PastWords, others: &[AgentCard]) -> Option<RoomLine> {
        let key = self.shared_id(&past.platform_message)?;
        let platform = self.id.platform();
        let agent =
            others.iter().find(|card| past.by_program && card.is_known_as(platform, &past.author, None));
        let author = match agent {
            Some(card) => {
                LineAuthor { id: card.id.clone(), name: card.name.clone(), kind: SpeakerKind::Agent }
            }
            None => LineAuthor {
                name: self.conversation.name_of(&self.id, &past.author),
                kind: if past.by_program { SpeakerKind::Bot } else { SpeakerKind::Person },
                id: past.author,
            },
        };
        Some(RoomLine {
            at: past.at,
            message_id: Some(past.platform_message),
            author,
            text: past.text,
            ..self.blank_line(key, Via::History)
        })
    }
}

/// What was said in a room, as its platform tells; nothing where it does not tell in time.
async fn asked(runtime: &Arc<Runtime>, room: &ThreadId) -> Vec<PastWords> {
    let adapter = runtime.adapters.get(room.platform());
    let Some(asked) = adapter.and_then(|adapter| adapter.history(room, MOST_ASKED)) else {
        return Vec::new();
    };
    match tokio::time::timeout(ASK_WITHIN, asked).await {
        Ok(Ok(past)) => {
            runtime.groups.history_known(room, runtime.clock.now());
            past
        }
        Ok(Err(error @ HistoryError::Refused(_))) => {
            runtime.groups.history_refused(room);
            tracing::warn!(thread = %room, %error, "history refused");
            Vec::new()
        }
        Ok(Err(error)) => {
            tracing::info!(thread = %room, %error, "history not available");
            Vec::new()
        }
        Err(_) => {
            tracing::info!(thread = %room, "history not available in time");
            Vec::new()
        }
    }
}
