//! One small real call, to see whether a model answers.

use futures_util::future::join;
use tokio::sync::mpsc;

use crate::ports::{Model, ModelError, Prompt};
use crate::uimessage::{Content, ModelMessage};

/// Asks the model for one word.
///
/// # Errors
/// When the call fails.
pub async fn probe(model: &dyn Model) -> Result<(), ModelError> {
    let words = vec![Content::Text("Say: ok".to_owned())];
    let prompt =
        Prompt { messages: vec![ModelMessage::User { content: words, name: None }], ..Prompt::default() };
    let (live, mut deltas) = mpsc::channel(16);
    let (outcome, ()) =
        join(model.complete(prompt, live), async { while deltas.recv().await.is_some() {} }).await;
    outcome.map(drop)
}
