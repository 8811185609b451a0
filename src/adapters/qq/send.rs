//! Sends messages: each is recorded in the reply budget first, and falls back to a plainer form where the platform
//! refuses one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::adapter::capabilities;
use super::api::Api;
use super::compose::{Draft, Form, Words, draft, typing_body, words_body};
use super::http::Method;
use super::phrases::{content_refused, file_refused};
use super::reply_budget::{Key, Weight};
use super::reply_budget_actor::{ReplyBudgetHandle, SendGrant, SendOutcome, SendRequest};
use super::scene::Scene;
use super::text;
use super::trouble::{Kind, Trouble};
use crate::adapters::chat::{FileBlock, fenced, lower};
use crate::domain::{Language, LengthUnit, OutboundIntent, ThreadId};
use crate::ports::{Clock, DeliveryError, FileStore, OutboxEntry, Receipt};
use crate::render::split;

/// Shorter texts are not split further: their length is not the reason of the refusal.
const SHORTEST: usize = 100;

#[derive(Debug)]
pub(super) struct Sender {
    pub(super) api: Api,
    pub(super) budget: ReplyBudgetHandle,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) files: Arc<dyn FileStore>,
    pub(super) language: Option<Language>,
    /// Whether Markdown is tried. Cleared by the first refusal.
    pub(super) rich: AtomicBool,
    /// Whether buttons are tried, which need Markdown. Cleared by the first refusal.
    pub(super) buttons: AtomicBool,
    pub(super) linkless: AtomicBool,
}

/// One message of a delivery, with a name that stays the same for every retry.
#[derive(Clone, Debug)]
struct Part {
    name: String,
    draft: Draft,
    weight: Weight,
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
enum Tried {
    /// Sent, with the platform's message id if it returned one.
    Sent(Option<String>),
    Skipped,
    /// These parts replace it.
    Instead(Vec<Part>),
}

impl Sender {
    /// Delivers an outbox entry in one or more messages. A message that an earlier attempt sent is not sent again.
    pub(super) async fn deliver(&self, entry: &OutboxEntry) -> Result<Receipt, DeliveryError> {
        let (intent, now) = (&entry.intent.intent, self.clock.now());
        let Some(block) = lower(intent, &capabilities(true), self.language, now) else {
            let reason = "drafts and progress are shown, not delivered".to_owned();
            return Err(DeliveryError::Permanent { reason });
        };
        let (draft, weight) = draft(block);
        self.send_all(&entry.intent, Part { name: entry.id.as_str().to_owned(), draft, weight }).await
    }

    /// Sends a notice outside the outbox, for example why a message was not accepted. It may get lost.
    pub(super) async fn tell(&self, thread: &ThreadId, reply_to: &str, markdown: &str, weight: Weight) {
        let words = Words { markdown: markdown.to_owned(), keyboard: None };
        let kind = match weight {
            Weight::Needed => "tell",
            Weight::Passing => "mention",
        };
        let part = Part { name: format!("{kind} {reply_to}"), draft: Draft::Words(words), weight };
        if let Err(error) = self.send_part(thread, Some(reply_to), &part).await {
            tracing::warn!(%thread, %error, "notice not sent");
        }
    }

    /// Shows progress or a typing indicator, where that uses no reserved reply.
    pub(super) async fn pass(&self, thread: &ThreadId, name: String, progress: Option<&str>) {
        let request = self.request(thread, None, &name, Weight::Passing, Form::Linkless);
        let SendGrant::Send { scene, key, seq, .. } = self.budget.request_send(request).await else { return };
        let place = SendTarget { scene, chat: thread.chat(), key, seq };
        let body = match progress {
            Some(progress) => {
                let words = Words { markdown: progress.to_owned(), keyboard: None };
                words_body(scene, &words, Form::Linkless, &place.key, seq)
            }
            None if scene == Scene::C2c => typing_body(&place.key, seq),
            None => return self.budget.tell(thread, &name, SendOutcome::Released).await,
        };
        let outcome = match self.post(&place, &body).await {
            Err(trouble) if trouble.kind == Kind::NoReply => SendOutcome::Closed(place.key),
            // Refused, so it used no reply.
            Err(trouble) if !matches!(trouble.kind, Kind::Later | Kind::Token | Kind::Duplicate) => {
                SendOutcome::Released
            }
            // Not retried, whether or not it was sent.
            _ => SendOutcome::Done,
        };
        self.budget.tell(thread, &name, outcome).await;
    }

