//! How much of a thread's prompt the provider's cache held at its last call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Timestamp, UsageEntry};
use crate::ports::PlannedCall;

/// How long a provider is sure to keep a prefix that was just read.
const KEPT_MS: u64 = 5 * 60 * 1_000;
/// Most threads that are remembered.
const MOST: usize = 1_024;

type PrefixKey = (String, String, String);

/// The cached prefixes by thread, provider and model. Lost in a restart: then a prompt is reserved at the full price.
#[derive(Debug, Default)]
pub(super) struct ProvedPrefixes(Mutex<HashMap<PrefixKey, (Timestamp, u64)>>);

impl ProvedPrefixes {
    /// Takes in what a server counted for a call that asked for an answer.
    pub(super) fn learn(&self, entry: &UsageEntry) {
        let Some(thread) = entry.thread.as_ref().filter(|_| !entry.purpose.is_helper()) else { return };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (at, _)| entry.at.millis_since(*at) < KEPT_MS);
        }
        let place = (thread.to_string(), entry.provider.to_string(), entry.model.to_string());
        match entry.cached {
            0 => drop(known.remove(&place)),
            cached if known.len() < MOST => drop(known.insert(place, (entry.at, cached))),
            _ => {}
        }
    }

    /// The tokens of the next prompt that are read from the cache.
    pub(super) fn cached(&self, call: &PlannedCall, now: Timestamp) -> u64 {
        let thread = call.payer.thread.as_ref().filter(|_| !call.payer.purpose.is_helper());
        let Some(thread) = thread else { return 0 };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&(thread.to_string(), call.provider.clone(), call.model.clone()));
        found.filter(|(at, _)| now.millis_since(*at) < KEPT_MS).map_or(0, |(_, cached)| *cached)
    }
}
