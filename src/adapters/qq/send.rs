//! Sends messages: each is recorded in the reply budget first, and falls back to a plainer form where the platform
//! refuses one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::adapter::capabilities;
use super::api::QqApi;
use super::call_failure::{CallFailure, FailureKind};
use super::compose::{QqMessage, RichText, TextForm, keyboard, typing_body, words_body};
use super::media::LONGEST;
use super::phrases::{content_refused, file_refused};
use super::reply_budget::{Key, ReplyPriority};
use super::reply_budget_actor::{ReplyBudgetHandle, SendGrant, SendOutcome, SendRequest};
use super::scene::Scene;
use super::text;
use crate::adapters::chat::{
    ButtonsBlock, ChatParts, DraftTarget, DraftTask, DraftTiming, DraftTurn, DraftView, FileBlock,
    LiveMessage, LiveMessages, Outbound, OutboundNotes, OutboundPlatform, PeerMention, SentQuestion, Shown,
    UnsendableFile,
};
use crate::domain::{AttachmentKind, Capabilities, LengthUnit, ThreadId};
use crate::ports::{Attempt, DeliveryError, OutboxEntry, Receipt};
use crate::render::{fenced, split};

/// Shorter texts are not split further: their length is not the reason of the refusal.
const SHORTEST: usize = 100;

/// How many progress messages a chat may get, and how many typing indicators: each costs a reply.
const PROGRESS: DraftTiming =
    DraftTiming { hold: Duration::ZERO, between: Duration::from_secs(20), silence: None, lasts: None };
const NOTES: OutboundNotes = OutboundNotes { live: "live-", question: "question-" };

#[derive(Debug)]
pub(super) struct QqSender {
    pub(super) api: QqApi,
    pub(super) outbound: Outbound,
    pub(super) budget: ReplyBudgetHandle,
    /// Whether the capabilities include buttons.
    offers_buttons: bool,
    /// Whether Markdown is granted. Cleared by the first refusal.
    rich: AtomicBool,
    /// Whether buttons are granted, which need Markdown. Cleared by the first refusal.
    buttons: AtomicBool,
    linkless: AtomicBool,
}

/// One message of a delivery, with a name that stays the same for every retry.
#[derive(Clone, Debug)]
struct MessagePart {
    name: String,
    draft: QqMessage,
    priority: ReplyPriority,
}

/// The target of a message.
#[derive(Clone, Debug)]
pub(super) struct SendTarget {
    pub(super) scene: Scene,
    pub(super) chat: String,
    pub(super) key: Key,
    pub(super) seq: u32,
}

/// The outcome of one attempt.
enum SendResult {
    /// Sent, with the platform's message id if it returned one.
    Sent(Option<String>),
    Skipped,
    /// These parts replace it.
    Replaced(Vec<MessagePart>),
}

impl QqSender {
    /// A sender, and the task that must be run for it. `markdown` tells whether Markdown and buttons are granted.
    pub(super) fn new(
        api: QqApi,
        parts: ChatParts,
        budget: ReplyBudgetHandle,
        markdown: Option<bool>,
    ) -> (Self, DraftTask) {
        let (outbound, task) = Outbound::new(parts, NOTES);
        let sender = Self {
            api,
            outbound,
            budget,
            offers_buttons: markdown != Some(false),
            rich: AtomicBool::new(markdown == Some(true)),
            buttons: AtomicBool::new(markdown != Some(false)),
            linkless: AtomicBool::new(false),
        };
        (sender, task)
    }

    /// Sends a notice outside the outbox, for example why a message was not accepted. It may get lost.
    pub(super) async fn tell(
        &self,
        thread: &ThreadId,
        reply_to: &str,
        markdown: &str,
        priority: ReplyPriority,
    ) {
        let kind = match priority {
            ReplyPriority::Needed => "tell",
            ReplyPriority::Passing => "mention",
        };
        let draft = QqMessage::words(markdown.to_owned());
        let part = MessagePart { name: format!("{kind} {reply_to}"), draft, priority };
        if let Err(error) = self.send_part(thread, Some(reply_to), &part).await {
            tracing::warn!(%thread, %error, "notice not sent");
        }
    }