    async fn send_all(&self, intent: &OutboundIntent, first: Part) -> Result<Receipt, DeliveryError> {
        let mut queue = VecDeque::from([first]);
        let mut receipt = Receipt::default();
        while let Some(part) = queue.pop_front() {
            match self.send_part(&intent.thread_id, intent.reply_to.as_deref(), &part).await? {
                Tried::Sent(id) => receipt.platform_message = id.or(receipt.platform_message),
                Tried::Skipped => {}
                Tried::Instead(parts) => parts.into_iter().rev().for_each(|part| queue.push_front(part)),
            }
        }
        Ok(receipt)
    }

    async fn send_part(
        &self,
        thread: &ThreadId,
        reply_to: Option<&str>,
        part: &Part,
    ) -> Result<Tried, DeliveryError> {
        loop {
            let request =
                self.request(thread, reply_to, &part.name, part.weight, self.first_form(&part.draft));
            let (place, form) = match self.budget.request_send(request).await {
                SendGrant::Send { scene, key, seq, form } => {
                    (SendTarget { scene, chat: thread.chat(), key, seq }, form)
                }
                SendGrant::Done => return Ok(Tried::Sent(None)),
                SendGrant::Wait if part.weight == Weight::Passing => return Ok(Tried::Skipped),
                SendGrant::Wait => return Err(held()),
                SendGrant::Unsure => {
                    return Err(later("the account of the thread could not be written", None));
                }
            };
            let tried = match &part.draft {
                Draft::Words(words) => {
                    let body = words_body(place.scene, words, form, &place.key, place.seq);
                    self.post(&place, &body).await
                }
                Draft::File(file) => self.post_file(&place, file).await,
            };
            let trouble = match tried {
                Ok(answer) => return Ok(self.sent(thread, part, &answer).await),
                Err(trouble) => trouble,
            };
            match trouble.kind {
                // The pair is unique to this part: the duplicate is this very message.
                Kind::Duplicate => return Ok(self.sent(thread, part, &Value::Null).await),
                Kind::NoReply => self.budget.tell(thread, &part.name, SendOutcome::Closed(place.key)).await,
                _ => match plainer(form, trouble.kind) {
                    Some(next) if matches!(part.draft, Draft::Words(_)) => {
                        self.remember(trouble.kind, &trouble.what);
                        // The refused form may have used up its sequence number.
                        self.budget.tell(thread, &part.name, SendOutcome::Recast(next)).await;
                    }
                    _ => return self.give_up(thread, part, trouble).await,
                },
            }
        }
    }

    async fn sent(&self, thread: &ThreadId, part: &Part, answer: &Value) -> Tried {
        self.budget.tell(thread, &part.name, SendOutcome::Done).await;
        Tried::Sent(answer["id"].as_str().map(str::to_owned))
    }

    /// No form of this message is accepted: retries later, sends a substitute, or fails.
    async fn give_up(
        &self,
        thread: &ThreadId,
        part: &Part,
        trouble: Trouble,
    ) -> Result<Tried, DeliveryError> {
        let Trouble { kind, what, after } = trouble;
        // An unknown outcome keeps its reservation, so that the platform deduplicates the retry.
        if matches!(kind, Kind::Later | Kind::Token | Kind::Credentials) {
            return Err(later(&what, after));
        }
        self.budget.tell(thread, &part.name, SendOutcome::Released).await;
        tracing::warn!(%thread, what, ?kind, "message refused");
        match (&part.draft, kind) {
            (Draft::Words(words), Kind::Long) => {
                halves(part, words).ok_or(DeliveryError::Permanent { reason: what })
            }
            (Draft::Words(words), Kind::Content) if !part.name.ends_with(NOTICE) => {
                Ok(notice(part, content_refused(self.language_of(&words.markdown))))
            }
            (Draft::File(file), Kind::File | Kind::Long | Kind::Refused | Kind::Content | Kind::Rich) => {
                if let Some(text) = super::media::words_of(&*self.files, file).await {
                    let code = !file.name.to_ascii_lowercase().ends_with(".md");
                    return Ok(written_out(part, &if code { fenced(&text) } else { text }));
                }
                let language = self.language_of(file.caption.as_deref().unwrap_or(&file.name));
                let refused = file_refused(&file.name, language);
                let caption =
                    file.caption.as_ref().map(|caption| format!("{caption}\n\n")).unwrap_or_default();
                Ok(notice(part, &format!("{caption}{refused}")))
            }
            _ => Err(DeliveryError::Permanent { reason: what }),
        }
    }

