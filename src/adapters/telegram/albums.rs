//! The order of work: updates of one chat one after the other, of different chats side by side, and the parts of an
//! album, which come one by one, as one. Pure: the time is handed in.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::update::{Heard, Parcel, What};

/// How long after a part of an album the next one is waited for.
const PATIENCE: Duration = Duration::from_millis(700);
/// An album has no more parts.
const MOST_PARTS: usize = 10;

/// What goes one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// What is said in a chat.
    Chat(i64),
    /// Commands in a chat: they do not wait until a file has been fetched.
    Orders(i64),
    /// Something that waits for nothing, by the number of its update.
    Alone(i64),
}

/// Updates that are worked on together.
#[derive(Debug)]
pub(super) struct Job<T> {
    /// Each with its number.
    pub(super) parts: Vec<(i64, T)>,
    album: Option<Album>,
}

#[derive(Debug)]
struct Album {
    group: String,
    due: Instant,
}

/// What waits, lane by lane.
#[derive(Debug)]
pub(super) struct Lanes<T> {
    waiting: BTreeMap<Lane, VecDeque<Job<T>>>,
    busy: BTreeSet<Lane>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), busy: BTreeSet::new() }
    }
}

impl<T> Lanes<T> {
    /// Puts an update at the end of a lane, or to the other parts of its album.
    pub(super) fn put(&mut self, lane: Lane, number: i64, item: T, group: Option<String>, now: Instant) {
        let queue = self.waiting.entry(lane).or_default();
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

    /// Takes what can be begun: the first of each lane where nothing is going on.
    pub(super) fn begin(&mut self, now: Instant) -> Vec<(Lane, Job<T>)> {
        let mut ready = Vec::new();
        for (lane, queue) in &mut self.waiting {
            // Whatever comes behind an album shows that it is whole.
            let whole = |job: &Job<T>| job.album.as_ref().is_none_or(|album| album.due <= now);
            let due = queue.len() > 1 || queue.front().is_some_and(whole);
            if due && !self.busy.contains(lane) {
                ready.extend(queue.pop_front().map(|job| (*lane, job)));
            }
        }
        self.busy.extend(ready.iter().map(|(lane, _)| *lane));
        self.waiting.retain(|_, queue| !queue.is_empty());
        ready
    }

    /// When an album becomes whole by itself.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let idle = self.waiting.iter().filter(|(lane, _)| !self.busy.contains(lane));
        idle.filter_map(|(_, queue)| Some(queue.front()?.album.as_ref()?.due)).min()
    }

    /// Something has ended: the next one of its lane may begin.
    pub(super) fn ended(&mut self, lane: Lane) {
        self.busy.remove(&lane);
    }

    /// Empties a lane, so that what is in it comes again in its order. Gives the numbers.
    pub(super) fn clear(&mut self, lane: Lane) -> Vec<i64> {
        let jobs = self.waiting.remove(&lane).unwrap_or_default();
        jobs.into_iter().flat_map(|job| job.parts).map(|(number, _)| number).collect()
    }
}

/// Makes one message of the parts of an album: it goes by the number of the first part.
pub(super) fn merge(parts: Vec<Heard>) -> Option<Heard> {
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

fn add(all: &mut Parcel, more: Parcel) {
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

    const A: Lane = Lane::Chat(1);
    const B: Lane = Lane::Chat(2);

    fn begun(lanes: &mut Lanes<()>, now: Instant) -> Vec<(Lane, Vec<i64>)> {
        let ready = lanes.begin(now);
        ready
            .into_iter()
            .map(|(lane, job)| (lane, job.parts.iter().map(|(number, ())| *number).collect()))
            .collect()
    }

    #[tokio::test]
    async fn one_chat_goes_in_order_and_others_beside_it() {
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        for (lane, number) in [(A, 1), (A, 2), (B, 3), (Lane::Orders(1), 4)] {
            lanes.put(lane, number, (), None, now);
        }
        assert_eq!(begun(&mut lanes, now), [(A, vec![1]), (B, vec![3]), (Lane::Orders(1), vec![4])]);
        assert_eq!(begun(&mut lanes, now), []);
        lanes.ended(A);
        assert_eq!(begun(&mut lanes, now), [(A, vec![2])]);
        lanes.put(A, 5, (), None, now);
        lanes.put(A, 6, (), None, now);
        assert_eq!(lanes.clear(A), [5, 6]);
        lanes.ended(A);
        assert_eq!(begun(&mut lanes, now), []);
    }

    #[tokio::test]
    async fn the_parts_of_an_album_wait_for_each_other() {
        let (mut lanes, start) = (Lanes::default(), Instant::now());
        let group = || Some("g".to_owned());
        lanes.put(A, 1, (), group(), start);
        assert_eq!(lanes.next_due(), Some(start + PATIENCE));
        let later = start + Duration::from_millis(500);
        lanes.put(A, 2, (), group(), later);
        assert_eq!(begun(&mut lanes, start + PATIENCE), []);
        assert_eq!(begun(&mut lanes, later + PATIENCE), [(A, vec![1, 2])]);
        assert_eq!(lanes.next_due(), None);
        lanes.ended(A);
        for number in 3..14 {
            lanes.put(A, number, (), group(), later);
        }
        assert_eq!(begun(&mut lanes, later), [(A, (3..13).collect())], "ten are whole");
    }

    #[tokio::test]
    async fn whatever_comes_behind_an_album_shows_that_it_is_whole() {
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        lanes.put(A, 1, (), Some("g".to_owned()), now);
        lanes.put(A, 2, (), Some("g".to_owned()), now);
        lanes.put(A, 3, (), Some("h".to_owned()), now);
        assert_eq!(begun(&mut lanes, now), [(A, vec![1, 2])]);
        lanes.put(A, 4, (), None, now);
        lanes.ended(A);
        assert_eq!(begun(&mut lanes, now), [(A, vec![3])]);
    }
}