    /// Shows progress or a typing indicator, where that uses no reserved reply.
    async fn show(&self, thread: &ThreadId, name: String, progress: Option<&str>) {
        let request = self.request(thread, None, &name, ReplyPriority::Passing, TextForm::Linkless);
        let SendGrant::Send { scene, key, seq, .. } = self.budget.request_send(request).await else { return };
        let target = SendTarget { scene, chat: thread.chat(), key, seq };
        let body = match progress {
            Some(progress) => {
                let words = RichText { markdown: progress.to_owned(), keyboard: None };
                words_body(scene, &words, TextForm::Linkless, &target.key, seq)
            }
            None if scene == Scene::C2c => typing_body(&target.key, seq),
            None => return self.budget.tell(thread, &name, SendOutcome::Released).await,
        };
        let outcome = match self.post(&target, &body).await {
            Err(failure) if failure.kind == FailureKind::NoReply => SendOutcome::Closed(target.key),
            // Refused, so it used no reply.
            Err(failure)
                if !matches!(
                    failure.kind,
                    FailureKind::Later | FailureKind::Token | FailureKind::Duplicate
                ) =>
            {
                SendOutcome::Released
            }
            // Not retried, whether or not it was sent.
            _ => SendOutcome::Done,
        };
        self.budget.tell(thread, &name, outcome).await;
    }

    /// Delivers an entry in one or more messages. A message that an earlier attempt sent is not sent again.
    async fn send_all(
        &self,
        entry: &OutboxEntry,
        draft: QqMessage,
        priority: ReplyPriority,
    ) -> Result<Receipt, DeliveryError> {
        let intent = &entry.intent;
        let first = MessagePart { name: entry.id.as_str().to_owned(), draft, priority };
        let mut queue = VecDeque::from([first]);
        let mut receipt = Receipt::default();
        while let Some(part) = queue.pop_front() {
            match self.send_part(&intent.thread_id, intent.reply_to.as_deref(), &part).await? {
                SendResult::Sent(id) => receipt.platform_message = id.or(receipt.platform_message),
                SendResult::Skipped => {}
                SendResult::Replaced(parts) => {
                    parts.into_iter().rev().for_each(|part| queue.push_front(part))
                }
            }
        }
        Ok(receipt)
    }

    async fn send_part(
        &self,
        thread: &ThreadId,
        reply_to: Option<&str>,
        part: &MessagePart,
    ) -> Result<SendResult, DeliveryError> {
        loop {
            let request =
                self.request(thread, reply_to, &part.name, part.priority, self.first_form(&part.draft));
            let (target, form) = match self.budget.request_send(request).await {
                SendGrant::Send { scene, key, seq, form } => {
                    (SendTarget { scene, chat: thread.chat(), key, seq }, form)
                }
                SendGrant::Done => return Ok(SendResult::Sent(None)),
                SendGrant::Wait if part.priority == ReplyPriority::Passing => return Ok(SendResult::Skipped),
                SendGrant::Wait => return Err(budget_used_up()),
                SendGrant::NotStored => {
                    return Err(later("the reply budget of the thread could not be stored", None));
                }
            };
            let result = match &part.draft {
                QqMessage::Words(words) => {
                    let body = words_body(target.scene, words, form, &target.key, target.seq);
                    self.post(&target, &body).await
                }
                QqMessage::File(file, content) => super::media::post(&self.api, &target, file, content).await,
            };
            let failure = match result {
                Ok(answer) => return Ok(self.sent(thread, part, &answer).await),
                Err(failure) => failure,
            };
            match failure.kind {
                // The pair is unique to this part: the duplicate is this very message.
                FailureKind::Duplicate => return Ok(self.sent(thread, part, &Value::Null).await),
                FailureKind::NoReply => {
                    self.budget.tell(thread, &part.name, SendOutcome::Closed(target.key)).await
                }
                _ => match plainer(form, failure.kind) {
                    Some(next) if matches!(part.draft, QqMessage::Words(_)) => {
                        self.note_refused_form(failure.kind, &failure.what);
                        // The refused form may have used up its sequence number.
                        self.budget.tell(thread, &part.name, SendOutcome::FormRefused(next)).await;
                    }
                    _ => return self.give_up(thread, part, failure).await,
                },
            }
        }
    }

    async fn sent(&self, thread: &ThreadId, part: &MessagePart, answer: &Value) -> SendResult {
        self.budget.tell(thread, &part.name, SendOutcome::Done).await;
        SendResult::Sent(answer["id"].as_str().map(str::to_owned))
    }

