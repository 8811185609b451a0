//! Orders updates by key: updates of one thread run one after the other, those of different threads in parallel, and
//! the parts of an album, which arrive one by one, as one job. Pure: the caller passes the time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::update::{InboundMessage, MessageContent, What};
use crate::domain::ThreadId;

/// How long after a part of an album to wait for the next one.
const PATIENCE: Duration = Duration::from_millis(700);
/// Telegram's limit for the parts of an album.
const MOST_PARTS: usize = 10;

/// The key of updates that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OrderKey {
    /// Messages of a thread.
    Thread(ThreadId),
    /// Commands of a thread: they do not wait for a download.
    Orders(ThreadId),
    /// An update that waits for no other, by its key.
    Alone(i64),
}

/// Updates that are handled together.
#[derive(Debug)]
pub(super) struct Job<T> {
    /// Each with its key.
    pub(super) parts: Vec<(i64, T)>,
    album: Option<Album>,
}

#[derive(Debug)]
struct Album {
    group: String,
    due: Instant,
}

/// The queued jobs by order key.
#[derive(Debug)]
pub(super) struct OrderedQueues<T> {
    waiting: BTreeMap<OrderKey, VecDeque<Job<T>>>,
    busy: BTreeSet<OrderKey>,
}

impl<T> Default for OrderedQueues<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), busy: BTreeSet::new() }
    }
}

impl<T> OrderedQueues<T> {
    /// Appends an update to the queue of an order key, or adds it to its album.
    pub(super) fn put(
        &mut self,
        order_key: OrderKey,
        number: i64,
        item: T,
        group: Option<String>,
        now: Instant,
    ) {
        let queue = self.waiting.entry(order_key).or_default();
        if let (Some(group), Some(job)) = (&group, queue.back_mut())
            && let Some(album) = job.album.as_mut().filter(|album| album.group == *group)
            && job.parts.len() < MOST_PARTS
        {
            job.parts.push((number, item));
            album.due = if job.parts.len() < MOST_PARTS { now + PATIENCE } else { now };
            return;
        }
        let album = group.map(|group| Album { group, due: now + PATIENCE });
        queue.push_back(Job { parts: vec![(number, item)], album });
    }

    /// Takes the jobs that can start: the first of each order key without a running job.
    pub(super) fn begin(&mut self, now: Instant) -> Vec<(OrderKey, Job<T>)> {
        let mut ready = Vec::new();
        for (order_key, queue) in &mut self.waiting {
            // A later job in the queue proves that the album is complete.
            let whole = |job: &Job<T>| job.album.as_ref().is_none_or(|album| album.due <= now);
            let due = queue.len() > 1 || queue.front().is_some_and(whole);
            if due && !self.busy.contains(order_key) {
                ready.extend(queue.pop_front().map(|job| (order_key.clone(), job)));
            }
        }
        self.busy.extend(ready.iter().map(|(order_key, _)| order_key.clone()));
        self.waiting.retain(|_, queue| !queue.is_empty());
        ready
    }

    /// When the next album counts as complete.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let idle = self.waiting.iter().filter(|(order_key, _)| !self.busy.contains(order_key));
        idle.filter_map(|(_, queue)| Some(queue.front()?.album.as_ref()?.due)).min()
    }

    /// A job has ended: the next one of its order key may start.
    pub(super) fn ended(&mut self, order_key: &OrderKey) {
        self.busy.remove(order_key);
    }

    /// Removes some queued updates of an order key.
    pub(super) fn withdraw(&mut self, order_key: &OrderKey, numbers: &[i64]) -> Vec<(i64, T)> {
        let Some(queue) = self.waiting.get_mut(order_key) else { return Vec::new() };
        let mut withdrawn = Vec::new();
        for job in queue.iter_mut() {
            withdrawn.extend(job.parts.extract_if(.., |(number, _)| numbers.contains(number)));
        }
        queue.retain(|job| !job.parts.is_empty());
        self.waiting.retain(|_, queue| !queue.is_empty());
        withdrawn
    }
}

