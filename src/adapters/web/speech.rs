//! `GET /api/threads/{id}/messages/{message}/speech`: an answer as sound, made when it is first asked for.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::files;
use super::problem::Problem;
use super::server::Web;
use crate::domain::{MessageId, ThreadId, VoiceFormat};
use crate::ports::SpeechRequest;
use crate::uimessage::Role;

/// Speaks an answer of the agent.
pub(super) async fn speech(
    State(web): State<Arc<Web>>,
    Path((thread, message)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (thread, message): (ThreadId, MessageId) = (thread.parse()?, message.parse()?);
    let speech = web.parts.speech.as_ref().ok_or_else(|| Problem::not_found("speech"))?;
    let run = web.parts.store.run_of(&thread, &message).await?;
    let answer = run.into_iter().find(|stored| stored.id == message && stored.role == Role::Assistant);
    let text = answer.ok_or_else(|| Problem::not_found("message"))?.final_text();
    let source = format!("{message}.speech");
    let request = SpeechRequest { thread: &thread, source: &source, text: &text, format: VoiceFormat::Opus };
    let spoken = speech.speak(request).await.map_err(|error| {
        tracing::warn!(%thread, %error, "answer not spoken");
        Problem::new(StatusCode::BAD_GATEWAY, "the answer could not be spoken: see the log, and try again")
            .after(5)
    })?;
    let spoken =
        spoken.ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, "this answer has no words to speak"))?;
    files::shown(&web, &thread, spoken.file.name()).await
}