    /// No form of this message is accepted: retries later, sends a substitute, or fails.
    async fn give_up(
        &self,
        thread: &ThreadId,
        part: &MessagePart,
        failure: CallFailure,
    ) -> Result<SendResult, DeliveryError> {
        let CallFailure { kind, what, after } = failure;
        // An unknown outcome keeps its reservation, so that the platform deduplicates the retry.
        if matches!(kind, FailureKind::Later | FailureKind::Token | FailureKind::Credentials) {
            return Err(later(&what, after));
        }
        self.budget.tell(thread, &part.name, SendOutcome::Released).await;
        tracing::warn!(%thread, what, ?kind, "message refused");
        match (&part.draft, kind) {
            (QqMessage::Words(words), FailureKind::Long) => {
                halves(part, words).ok_or(DeliveryError::Permanent { reason: what })
            }
            (QqMessage::Words(words), FailureKind::Content) if !part.name.ends_with(NOTICE) => {
                Ok(notice(part, content_refused(self.outbound.parts.language_for(&words.markdown))))
            }
            // A spoken answer repeats a text that was sent, so it is left out where there are no voice messages.
            (QqMessage::File(file, _), FailureKind::File | FailureKind::Long | FailureKind::Refused)
                if (file.kind, file.media_type.as_str()) == (AttachmentKind::Voice, "audio/wav") =>
            {
                Err(DeliveryError::Permanent { reason: what })
            }
            (
                QqMessage::File(file, content),
                FailureKind::File
                | FailureKind::Long
                | FailureKind::Refused
                | FailureKind::Content
                | FailureKind::Rich,
            ) => {
                let text = content.as_ref().ok().and_then(|content| super::media::words_of(file, content));
                if let Some(text) = text {
                    let code = !file.name.to_ascii_lowercase().ends_with(".md");
                    return Ok(written_out(part, &if code { fenced(text) } else { text.to_owned() }));
                }
                let language =
                    self.outbound.parts.language_for(file.caption.as_deref().unwrap_or(&file.name));
                let refused = file_refused(&file.name, language);
                let caption =
                    file.caption.as_ref().map(|caption| format!("{caption}\n\n")).unwrap_or_default();
                Ok(notice(part, &format!("{caption}{refused}")))
            }
            _ => Err(DeliveryError::Permanent { reason: what }),
        }
    }

    async fn post(&self, target: &SendTarget, body: &Value) -> Result<Value, CallFailure> {
        self.api.call(Method::POST, &target.scene.messages(&target.chat), Some(body)).await
    }

    fn request(
        &self,
        thread: &ThreadId,
        reply_to: Option<&str>,
        part: &str,
        priority: ReplyPriority,
        form: TextForm,
    ) -> SendRequest {
        SendRequest {
            thread: thread.clone(),
            part: part.to_owned(),
            reply_to: reply_to.map(str::to_owned),
            priority,
            form,
            now: self.outbound.parts.clock.now(),
        }
    }

    fn first_form(&self, draft: &QqMessage) -> TextForm {
        let asks = matches!(draft, QqMessage::Words(RichText { keyboard: Some(_), .. }));
        let rich = if asks { &self.buttons } else { &self.rich };
        if rich.load(Ordering::Relaxed) {
            TextForm::Rich
        } else if self.linkless.load(Ordering::Relaxed) {
            TextForm::Linkless
        } else {
            TextForm::Plain
        }
    }

    fn note_refused_form(&self, kind: FailureKind, what: &str) {
        match kind {
            FailureKind::Rich => {
                let rich = self.rich.swap(false, Ordering::Relaxed);
                if self.buttons.swap(false, Ordering::Relaxed) || rich {
                    tracing::warn!(what, "markdown and buttons not granted, sending plain text");
                }
            }
            FailureKind::Link if !self.linkless.swap(true, Ordering::Relaxed) => {
                tracing::warn!(what, "links refused, sending them as text");
            }
            _ => {}
        }
    }
}

impl DraftTarget for QqSender {
    type Rendered = String;

    fn live_messages(&self) -> &LiveMessages {
        &self.outbound.live
    }

    fn timing(&self, _thread: &ThreadId) -> DraftTiming {
        PROGRESS
    }

