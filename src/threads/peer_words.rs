//! Messages of other bots: who wrote them, and whether they may be answered.

use std::sync::Arc;

use super::actor::Actor;
use super::agents_stop::Refused;
use super::group_settings::AnswerAgents;
use crate::domain::{
    Addressed, AgentCard, AuthorId, ChatKind, IngressEvent, IngressKind, LineAuthor, LineKind, MessageId,
    PeerWords, RoomLine, SpeakerKind, Timestamp, Via,
};
use crate::groups::{BEST_SCORE, bare_words, fold_lines, is_reported, may_answer_agent};
use crate::ports::{LineFilter, MessageFacts};
use crate::uimessage::{PEER, UiMessage};

/// How many lines of agents budgets are counted over.
const MANY_LINES: usize = 5_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
/// Two reports of one message, where each account counts its own ids, differ by at most this time.
const SAME_WITHIN_MS: u64 = 30_000;

impl Actor {
    /// Completes a message of another bot: its agent and chain by the log or the roster, and whether it is answered or
    /// only context. The refusal, where the agent would have been answered if the two had not said so much.
    pub(super) async fn settle_peer(&mut self, event: &mut IngressEvent) -> Option<Refused> {
        let IngressKind::Said(said) = &mut event.kind else { return None };
        let from_log = said.peer.as_ref()?.via.is_some();
        let runtime = self.runtime.clone();
        let now = runtime.clock.now();
        let lines = self.lines_of_day(now).await;
        let waits_for_line = !from_log && !self.identify(event, lines.as_deref()).await && lines.is_some();
        let IngressKind::Said(said) = &mut event.kind else { return None };
        let peer = said.peer.as_ref()?;
        let named = !said.addressed.context_only || runtime.groups.names.are_mentioned_in(&said.text);
        said.addressed = Addressed::CONTEXT;
        // An agent of the roster says how deep the chain is by its line, which follows: the room follower sees it.
        let waits_for_line = waits_for_line && peer.kind == SpeakerKind::Agent;
        let answers_agents = runtime.groups.settings().agents == AnswerAgents::Named;
        if !named || waits_for_line || !answers_agents {
            return None;
        }
        let asked = line_of(&event.message, event.at, peer, &said.text);
        let me = &runtime.groups.me.id;
        let counted = lines.unwrap_or_else(|| self.answered_in_thread(&asked.by, me));
        let why = may_answer_agent(&asked, me, &counted, runtime.groups.settings().limits, now).err();
        if why.is_none() {
            said.addressed = Addressed::ANSWER;
        }
        why.map(|why| Refused { line: asked, why })
    }

    /// Completes who wrote a message of another bot that the platform sent; whether the log has it.
    async fn identify(&self, event: &mut IngressEvent, lines: Option<&[RoomLine]>) -> bool {
        let IngressKind::Said(said) = &mut event.kind else { return false };
        let Some(peer) = said.peer.as_mut() else { return false };
        let runtime = self.runtime.clone();
        let folded = fold_lines(lines.unwrap_or_default().to_vec());
        let others = runtime.groups.others().await;
        let card = self.agent_of(&event.author.id, &others);
        let own_ids = self.shared_id(&event.platform_message).is_none();
        // Each line is one message: the same words again are another one.
        let has_copy = |line: &RoomLine| {
            self.conversation.message(&line.key).is_some_and(|message| !is_reported(message))
        };
        let is_it = |line: &&RoomLine| {
            let same = || {
                own_ids
                    && !has_copy(line)
                    && line.author.kind == SpeakerKind::Agent
                    && card.is_none_or(|card| card.id == line.author.id)
                    && apart(line.at, event.at) <= SAME_WITHIN_MS
                    && bare_words(&line.text) == bare_words(&said.text)
            };
            line.via == Via::Outbound && (line.key == event.message || same())
        };
        if let Some(line) = folded.iter().find(is_it) {
            event.message = line.key.clone();
            event.author.name = Some(line.author.name.clone());
            *peer = PeerWords {
                kind: SpeakerKind::Agent,
                agent: Some(line.author.id.clone()),
                via: None,
                chain: line.chain.clone(),
                depth: line.depth,
            };
            if let Some(adapter) = runtime.adapters.get(self.id.platform()) {
                adapter.see_peer(&line.author.id, &event.author.id);
            }
            return true;
        }
        let (chain, before) = self.conversation.programs_since_person();
        let agent = card.map_or_else(|| event.author.id.to_string(), |card| card.id.clone());
        let kind = if card.is_some() { SpeakerKind::Agent } else { SpeakerKind::Bot };
        *peer = PeerWords { kind, agent: Some(agent), via: None, chain, depth: before + 1 };
        if let Some(card) = card {
            event.author.name = Some(card.name.clone());
        }
        false
    }

