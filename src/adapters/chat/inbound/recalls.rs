//! Remembers the latest messages in case they are recalled: a recall event names neither the thread nor the text.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{InboundMessage, Recall};
use crate::domain::{IngressEvent, IngressKind};

/// How many messages are remembered with their contents.
const EVENTS: usize = 512;
/// How many are remembered with their threads.
const THREADS: usize = 1024;

#[derive(Debug)]
pub(super) struct Recalls {
    /// Whether the platform has recalls.
    enabled: bool,
    latest: Mutex<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    events: VecDeque<IngressEvent>,
    /// Message and thread.
    threads: VecDeque<(String, String)>,
}

impl Recalls {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, latest: Mutex::default() }
    }

    pub(super) fn learn_thread(&self, message: &InboundMessage) {
        if self.enabled {
            let mut latest = self.latest();
            if latest.threads.len() >= THREADS {
                latest.threads.pop_front();
            }
            let thread = message.thread.as_str().to_owned();
            latest.threads.push_back((message.platform_message.clone(), thread));
        }
    }

    /// The thread of a recalled message, or its chat where the message is not remembered.
    pub(super) fn thread_of(&self, recall: &Recall) -> String {
        let latest = self.latest();
        let known = latest.threads.iter().rev().find(|(message, _)| *message == recall.platform_message);
        known.map_or_else(|| recall.chat.clone(), |(_, thread)| thread.clone())
    }

    pub(super) fn remember(&self, event: &IngressEvent) {
        if self.enabled && matches!(event.kind, IngressKind::Said(_) | IngressKind::Edited(_)) {
            let mut latest = self.latest();
            if latest.events.len() >= EVENTS {
                latest.events.pop_front();
            }
            latest.events.push_back(event.clone());
        }
    }

    pub(super) fn find(&self, recall: &Recall) -> Option<IngressEvent> {
        let same = |event: &&IngressEvent| event.platform_message == recall.platform_message;
        self.latest().events.iter().find(same).cloned()
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
