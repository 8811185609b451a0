//! Tells a room that two agents stop answering each other: once, by one of the two.

use tokio::sync::oneshot;

use super::actor::Actor;
use crate::domain::{CorrelationId, Intent, LineKind, RoomLine, ThreadId, ToolCallId, Via};
use crate::groups::{BotRefusal, stop_key, stops};
use crate::ports::{RunMessage, RunMessageSource};
use crate::render::Phrase;

/// A message of an agent that names this one and is not answered.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) line: RoomLine,
    pub(super) why: BotRefusal,
}

impl Actor {
    /// Tells the room that this agent does not answer the other one any more, unless the room knows.
    pub(super) async fn tell_stop(&mut self, refused: Refused) {
        let Refused { line, why } = refused;
        tracing::info!(thread = %self.id, from = %line.by, why = why.as_str(), "agent not answered");
        let phrase = match why {
            // A line that hides its depth is no answer to anything.
            BotRefusal::TooDeep if line.depth == 0 => return,
            BotRefusal::Quiet => return,
            BotRefusal::TooDeep | BotRefusal::Repeats => Phrase::AgentsStop,
            BotRefusal::Budget => Phrase::AgentsSpent,
        };
        if !self.is_first_to_stop(&line).await {
            return;
        }
        let Ok(from) = "room:chat:agents".parse::<ThreadId>() else { return };
        let text = phrase.say(self.conversation.language());
        let run_message = RunMessage {
            from,
            // The same after a restart, so that it is said once.
            correlation: CorrelationId::made("stop-", line.key.as_str()),
            source: RunMessageSource::Call(ToolCallId::made("", "stop")),
            intent: Intent::AssistantText { text },
        };
        // Nobody waits for the answer.
        let (reply, _) = oneshot::channel();
        self.say(Box::new(run_message), reply).await;
    }

    /// Whether neither agent of the pair has told the room within the last minutes. Notes that this one does.
    async fn is_first_to_stop(&self, refused: &RoomLine) -> bool {
        let groups = &self.runtime.groups;
        let (me, now) = (&groups.me.id, self.runtime.clock.now());
        let pair = stop_key(me, &refused.by);
        let Some(room) = self.room() else { return groups.stops_alone(&self.id, &pair, now) };
        let lines = self.lines_of_day(now).await;
        if lines.is_none_or(|lines| stops(&lines, &pair, now).next().is_some()) {
            return false;
        }
        let claim = self.blank_line(pair.clone(), Via::Outbound);
        let claim = RoomLine { kind: LineKind::Claim, chain: refused.chain.clone(), ..claim };
        let Some(at) = groups.claim(room, claim).await else { return false };
        // Of two that claim it at once, the log tells which was first.
        let lines = self.lines_of_day(at).await.unwrap_or_default();
        stops(&lines, &pair, at).next().is_some_and(|first| first.by == *me)
    }
}