    /// Drafts cannot be shown: the platform has no edits.
    fn render(&self, view: &DraftView) -> Option<String> {
        view.line.clone()
    }

    async fn show_view(&self, turn: &DraftTurn, words: &String, _live: Option<LiveMessage>) -> Shown {
        self.show(&turn.thread, format!("progress {} {words}", turn.run), Some(words)).await;
        Shown::Transient
    }

    /// Once per run.
    async fn show_typing(&self, turn: &DraftTurn) {
        self.show(&turn.thread, format!("typing {}", turn.run), None).await;
    }
}

impl OutboundPlatform for QqSender {
    const LARGEST_FILE: u64 = LONGEST;

    fn outbound(&self) -> &Outbound {
        &self.outbound
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.offers_buttons)
    }

    async fn send_text(
        &self,
        entry: &OutboxEntry,
        text: &str,
        _called: &[PeerMention],
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        self.send_all(entry, QqMessage::words(text.to_owned()), ReplyPriority::Needed).await
    }

    async fn send_question(
        &self,
        entry: &OutboxEntry,
        block: &ButtonsBlock,
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        let keyboard = Some(keyboard(block.rows.clone()));
        let words = RichText { markdown: block.markdown.clone(), keyboard };
        self.send_all(entry, QqMessage::Words(words), ReplyPriority::Needed).await
    }

    /// No message can be edited. The person who decided knows the outcome; the others get it if the reply budget allows.
    async fn send_outcome(
        &self,
        entry: &OutboxEntry,
        _question: Option<SentQuestion>,
        outcome: &str,
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        self.send_all(entry, QqMessage::words(outcome.to_owned()), ReplyPriority::Passing).await
    }

    async fn send_file(
        &self,
        entry: &OutboxEntry,
        file: &FileBlock,
        content: Result<Vec<u8>, UnsendableFile>,
        _attempt: Attempt,
    ) -> Result<Receipt, DeliveryError> {
        self.send_all(entry, QqMessage::File(file.clone(), content), ReplyPriority::Needed).await
    }
}

const fn plainer(form: TextForm, kind: FailureKind) -> Option<TextForm> {
    match (form, kind) {
        (TextForm::Rich, FailureKind::Rich | FailureKind::Refused | FailureKind::Link) => {
            Some(TextForm::Plain)
        }
        (TextForm::Plain, FailureKind::Link) => Some(TextForm::Linkless),
        _ => None,
    }
}

/// Suffix of the names of substitute parts.
const NOTICE: &str = "!";

fn notice(part: &MessagePart, words: &str) -> SendResult {
    SendResult::Replaced(vec![MessagePart {
        name: format!("{}{NOTICE}", part.name),
        draft: QqMessage::words(words.to_owned()),
        priority: part.priority,
    }])
}

/// The content of a text file as messages, where the platform refuses the file.
fn written_out(part: &MessagePart, text: &str) -> SendResult {
    let pieces = split(text, text::LONGEST, LengthUnit::Chars);
    let parts = pieces.into_iter().enumerate().map(|(index, markdown)| MessagePart {
        name: format!("{}/{index}", part.name),
        draft: QqMessage::words(markdown),
        priority: part.priority,
    });
    SendResult::Replaced(parts.collect())
}

/// The same text as two messages; `None` where it is too short to split.
fn halves(part: &MessagePart, words: &RichText) -> Option<SendResult> {
    let length = words.markdown.chars().count();
    if length < SHORTEST {
        return None;
    }
    let pieces = split(&words.markdown, length.div_ceil(2).min(text::LONGEST), LengthUnit::Chars);
    let last = pieces.len().saturating_sub(1);
    let parts = pieces.into_iter().enumerate().map(|(index, markdown)| {
        let keyboard = words.keyboard.clone().filter(|_| index == last);
        let draft = QqMessage::Words(RichText { markdown, keyboard });
        MessagePart { name: format!("{}/{index}", part.name), draft, priority: part.priority }
    });
    Some(SendResult::Replaced(parts.collect()))
}

fn budget_used_up() -> DeliveryError {
    DeliveryError::Hold { reason: "no replies are left until somebody speaks in this chat".to_owned() }
}

fn later(reason: &str, after: Option<Duration>) -> DeliveryError {
    DeliveryError::Retry { after, reason: reason.to_owned() }
}