    fn language_of(&self, words: &str) -> Language {
        self.language.unwrap_or_else(|| Language::of(words))
    }

    async fn post(&self, place: &SendTarget, body: &Value) -> Result<Value, Trouble> {
        self.api.call(Method::POST, &place.scene.messages(&place.chat), Some(body)).await
    }

    async fn post_file(&self, place: &SendTarget, file: &FileBlock) -> Result<Value, Trouble> {
        super::media::post(&self.api, &*self.files, place, file).await
    }

    fn request(
        &self,
        thread: &ThreadId,
        reply_to: Option<&str>,
        part: &str,
        weight: Weight,
        form: Form,
    ) -> SendRequest {
        SendRequest {
            thread: thread.clone(),
            part: part.to_owned(),
            reply_to: reply_to.map(str::to_owned),
            weight,
            form,
            now: self.clock.now(),
        }
    }

    fn first_form(&self, draft: &Draft) -> Form {
        let asks = matches!(draft, Draft::Words(Words { keyboard: Some(_), .. }));
        let rich = if asks { &self.buttons } else { &self.rich };
        if rich.load(Ordering::Relaxed) {
            Form::Rich
        } else if self.linkless.load(Ordering::Relaxed) {
            Form::Linkless
        } else {
            Form::Plain
        }
    }

    fn remember(&self, kind: Kind, what: &str) {
        match kind {
            Kind::Rich => {
                let rich = self.rich.swap(false, Ordering::Relaxed);
                if self.buttons.swap(false, Ordering::Relaxed) || rich {
                    tracing::warn!(what, "markdown and buttons not granted, sending plain text");
                }
            }
            Kind::Link if !self.linkless.swap(true, Ordering::Relaxed) => {
                tracing::warn!(what, "links refused, sending them as text");
            }
            _ => {}
        }
    }
}

const fn plainer(form: Form, kind: Kind) -> Option<Form> {
    match (form, kind) {
        (Form::Rich, Kind::Rich | Kind::Refused | Kind::Link) => Some(Form::Plain),
        (Form::Plain, Kind::Link) => Some(Form::Linkless),
        _ => None,
    }
}

/// Suffix of the names of substitute parts.
const NOTICE: &str = "!";

fn notice(part: &Part, words: &str) -> Tried {
    let draft = Draft::Words(Words { markdown: words.to_owned(), keyboard: None });
    Tried::Instead(vec![Part { name: format!("{}{NOTICE}", part.name), draft, weight: part.weight }])
}

/// The content of a text file as messages, where the platform refuses the file.
fn written_out(part: &Part, text: &str) -> Tried {
    let pieces = split(text, text::LONGEST, LengthUnit::Chars);
    let parts = pieces.into_iter().enumerate().map(|(index, markdown)| {
        let draft = Draft::Words(Words { markdown, keyboard: None });
        Part { name: format!("{}/{index}", part.name), draft, weight: part.weight }
    });
    Tried::Instead(parts.collect())
}

/// The same text as two messages; `None` where it is too short to split.
fn halves(part: &Part, words: &Words) -> Option<Tried> {
    let length = words.markdown.chars().count();
    if length < SHORTEST {
        return None;
    }
    let pieces = split(&words.markdown, length.div_ceil(2).min(text::LONGEST), LengthUnit::Chars);
    let last = pieces.len().saturating_sub(1);
    let parts = pieces.into_iter().enumerate().map(|(index, markdown)| {
        let keyboard = words.keyboard.clone().filter(|_| index == last);
        let draft = Draft::Words(Words { markdown, keyboard });
        Part { name: format!("{}/{index}", part.name), draft, weight: part.weight }
    });
    Some(Tried::Instead(parts.collect()))
}

fn held() -> DeliveryError {
    DeliveryError::Hold { reason: "no replies are left until somebody speaks in this chat".to_owned() }
}

fn later(reason: &str, after: Option<std::time::Duration>) -> DeliveryError {
    DeliveryError::Retry { after, reason: reason.to_owned() }
}
