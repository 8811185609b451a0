//! Collects the parts of an album, which arrive one by one, into one event.

use std::time::Duration;

use tokio::time::Instant;

use super::Inbound;
use super::inbox::Job;

/// How long after a part of an album to wait for the next one.
const PATIENCE: Duration = Duration::from_millis(700);
/// Most parts of an album.
const MOST_PARTS: usize = 10;

/// The incomplete albums, oldest first.
#[derive(Debug, Default)]
pub(super) struct Albums {
    waiting: Vec<Album>,
}

#[derive(Debug)]
struct Album {
    chat: String,
    id: String,
    first: Job,
    /// The keys of the further parts.
    parts: Vec<String>,
    due: Instant,
}

impl Albums {
    /// Adds an event, if there is one. Returns the events that can be submitted, each with the keys of the further parts
    /// that it includes.
    pub(super) fn put(&mut self, job: Option<Job>, now: Instant) -> Vec<(Job, Vec<String>)> {
        let mut ready = Vec::new();
        if let Some(job) = job {
            let id = album_of(&job);
            // A later event in the chat proves that its album is complete.
            let chat = job.place.chat();
            let complete = |album: &mut Album| album.chat == chat && Some(&album.id) != id.as_ref();
            ready.extend(self.waiting.extract_if(.., complete).map(|album| (album.first, album.parts)));
            match id {
                Some(id) => self.add(job, id, now),
                None => ready.push((job, Vec::new())),
            }
        }
        let whole = |album: &mut Album| album.due <= now || album.parts.len() + 1 >= MOST_PARTS;
        ready.extend(self.waiting.extract_if(.., whole).map(|album| (album.first, album.parts)));
        ready
    }

    fn add(&mut self, job: Job, id: String, now: Instant) {
        let known = self.waiting.iter_mut().find(|album| album.id == id && album.chat == job.place.chat());
        let Some(album) = known else {
            let (chat, due) = (job.place.chat().to_owned(), now + PATIENCE);
            self.waiting.push(Album { chat, id, first: job, parts: Vec::new(), due });
            return;
        };
        album.due = now + PATIENCE;
        let event = &mut album.first.event;
        album.parts.push(job.entry.key.clone());
        let key = job.event.inbound.key().to_owned();
        // After a crash both the whole and its parts may be stored.
        if !event.merged.contains(&key)
            && let (Inbound::Message(whole), Inbound::Message(part)) = (&mut event.inbound, job.event.inbound)
        {
            whole.merge(*part);
            if !job.event.addressed.context_only {
                event.addressed = job.event.addressed;
            }
            event.merged.push(key);
        }
    }

    /// Waits until an album counts as complete.
    pub(super) async fn next_due(&self) {
        match self.waiting.iter().map(|album| album.due).min() {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}

fn album_of(job: &Job) -> Option<String> {
    match &job.event.inbound {
        Inbound::Message(message) => message.album.clone(),
        Inbound::Press(_) | Inbound::Recall(_) | Inbound::Platform { .. } => None,
    }
}
