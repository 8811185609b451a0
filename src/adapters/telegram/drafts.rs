//! Shows a running turn: a draft in private chats, one edited message elsewhere, and the typing indicator.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::ApiError;
use super::chat_target::ChatTarget;
use super::classify::{Obstacle, is_unable, obstacle, reporter};
use super::client::Edited;
use super::deliver::TelegramSender;
use super::html::{MESSAGE_LIMIT, Rendered, escape, render_partial};
use super::limits::SendPriority;
use super::outgoing_message::OutgoingMessage;
use crate::adapters::chat::{
    DraftTarget, DraftTiming, DraftTurn, DraftView, LiveMessage, LiveMessages, Shown, take_away,
};
use crate::domain::{CorrelationId, ThreadId};

/// Timing of drafts, and of a message that is edited: the server drops a draft after thirty seconds.
const DRAFTS: DraftTiming = DraftTiming {
    hold: Duration::from_millis(300),
    between: Duration::from_millis(600),
    silence: SILENCE,
    lasts: Some(Duration::from_secs(30)),
};
const EDITS: DraftTiming = DraftTiming {
    hold: Duration::from_millis(1200),
    between: Duration::from_millis(1200),
    silence: SILENCE,
    lasts: None,
};
const GROUP_EDITS: DraftTiming = DraftTiming { between: Duration::from_secs(3), ..EDITS };
const SILENCE: Option<Duration> = Some(Duration::from_secs(7));
/// Deadline of an edit, a draft or a deletion.
const DEADLINE: Duration = Duration::from_secs(8);
/// How long the frames of a chat wait for the typing indicator.
const SIGN: Duration = Duration::from_secs(2);
/// Most characters of a progress line.
const LINE: usize = 300;

impl DraftTarget for TelegramSender {
    type Rendered = Rendered;

    fn live_messages(&self) -> &LiveMessages {
        &self.outbound.live
    }

    fn timing(&self, thread: &ThreadId) -> DraftTiming {
        match ChatTarget::of(thread, &self.chats) {
            Some(place) if self.drafts_in(place) => DRAFTS,
            Some(place) if place.is_group() => GROUP_EDITS,
            _ => EDITS,
        }
    }

    fn render(&self, view: &DraftView) -> Option<Rendered> {
        Some(render_view(view)).filter(|rendered| !rendered.html.is_empty())
    }

    async fn show_view(&self, turn: &DraftTurn, rendered: &Rendered, live: Option<LiveMessage>) -> Shown {
        let Some(place) = ChatTarget::of(&turn.thread, &self.chats) else { return Shown::No };
        if self.drafts_in(place) {
            let drafted = tokio::time::timeout(DEADLINE, self.draft(place, &turn.run, rendered)).await;
            if drafted == Ok(true) {
                return Shown::Transient;
            }
        }
        // The call may have shown that the server has no drafts.
        if self.drafts_in(place) || !self.client.can_edit() {
            return Shown::No;
        }
        let reply_to = turn.reply_to.as_deref().filter(|_| place.is_group());
        let reply_to = reply_to.and_then(|message| message.parse().ok());
        let outgoing = OutgoingMessage { words: rendered.clone(), reply_to, keyboard: None };
        if let Some(live) = live {
            let message =
                live.message.as_deref().and_then(|message| message.parse().ok()).unwrap_or_default();
            let edited = self.client.edit(place, message, &outgoing, SendPriority::Optional);
            if !matches!(tokio::time::timeout(DEADLINE, edited).await, Ok(Ok(Edited::Gone))) {
                // Without edits one frame is enough: the answer replaces it.
                return Shown::In(live);
            }
            self.outbound.live.remove(&turn.thread, &live).await;
        }
        match self.client.send(place, &outgoing, SendPriority::Optional).await {
            Ok(Some(message)) => Shown::In(LiveMessage::new(turn.run.clone(), message.to_string())),
            Ok(None) => Shown::Lost,
            Err(error) if error.may_have_worked() => Shown::Lost,
            Err(_) => Shown::No,
        }
    }

    async fn show_typing(&self, turn: &DraftTurn) {
        if let Some(place) = ChatTarget::of(&turn.thread, &self.chats) {
            self.act(place, "typing").await;
        }
    }

