//! Handles a pressed button: which approval it decides, who pressed, and the response on the card.

use serde_json::json;

use super::event::Pressed;
use super::intake::{Intake, Outcome, Trouble};
use super::press::{menu_card, pressed_button, shown_again};
use crate::adapters::chat::{Admission, Button, Menu, Submitted, submit};
use crate::domain::{Approval, Author, ChatKind, Decision, IngressEvent, IngressKind};
use crate::phrases::adapters as words;
use crate::ports::StoreError;
use crate::render::Phrase;

impl Intake {
    pub(super) async fn pressed(&self, pressed: Pressed) -> Result<Outcome, Trouble> {
        let Some((button, approval)) = pressed_button(&pressed.value) else { return Ok(Outcome::Taken) };
        let Some(known) = self.parts.approvals.get(&approval).await? else {
            let language = self.parts.language.unwrap_or_default();
            return Ok(toast("warning", words::press_without_question(language)));
        };
        // A button works only on its own platform, and only for people with access there.
        let author = self.author(&pressed.by)?;
        let (place, now) = (known.thread.chat(), self.parts.clock.now());
        let kind = self.notes.chat(&place).await;
        let ours = *known.thread.platform() == self.platform;
        if !ours || self.gate.admit(&author, &place, kind, now).await? != Admission::Welcome {
            return Ok(Outcome::Taken);
        }
        // The button may be pressed before the approval's message is stored.
        let shown = self.notes.question(&approval).await;
        let shown = shown.unwrap_or_else(|| shown_again(&known, self.parts.clock.now()));
        let language = self.parts.language.unwrap_or(shown.language);
        let menu = match button {
            // A press of another person must not change the card for the approvers.
            Button::Scopes | Button::Back
                if !self.decides(author.clone(), &pressed.by, &known, kind).await? =>
            {
                return Ok(toast("warning", &Phrase::NotTheirs(known.number).say(language)));
            }
            Button::Scopes => Menu::Scopes,
            Button::Back => Menu::First,
            Button::Answer(answer) => {
                let decision =
                    Decision { approval, answer, reason: None, via: "button".to_owned(), operator: false };
                let event = IngressEvent {
                    chat: kind,
                    author: self.admins.vouched(author, &pressed.by, &place, kind, false).await,
                    thread: known.thread,
                    message: format!("{}:event:{}", self.platform, pressed.event).parse()?,
                    platform_message: pressed.message,
                    at: self.parts.clock.now(),
                    kind: IngressKind::Decision(decision),
                };
                return Ok(match submit(&self.threads, event, language).await {
                    Submitted::Kept => toast("success", words::press_counted(language)),
                    Submitted::Tell(words) => toast("warning", &words),
                    Submitted::Later(why) => {
                        tracing::warn!(why, "press not accepted");
                        toast("error", words::press_again(language))
                    }
                });
            }
        };
        let card = menu_card(&shown, &approval, menu, language);
        Ok(Outcome::Answered(json!({ "card": { "type": "raw", "data": card } })))
    }

    /// Whether the person who pressed may decide an approval.
    async fn decides(
        &self,
        author: Author,
        open_id: &str,
        question: &Approval,
        kind: ChatKind,
    ) -> Result<bool, StoreError> {
        let author = self.admins.vouched(author, open_id, &question.thread.chat(), kind, false).await;
        self.parts.deciders.decides(&*self.parts.access, &author, question).await
    }
}

fn toast(kind: &str, words: &str) -> Outcome {
    Outcome::Answered(json!({ "toast": { "type": kind, "content": words } }))
}