/// Merges the parts of an album into one message with the id of the first part.
pub(super) fn merge(parts: Vec<InboundMessage>) -> Option<InboundMessage> {
    let mut parts = parts.into_iter();
    let mut whole = parts.next()?;
    for part in parts {
        whole.facts.mentions_me |= part.facts.mentions_me;
        whole.facts.replies_to_me |= part.facts.replies_to_me;
        whole.facts.commands_me |= part.facts.commands_me;
        whole.facts.turns_to_another |= part.facts.turns_to_another;
        let (What::Said(all), What::Said(more)) = (&mut whole.what, part.what) else { continue };
        add(all, more);
    }
    Some(whole)
}

fn add(all: &mut MessageContent, more: MessageContent) {
    all.files.extend(more.files);
    if !more.said.text.is_empty() {
        let blank = if all.said.text.is_empty() { "" } else { "\n\n" };
        all.said.text.push_str(&format!("{blank}{}", more.said.text));
    }
    let (said, more) = (&mut all.said, more.said);
    said.quoted = said.quoted.take().or(more.quoted);
    said.forwarded_from = said.forwarded_from.take().or(more.forwarded_from);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_key(chat: i64) -> OrderKey {
        OrderKey::Thread(format!("telegram:chat:{chat}").parse().unwrap())
    }

    fn begun(lanes: &mut OrderedQueues<()>, now: Instant) -> Vec<(OrderKey, Vec<i64>)> {
        let ready = lanes.begin(now);
        ready
            .into_iter()
            .map(|(order_key, job)| (order_key, job.parts.iter().map(|(number, ())| *number).collect()))
            .collect()
    }

    #[tokio::test]
    async fn one_chat_goes_in_order_and_others_beside_it() {
        let (mut lanes, now) = (OrderedQueues::default(), Instant::now());
        let orders = OrderKey::Orders("telegram:chat:1".parse().unwrap());
        for (order_key, number) in
            [(order_key(1), 1), (order_key(1), 2), (order_key(2), 3), (orders.clone(), 4)]
        {
            lanes.put(order_key, number, (), None, now);
        }
        assert_eq!(
            begun(&mut lanes, now),
            [(order_key(1), vec![1]), (order_key(2), vec![3]), (orders, vec![4])]
        );
        assert_eq!(begun(&mut lanes, now), []);
        lanes.ended(&order_key(1));
        assert_eq!(begun(&mut lanes, now), [(order_key(1), vec![2])]);
        lanes.put(order_key(1), 5, (), None, now);
        lanes.put(order_key(1), 6, (), None, now);
        assert_eq!(lanes.withdraw(&order_key(1), &[6, 7]), [(6, ())]);
        assert_eq!(lanes.withdraw(&order_key(2), &[5]), []);
        lanes.ended(&order_key(1));
        assert_eq!(begun(&mut lanes, now), [(order_key(1), vec![5])]);
    }

    #[tokio::test]
    async fn the_parts_of_an_album_wait_for_each_other() {
        let (mut lanes, start) = (OrderedQueues::default(), Instant::now());
        let group = || Some("g".to_owned());
        lanes.put(order_key(1), 1, (), group(), start);
        assert_eq!(lanes.next_due(), Some(start + PATIENCE));
        let later = start + Duration::from_millis(500);
        lanes.put(order_key(1), 2, (), group(), later);
        assert_eq!(begun(&mut lanes, start + PATIENCE), []);
        assert_eq!(begun(&mut lanes, later + PATIENCE), [(order_key(1), vec![1, 2])]);
        assert_eq!(lanes.next_due(), None);
        lanes.ended(&order_key(1));
        for number in 3..14 {
            lanes.put(order_key(1), number, (), group(), later);
        }
        assert_eq!(begun(&mut lanes, later), [(order_key(1), (3..13).collect())], "ten are whole");
    }

    #[tokio::test]
    async fn whatever_comes_behind_an_album_shows_that_it_is_whole() {
        let (mut lanes, now) = (OrderedQueues::default(), Instant::now());
        lanes.put(order_key(1), 1, (), Some("g".to_owned()), now);
        lanes.put(order_key(1), 2, (), Some("g".to_owned()), now);
        lanes.put(order_key(1), 3, (), Some("h".to_owned()), now);
        assert_eq!(begun(&mut lanes, now), [(order_key(1), vec![1, 2])]);
        lanes.put(order_key(1), 4, (), None, now);
        lanes.ended(&order_key(1));
        assert_eq!(begun(&mut lanes, now), [(order_key(1), vec![3])]);
    }
}
