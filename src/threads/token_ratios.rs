//! How the servers count tokens: real ones per estimated one, for each model, kept over restarts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::ports::{Durability, KeyValueStore};

/// How many of the last counts decide.
const SAMPLES: usize = 8;
/// A count that is further off than this is taken for a mistake of the server's.
const MOST: f64 = 4.0;

#[derive(Debug, Default)]
struct ModelTokens {
    /// Real tokens per estimated token, oldest first.
    ratios: VecDeque<f64>,
    /// The window that the server itself named, where it found a prompt too long.
    limit: Option<usize>,
}

/// What is known of each model.
#[derive(Debug)]
pub struct TokenRatios {
    notes: Arc<dyn KeyValueStore>,
    models: Mutex<BTreeMap<String, ModelTokens>>,
}

impl TokenRatios {
    /// Keeps what it learns in these notes, one for each model.
    pub fn new(notes: Arc<dyn KeyValueStore>) -> Self {
        Self { notes, models: Mutex::default() }
    }

    /// How many tokens the server of a model counts for one that is estimated.
    pub(super) async fn ratio(&self, model: &str) -> f64 {
        self.load(model).await;
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        models.get(model).map_or(1.0, |known| median(&known.ratios))
    }

    /// The window of a model that is configured with `context_tokens`: what its server said, where that is less.
    pub(super) fn window(&self, model: &str, context_tokens: usize) -> usize {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = models.get(model).and_then(|known| known.limit);
        limit.unwrap_or(context_tokens).min(context_tokens)
    }

    /// Believes a server that named the size of its window. Held until the daemon ends: the server may be given more.
    pub(super) fn set_context_limit(&self, model: &str, limit: usize) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        models.entry(model.to_owned()).or_default().limit = Some(limit);
    }

    /// Takes in what a server counted for a prompt of so many estimated tokens.
    pub(super) async fn learn(&self, model: &str, estimate: usize, real: u64) {
        let Some(ratio) = ratio(real, estimate) else { return };
        self.load(model).await;
        let note = {
            let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
            let known = models.entry(model.to_owned()).or_default();
            known.ratios.push_back(ratio);
            while known.ratios.len() > SAMPLES {
                known.ratios.pop_front();
            }
            json!({ "ratios": known.ratios })
        };
        if let Err(error) = self.notes.put(model, note, Durability::Written).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "token ratio not kept");
        }
    }

    async fn load(&self, model: &str) {
        let is_known = {
            let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
            models.get(model).is_some_and(|known| !known.ratios.is_empty())
        };
        if is_known {
            return;
        }
        let note = self.notes.get(model).await.ok().flatten();
        let kept = note.as_ref().and_then(|note| note.get("ratios")?.as_array());
        let kept = kept.into_iter().flatten().filter_map(Value::as_f64).filter(|ratio| is_credible(*ratio));
        let ratios: VecDeque<f64> = kept.take(SAMPLES).collect();
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let known = models.entry(model.to_owned()).or_default();
        if known.ratios.is_empty() {
            known.ratios = ratios;
        }
    }
}

fn is_credible(ratio: f64) -> bool {
    (1.0 / MOST..=MOST).contains(&ratio)
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below the limit of exactness")]
fn ratio(real: u64, estimate: usize) -> Option<f64> {
    let ratio = real as f64 / estimate.max(1) as f64;
    (estimate > 0 && is_credible(ratio)).then_some(ratio)
}

fn median(ratios: &VecDeque<f64>) -> f64 {
    let mut sorted: Vec<f64> = ratios.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle.saturating_sub(1)), sorted.get(middle)) {
        (_, _, None) => 1.0,
        (0, Some(low), Some(high)) => f64::midpoint(*low, *high),
        (_, _, Some(only)) => *only,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{BoxFuture, StoreError};

    /// Notes that outlive the book.
    #[derive(Clone, Debug, Default)]
    struct KeptNotes(Arc<Mutex<BTreeMap<String, Value>>>);

    impl KeyValueStore for KeptNotes {
        fn get(&self, name: &str) -> BoxFuture<'_, Result<Option<Value>, StoreError>> {
            let found = self.0.lock().unwrap().get(name).cloned();
            Box::pin(async move { Ok(found) })
        }

        fn put(&self, name: &str, note: Value, _: Durability) -> BoxFuture<'_, Result<(), StoreError>> {
            self.0.lock().unwrap().insert(name.to_owned(), note);
            Box::pin(async { Ok(()) })
        }

        fn remove(&self, _: &str) -> BoxFuture<'_, Result<(), StoreError>> {
            Box::pin(async { Ok(()) })
        }

        fn all(&self) -> BoxFuture<'_, Result<Vec<(String, Value)>, StoreError>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn nested(&self, _: &str) -> Arc<dyn KeyValueStore> {
            Arc::new(self.clone())
        }
    }

    #[tokio::test]
    async fn the_median_of_the_last_eight_counts_decides_and_survives_a_restart() {
        let notes = KeptNotes::default();
        let book = TokenRatios::new(Arc::new(notes.clone()));
        assert!((book.ratio("m").await - 1.0).abs() < 1e-9);
        for real in [1500, 1500, 3900, 1500, 1500] {
            book.learn("m", 1000, real).await;
        }
        assert!((book.ratio("m").await - 1.5).abs() < 1e-9, "one odd count changes nothing");
        assert!((book.ratio("other").await - 1.0).abs() < 1e-9, "each model has its own");
        let again = TokenRatios::new(Arc::new(notes));
        assert!((again.ratio("m").await - 1.5).abs() < 1e-9);
        for _ in 0..8 {
            again.learn("m", 1000, 800).await;
        }
        assert!((again.ratio("m").await - 0.8).abs() < 1e-9);
    }

    #[tokio::test]
    async fn absurd_counts_are_not_believed_and_a_stated_window_only_shrinks_it() {
        let book = TokenRatios::new(Arc::new(KeptNotes::default()));
        for real in [0, 11, 50_000] {
            book.learn("m", 1000, real).await;
        }
        book.learn("m", 0, 9).await;
        assert!((book.ratio("m").await - 1.0).abs() < 1e-9);
        assert_eq!(book.window("m", 128_000), 128_000);
        book.set_context_limit("m", 8192);
        assert_eq!((book.window("m", 128_000), book.window("m", 4096)), (8192, 4096));
    }
}