    async fn discard(&self, thread: &ThreadId, live: LiveMessage) {
        if tokio::time::timeout(DEADLINE, take_away(self, thread, &live)).await.is_err() {
            tracing::debug!(%thread, "draft removal timed out");
        }
    }
}

impl TelegramSender {
    fn drafts_in(&self, place: ChatTarget) -> bool {
        !place.is_group() && self.drafts.is_there()
    }

    /// Shows a chat action such as `typing`, best effort.
    pub(super) async fn act(&self, place: ChatTarget, action: &str) {
        let body = in_topic(place, json!({ "chat_id": place.chat, "action": action }));
        match tokio::time::timeout(SIGN, self.client.ask(place, "sendChatAction", &body)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(chat = place.chat, action, %error, "chat action failed"),
            Err(_) => tracing::debug!(chat = place.chat, action, "chat action timed out"),
        }
    }

    /// Shows a draft; false when the server did not take it.
    async fn draft(&self, place: ChatTarget, run: &CorrelationId, rendered: &Rendered) -> bool {
        let body =
            in_topic(place, json!({ "chat_id": place.chat, "draft_id": draft_id(run), "can_stop": true }));
        let said = |text: &str, mode: Option<&str>| {
            let mut body = body.clone();
            if let Some(body) = body.as_object_mut() {
                body.insert("text".to_owned(), json!(text));
                body.extend(mode.map(|mode| ("parse_mode".to_owned(), json!(mode))));
            }
            body
        };
        let mut asked = self.ask_draft(place, said(&rendered.html, Some("HTML"))).await;
        if asked.as_ref().is_err_and(|error| obstacle(error) == Obstacle::BadMarkup) {
            asked = self.ask_draft(place, said(&rendered.plain, None)).await;
        }
        match &asked {
            Ok(_) => self.drafts.succeeded(),
            Err(error) if is_unable(error) => {
                tracing::info!(%error, "drafts not supported, streaming by edits");
                self.drafts.is_missing(reporter(error));
            }
            Err(_) => {}
        }
        asked.is_ok()
    }

    async fn ask_draft(&self, place: ChatTarget, body: Value) -> Result<Value, ApiError> {
        self.client.ask(place, "sendMessageDraft", &body).await
    }
}

fn in_topic(place: ChatTarget, mut body: Value) -> Value {
    if let (Some(topic), Some(body)) = (place.topic, body.as_object_mut()) {
        body.insert("message_thread_id".to_owned(), json!(topic));
    }
    body
}

/// The answer so far, with the progress line below it.
fn render_view(view: &DraftView) -> Rendered {
    let line = view.line.as_deref().and_then(|line| line.lines().find(|line| !line.trim().is_empty()));
    let Some(line) = line else { return render_partial(&view.text, MESSAGE_LIMIT) };
    let line: String = line.trim().chars().take(LINE).collect();
    let above = render_partial(&view.text, MESSAGE_LIMIT - 2 * LINE - 2);
    let gap = if above.html.is_empty() { "" } else { "\n\n" };
    Rendered {
        html: format!("{}{gap}<i>{}</i>", above.html, escape(&line)),
        plain: format!("{}{gap}{line}", above.plain),
    }
}

/// The draft id of a turn: stable, never zero.
fn draft_id(run: &CorrelationId) -> i64 {
    let mixed = run.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    i64::from(u32::try_from(mixed >> 33).unwrap_or_default().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drafts_number_is_steady_and_fits_everywhere() {
        let of = |name: &str| draft_id(&name.parse().unwrap());
        assert_eq!(of("run_1"), of("run_1"));
        assert_ne!(of("run_1"), of("run_2"));
        assert!((0..500).all(|n| (1..=i64::from(i32::MAX)).contains(&of(&format!("run_{n}")))));
    }

    #[test]
    fn progress_is_one_line_below_the_answer_so_far() {
        let shown = |text: &str, line: Option<&str>| {
            render_view(&DraftView { text: text.to_owned(), line: line.map(str::to_owned) })
        };
        let whole = shown("half **an", Some("\nreading <a> file\nand more"));
        assert_eq!(whole.html, "half <b>an</b>\n\n<i>reading &lt;a&gt; file</i>");
        assert_eq!(shown("", Some("working")).html, "<i>working</i>");
        assert_eq!(shown("text", Some(" \n")).html, "text");
        assert_eq!(shown("", None), Rendered::default());
    }
}
