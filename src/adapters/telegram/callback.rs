//! Handles a pressed button: which approval it decides, who pressed, and the answer. Every press is answered, because
//! the client shows a spinner until then.

use super::admins::AdminCheck;
use super::chat_target::ChatTarget;
use super::update::{Press, Shown};
use super::update_handler::{Done, Followup, UpdateHandler};
use crate::adapters::chat::inbound::{Submitted, submit};
use crate::adapters::chat::{Admission, Button, Menu, decode};
use crate::domain::{Approval, ApprovalState, ChatKind, Decision, IngressEvent, IngressKind, Language};
use crate::ports::StoreError;
use crate::render::Phrase;

impl UpdateHandler {
    /// Handles a callback query.
    pub(super) async fn pressed(&self, press: Press) -> Result<Done, StoreError> {
        let language = self.language("", press.language);
        let answer = |words: Option<String>| Followup::Answer(press.id.clone(), words);
        let unknown = || Done::kept(vec![answer(Some(Phrase::NotOpen.say(language)))]);
        if let Some(shown) = press.shown
            && self.admit(&press.author, shown.place.chat, shown.chat).await? != Admission::Welcome
        {
            return Ok(Done::kept(vec![answer(None)]));
        }
        let Some((button, id)) = decode(&press.data) else { return Ok(unknown()) };
        let Some(approval) = self.parts.approvals.get(&id).await? else { return Ok(unknown()) };
        let Some(asked) = self.asked_in(&approval) else { return Ok(unknown()) };
        // A button works only in the chat where it was shown; without a chat in the query, in the approval's own.
        let shown = press.shown.unwrap_or(asked);
        if self.aliases.current(shown.place.chat) != asked.place.chat {
            return Ok(unknown());
        }
        if press.shown.is_none()
            && self.admit(&press.author, shown.place.chat, shown.chat).await? != Admission::Welcome
        {
            return Ok(Done::kept(vec![answer(None)]));
        }
        // A message from before a migration can still be pressed, but no longer edited.
        let message = shown.message_id.filter(|_| shown.place.chat == asked.place.chat);
        // A duplicate of a question, from a send without a response, keeps its buttons until one is pressed.
        let stale = approval.state != ApprovalState::Pending;
        let bare = message.filter(|_| stale).map(|message| Followup::Bare(shown.place, message));
        let menu = match button {
            Button::Answer(given) => {
                let decision = Decision {
                    approval: id,
                    answer: given,
                    reason: None,
                    via: "button".to_owned(),
                    operator: false,
                };
                let shown = Shown { place: asked.place, ..shown };
                let mut done = self.decide(press, shown, approval, decision, language).await;
                done.asides.extend(bare);
                return Ok(done);
            }
            Button::Scopes | Button::Back if stale => {
                return Ok(Done::kept(unknown().asides.into_iter().chain(bare).collect()));
            }
            // A press of another person must not change the question for the approvers.
            Button::Scopes | Button::Back if !self.decides(&press, asked, &approval).await? => {
                let words = Phrase::NotTheirs(approval.number).say(language);
                return Ok(Done::kept(vec![answer(Some(words))]));
            }
            Button::Scopes | Button::Back if message.is_none() => {
                let words = Phrase::AnswerInWords(approval.number).say(language);
                return Ok(Done::kept(vec![answer(Some(words))]));
            }
            Button::Scopes => Menu::Scopes,
            Button::Back => Menu::First,
        };
        let buttons =
            message.map(|message| Followup::Buttons(shown.place, message, Box::new(approval), menu));
        Ok(Done::kept(std::iter::once(answer(None)).chain(buttons).collect()))
    }

    /// Whether the person who pressed may decide an approval.
    async fn decides(&self, press: &Press, asked: Shown, approval: &Approval) -> Result<bool, StoreError> {
        let author = press.author.clone();
        let author =
            self.admins.resolve_role(author, asked.place.chat, asked.chat, AdminCheck::Decision).await;
        self.parts.deciders.decides(&*self.parts.access, &author, approval).await
    }

    /// The chat of an approval, if it is on this platform.
    fn asked_in(&self, approval: &Approval) -> Option<Shown> {
        let ours = *approval.thread.platform() == self.platform;
        let place = ChatTarget::of(&approval.thread, &self.aliases).filter(|_| ours)?;
        let chat = if place.is_group() { ChatKind::Group } else { ChatKind::Direct };
        Some(Shown { place, chat, message_id: None })
    }

    async fn decide(
        &self,
        press: Press,
        shown: Shown,
        approval: Approval,
        decision: Decision,
        language: Language,
    ) -> Done {
        let Ok(message) = format!("{}:press:{}", self.platform.as_str(), press.id).parse() else {
            return Done::kept(vec![Followup::Answer(press.id, None)]);
        };
        let event = IngressEvent {
            thread: approval.thread,
            author: self
                .admins
                .resolve_role(press.author, shown.place.chat, shown.chat, AdminCheck::Decision)
                .await,
            message,
            platform_message: shown.message_id.unwrap_or_default().to_string(),
            at: self.parts.clock.now(),
            chat: shown.chat,
            kind: IngressKind::Decision(decision),
        };
        let words = match submit(&self.threads, event, language).await {
            Submitted::Kept => None,
            Submitted::Tell(words) => Some(words),
            Submitted::Later(why) => return Done::again(&why),
        };
        Done::kept(vec![Followup::Answer(press.id, words)])
    }
}