    /// A message that goes on with this agent, and follows the words of another one, is for the other.
    pub(super) async fn settle_followup(&mut self, event: &mut IngressEvent) {
        let IngressKind::Said(said) = &mut event.kind else { return };
        let goes_on = said.addressed == Addressed::UNNAMED && said.peer.is_none();
        if !goes_on || event.chat != ChatKind::Group || self.room().is_none() {
            return;
        }
        let Some(lines) = self.lines_of_day(self.runtime.clock.now()).await else { return };
        // Some platforms tell whole seconds only.
        let until = event.at.plus_millis(1_000);
        // What was said before this agent was spoken to is not what goes on.
        let since = self.conversation.last_asked().unwrap_or_default();
        let sent = fold_lines(lines);
        let mut sent = sent.iter().filter(|line| {
            line.kind == LineKind::Said && line.via == Via::Outbound && line.at >= since && line.at <= until
        });
        if sent.next_back().is_some_and(|line| line.is_of_other_agent(&self.runtime.groups.me.id)) {
            said.addressed = Addressed::CONTEXT;
            return;
        }
        // It is for this agent: the decisions of other agents about it do not count.
        let facts = MessageFacts {
            platform_message: &event.platform_message,
            author: &event.author.id,
            at: event.at,
            text: &said.text,
        };
        let adapter = self.runtime.adapters.get(self.id.platform());
        if let Some(key) = adapter.and_then(|adapter| adapter.shared_key(&self.id, facts)) {
            let claim = self.blank_line(key, Via::Outbound);
            let claim = RoomLine { kind: LineKind::Claim, score: BEST_SCORE, ..claim };
            self.runtime.groups.claim(&self.id, claim).await;
        }
    }

    /// Whether a known message is context that this event may follow: a reported one is followed by the platform's, and
    /// the platform's copy of another agent's message by the log's that starts a turn.
    pub(super) fn may_follow(&self, event: &IngressEvent) -> bool {
        let IngressKind::Said(said) = &event.kind else { return self.is_only_reported(&event.message) };
        let from_log = said.peer.as_ref().is_some_and(|peer| peer.via.is_some());
        let is_context = |message: &&UiMessage| message.metadata.context;
        self.conversation.message(&event.message).filter(is_context).is_some_and(|message| {
            let starts = from_log && !said.addressed.context_only;
            if from_log { starts && message.metadata.extra.contains_key(PEER) } else { is_reported(message) }
        })
    }

    /// Whether the platform has sent the message of a line under an id of its own.
    pub(super) fn has_native_copy(&self, line: &RoomLine) -> bool {
        let of_line = format!("room:{}:", line.author.id);
        let is_copy = |message: &UiMessage| {
            message.metadata.extra.contains_key(PEER)
                && !is_reported(message)
                // That of another line has its id.
                && !message.id.as_str().starts_with(&of_line)
                && apart(message.metadata.timestamp, line.at) <= SAME_WITHIN_MS
                && bare_words(&message.text()) == bare_words(&line.text)
        };
        line.author.kind == SpeakerKind::Agent && self.conversation.any_message(&is_copy)
    }

    /// The lines of agents in the room since yesterday; `None` where nothing is shared, or it cannot be read.
    pub(super) async fn lines_of_day(&self, now: Timestamp) -> Option<Vec<RoomLine>> {
        let room = self.room()?;
        let since = now.as_millis().saturating_sub(i64::try_from(DAY_MS).unwrap_or(0));
        self.runtime
            .groups
            .recent(room, MANY_LINES, Timestamp::from_millis(since), LineFilter::OfAgents)
            .await
    }

    /// The agent of the roster that an author of the platform is.
    fn agent_of<'a>(&self, author: &AuthorId, others: &'a Arc<[AgentCard]>) -> Option<&'a AgentCard> {
        let platform = self.id.platform();
        let own = self.runtime.adapters.get(platform)?.account();
        let seen = own.as_ref().map(|account| &account.seen_as);
        let id = author.as_str().rsplit(':').next().unwrap_or_default();
        others.iter().find(|card| card.is_known_as(platform, id, seen))
    }

    /// What this thread alone tells of the messages that two agents have exchanged.
    fn answered_in_thread(&self, peer: &str, me: &str) -> Vec<RoomLine> {
        let mut lines = Vec::new();
        for (key, at) in self.conversation.answered_programs(peer) {
            let asked = PeerWords {
                kind: SpeakerKind::Bot,
                agent: Some(peer.to_owned()),
                via: None,
                chain: None,
                depth: 1,
            };
            let line = RoomLine { answers: Some(me.to_owned()), ..line_of(&key, at, &asked, "") };
            let answer = RoomLine { answers: Some(peer.to_owned()), by: me.to_owned(), ..line.clone() };
            lines.extend([line, answer]);
        }
        lines
    }
}

/// A message of a program, as the line that its agent would have written.
fn line_of(key: &MessageId, at: Timestamp, peer: &PeerWords, text: &str) -> RoomLine {
    let id = peer.agent.clone().unwrap_or_default();
    RoomLine {
        v: crate::domain::LINE_VERSION,
        kind: LineKind::Said,
        key: key.clone(),
        at,
        message_id: None,
        reply_to: None,
        author: LineAuthor { id: id.clone(), name: String::new(), kind: peer.kind },
        text: text.to_owned(),
        cut: false,
        chain: peer.chain.clone(),
        depth: peer.depth,
        answers: None,
        score: 0,
        lapsed: None,
        via: Via::Outbound,
        by: id,
    }
}

fn apart(one: Timestamp, other: Timestamp) -> u64 {
    one.as_millis().abs_diff(other.as_millis())
}
