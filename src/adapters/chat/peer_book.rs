//! What an adapter knows of other agents: who they are, how the platform calls them, and its own account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{AgentAccount, AgentCard, Platform, Timestamp, short_digest};
use crate::groups::native_mentions;
use crate::ports::Peers;

/// Most ids of other agents that are remembered.
const MOST_SEEN: usize = 500;
/// Most names of people that are remembered.
const MOST_PEOPLE: usize = 10_000;
/// How many bytes of a digest are the handle of a person.
const HANDLE_BYTES: usize = 3;

/// An agent that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerMention {
    /// Where it is named, with the `@`.
    pub range: std::ops::Range<usize>,
    /// The name as it was written.
    pub name: String,
    /// Its account on this platform, where the roster tells it.
    pub account: Option<AgentAccount>,
    /// Its id as this account sees it, where the platform gives each account its own.
    pub seen_as: Option<String>,
}

/// The other agents, for one adapter. Clones share it.
#[derive(Clone, Debug)]
pub struct PeerBook {
    platform: Platform,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    others: Arc<[AgentCard]>,
    hears_bots: bool,
    /// The names of people, by their ids, where only mentions tell them.
    people: HashMap<String, String>,
    /// An empty id means that the platform has not told it yet.
    account: AgentAccount,
}

