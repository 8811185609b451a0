//! The queue of updates, with the server's rules: only an offset confirms updates, all lower ones.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Kinds that are sent only to a bot that requests them.
const ON_REQUEST: [&str; 3] = ["chat_member", "message_reaction", "message_reaction_count"];

#[derive(Debug)]
pub(crate) struct Updates {
    next: i64,
    /// Every update so far, for redelivery.
    made: BTreeMap<i64, Value>,
    pending: BTreeMap<i64, Value>,
    /// Confirmed updates that are sent again, and whether they were sent since.
    again: BTreeMap<i64, bool>,
    allowed: Vec<String>,
    confirmed: i64,
    /// Counts the polls: one that is not the latest was ended by a later one.
    pub(crate) poll: u64,
}

impl Default for Updates {
    fn default() -> Self {
        let first = 700_001;
        Self {
            next: first,
            made: BTreeMap::new(),
            pending: BTreeMap::new(),
            again: BTreeMap::new(),
            allowed: Vec::new(),
            confirmed: first - 1,
            poll: 0,
        }
    }
}

impl Updates {
    /// Queues an update of a kind, if the bot wants that kind.
    pub(crate) fn push(&mut self, kind: &str, content: Value) -> Option<i64> {
        let wanted = if self.allowed.is_empty() {
            !ON_REQUEST.contains(&kind)
        } else {
            self.allowed.iter().any(|allowed| allowed == kind)
        };
        wanted.then(|| {
            let mut update = serde_json::Map::new();
            update.insert("update_id".to_owned(), json!(self.next));
            update.insert(kind.to_owned(), content);
            self.push_raw(Value::Object(update))
        })
    }

    /// Queues any update. An object without an id gets one.
    pub(crate) fn push_raw(&mut self, mut update: Value) -> i64 {
        let id = update.get("update_id").and_then(Value::as_i64).unwrap_or(self.next);
        if let Some(object) = update.as_object_mut() {
            object.entry("update_id").or_insert(json!(id));
        }
        self.next = self.next.max(id) + 1;
        self.made.insert(id, update.clone());
        self.pending.insert(id, update);
        id
    }

    /// Sends an update again, even if it was confirmed.
    pub(crate) fn again(&mut self, id: i64) {
        assert!(self.made.contains_key(&id), "there was no update {id}");
        self.again.insert(id, false);
    }

    /// The kinds that the bot requests; an empty list is the default set.
    pub(crate) fn allow(&mut self, kinds: Vec<String>) {
        self.allowed = kinds;
    }

    pub(crate) fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// Applies an offset: drops lower updates or, if negative, all but the last ones.
    pub(crate) fn confirm(&mut self, offset: i64) {
        let offset = if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let first = self.pending.keys().rev().nth(keep - 1).or(self.pending.keys().next());
            first.copied().unwrap_or(self.next)
        } else {
            offset
        };
        self.pending = self.pending.split_off(&offset);
        self.again.retain(|id, given| !(*given && *id < offset));
        self.confirmed = self.confirmed.max(offset - 1);
    }

    /// The next updates, oldest first. They stay until they are confirmed.
    pub(crate) fn give(&mut self, offset: i64, limit: usize) -> Vec<(i64, Value)> {
        for given in self.again.values_mut() {
            *given = true;
        }
        let again = self.again.keys().filter_map(|id| Some((*id, self.made.get(id)?.clone())));
        let mut out: BTreeMap<i64, Value> = again.collect();
        out.extend(self.pending.range(offset.max(0)..).map(|(id, update)| (*id, update.clone())));
        out.into_iter().take(limit).collect()
    }

    /// Whether there are updates to send.
    pub(crate) fn any(&self) -> bool {
        !self.pending.is_empty() || !self.again.is_empty()
    }

    /// Drops one update: a webhook accepted it.
    pub(crate) fn taken(&mut self, id: i64) {
        self.pending.remove(&id);
        self.again.remove(&id);
        self.confirmed = self.confirmed.max(id);
    }

    /// Drops all pending updates.
    pub(crate) fn drop_pending(&mut self) {
        self.pending.clear();
        self.again.clear();
    }

    /// How many are unconfirmed.
    pub(crate) fn pending(&self) -> usize {
        self.pending.len() + self.again.len()
    }

    /// The highest confirmed id.
    pub(crate) fn confirmed(&self) -> i64 {
        self.confirmed
    }

    /// Every update so far, by id.
    pub(crate) fn made(&self) -> &BTreeMap<i64, Value> {
        &self.made
    }
}