impl PeerBook {
    pub fn new(platform: Platform) -> Self {
        let account = AgentAccount::new(platform.clone(), String::new(), String::new());
        let state = State { others: Arc::default(), hears_bots: false, people: HashMap::new(), account };
        Self { platform, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the roster, and what an earlier process learned.
    pub fn know(&self, peers: &Peers) {
        let mut state = self.state();
        state.others = peers.others.clone();
        state.hears_bots = peers.hears_bots;
        if let Some(earlier) = peers.me.as_ref().and_then(|me| me.account_on(&self.platform)) {
            for (agent, id) in &earlier.seen_as {
                state.account.seen_as.entry(agent.clone()).or_insert_with(|| id.clone());
            }
            state.account.heard_bot = state.account.heard_bot.max(earlier.heard_bot);
        }
    }

    /// The platform has told the agent's own account.
    pub fn connected(&self, id: String, name: String, hears_all: Option<bool>) {
        let account = &mut self.state().account;
        (account.id, account.name, account.hears_all) = (id, name, hears_all);
    }

    /// The agent's own account; `None` before the platform has told it.
    pub fn account(&self) -> Option<AgentAccount> {
        Some(self.state().account.clone()).filter(|account| !account.id.is_empty())
    }

    pub fn hears_bots(&self) -> bool {
        self.state().hears_bots
    }

    /// The platform has sent a message of another bot.
    pub fn heard_bot(&self, at: Timestamp) {
        self.state().account.heard_bot = Some(at);
    }

    /// A permission was found missing, or is there.
    pub fn lacks(&self, permission: Option<String>) {
        self.state().account.lacks = permission;
    }

    /// Learns the id of an agent from a mention that names it.
    pub fn see(&self, name: &str, id: &str) {
        let state = self.state();
        let is_called = |card: &&AgentCard| {
            let account = card.account_on(&self.platform).map(|account| account.name.as_str());
            account.into_iter().chain(card.names()).any(|known| known.eq_ignore_ascii_case(name.trim()))
        };
        let mut called = state.others.iter().filter(is_called);
        // A name that two agents have tells neither.
        let (Some(card), None) = (called.next(), called.next()) else { return };
        let agent = card.id.clone();
        drop(state);
        self.see_agent(&agent, id);
    }

    /// Learns the name of a person from a mention.
    pub fn meet(&self, id: &str, name: &str) {
        let people = &mut self.state().people;
        if people.len() < MOST_PEOPLE || people.contains_key(id) {
            people.insert(id.to_owned(), name.trim().to_owned());
        }
    }

    /// What a person is called in a group; of a person who was never mentioned a short handle that stays the same. `shared`
    /// is an id that more accounts than this one know.
    pub fn person(&self, id: &str, shared: Option<&str>) -> String {
        let handle = || format!("user-{}", short_digest(shared.unwrap_or(id).as_bytes(), HANDLE_BYTES));
        self.state().people.get(id).cloned().unwrap_or_else(handle)
    }

    /// Learns the id of an agent that is known otherwise.
    pub fn see_agent(&self, agent: &str, id: &str) {
        let seen = &mut self.state().account.seen_as;
        if seen.len() < MOST_SEEN || seen.contains_key(agent) {
            seen.insert(agent.to_owned(), id.to_owned());
        }
    }

    /// The name of the agent with this id on the platform.
    pub fn name_of(&self, id: &str) -> Option<String> {
        let state = self.state();
        let seen = Some(&state.account.seen_as);
        let card = state.others.iter().find(|card| card.is_known_as(&self.platform, id, seen))?;
        Some(card.name.clone())
    }

    /// The agents that a text names with `@`.
    pub fn mentions(&self, text: &str) -> Vec<PeerMention> {
        let state = self.state();
        let mention = |(range, card): (std::ops::Range<usize>, &AgentCard)| PeerMention {
            name: text.get(range.start + 1..range.end).unwrap_or_default().to_owned(),
            account: card.account_on(&self.platform).cloned(),
            seen_as: state.account.seen_as.get(&card.id).cloned(),
            range,
        };
        native_mentions(text, &state.others).into_iter().map(mention).collect()
    }
}

/// A text with some of its mentions in another form.
pub fn with_mentions(
    text: &str,
    mentions: &[PeerMention],
    form: impl Fn(&PeerMention) -> Option<String>,
) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for mention in mentions {
        let Some(words) = form(mention) else { continue };
        out.push_str(text.get(from..mention.range.start).unwrap_or_default());
        out.push_str(&words);
        from = mention.range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> PeerBook {
        let platform: Platform = "fake".parse().unwrap();
        let mut ops = AgentCard::new("o", "Ops");
        ops.accounts = vec![AgentAccount::new(platform.clone(), "77".to_owned(), "ops_bot".to_owned())];
        let book = PeerBook::new(platform);
        let others = vec![ops, AgentCard::new("s", "Ship")];
        book.know(&Peers { others: others.into(), hears_bots: true, ..Peers::default() });
        book
    }

    #[test]
    fn an_id_is_learned_from_a_mention_and_kept_for_the_next_process() {
        let book = book();
        assert_eq!(book.account(), None);
        book.see("OPS_BOT", "ou_7");
        book.see("Nobody", "ou_8");
        book.connected("me".to_owned(), "Me".to_owned(), None);
        let account = book.account().unwrap();
        assert_eq!(account.seen_as.iter().collect::<Vec<_>>(), [(&"o".to_owned(), &"ou_7".to_owned())]);
        assert_eq!((book.name_of("ou_7"), book.name_of("77")), (Some("Ops".into()), Some("Ops".into())));
        assert_eq!(book.name_of("ou_8"), None);
        let next = self::book();
        let me = AgentCard { accounts: vec![account], ..AgentCard::new("me", "Me") };
        next.know(&Peers { me: Some(me), ..Peers::default() });
        next.know(&Peers { others: book.state().others.clone(), ..Peers::default() });
        assert_eq!(next.name_of("ou_7"), Some("Ops".into()));
    }

    #[test]
    fn a_text_names_agents_in_the_form_of_the_platform() {
        let book = book();
        let text = "@Ops and @Ship, `@ops`, @nobody";
        let form = |mention: &PeerMention| Some(format!("<{}>", mention.account.as_ref()?.name));
        assert_eq!(with_mentions(text, &book.mentions(text), form), "<ops_bot> and @Ship, `@ops`, @nobody");
    }
}
