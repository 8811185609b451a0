//! A pressed button: which approval it decides, who pressed, and the response. Waits for no message.

use serde_json::Value;

use super::super::{Button, Menu, decode};
use super::access::Admission;
use super::pipeline::Pipeline;
use super::{AdminCheck, Press, PressAnswer, PressedIn};
use crate::adapters::submission::{Submitted, submit};
use crate::domain::{
    Approval, ApprovalState, Author, Decision, IngressEvent, IngressKind, Language, ThreadId,
};
use crate::ports::StoreError;
use crate::render::Phrase;

impl Pipeline {
    /// Handles a press. The platform's acknowledgement, if it has one; `None` where the press is to be stored and
    /// retried.
    pub(super) async fn press(&self, press: &Press) -> Result<Option<Option<Value>>, StoreError> {
        let Some((button, id)) = decode(&press.data) else {
            return Ok(Some(self.platform.answer_press(press, None, PressAnswer::NotOurs).await));
        };
        let record = self.intake.parts.approvals.get(&id).await?;
        let places = record.iter().flat_map(|approval| self.shown_here(approval)).collect::<Vec<_>>();
        let mut found = None;
        // A button works only in the chat where it was shown.
        for shown in &places {
            if let Some(place) = self.platform.locate(press, shown).await {
                found = Some((shown, place));
                break;
            }
        }
        let shown = found.as_ref().map(|(shown, _)| *shown).or(places.first());
        let answer = match (found, &record) {
            (Some((shown, place)), Some(record)) => {
                self.decide_pressed(press, button, shown, &record.thread, place).await?
            }
            _ if shown.is_some() => PressAnswer::OtherChat,
            _ => PressAnswer::NotOpen,
        };
        if answer == PressAnswer::Later && self.intake.profile.stores_presses {
            return Ok(None);
        }
        Ok(Some(self.platform.answer_press(press, shown, answer).await))
    }

    /// An approval as it is shown in each of its threads on this platform.
    fn shown_here(&self, approval: &Approval) -> Vec<Approval> {
        let ours = approval.shown_in().filter(|thread| *thread.platform() == self.intake.platform);
        ours.map(|thread| Approval { thread: thread.clone(), ..approval.clone() }).collect()
    }

    /// Decides about an approval as it is shown in this place; `thread` is the one that asks.
    async fn decide_pressed(
        &self,
        press: &Press,
        button: Button,
        approval: &Approval,
        thread: &ThreadId,
        place: PressedIn,
    ) -> Result<PressAnswer, StoreError> {
        let id = approval.id.clone();
        // Only people with access to the chat may press.
        if self.admission(&press.author, &place.chats, place.kind).await? != Admission::Welcome {
            return Ok(PressAnswer::NoAccess);
        }
        self.platform.press_admitted(press, approval).await;
        let author = self.pressed_by(press, &place).await;
        let language = self.press_language(press, approval);
        let menu = match button {
            Button::Answer(answer) => {
                let via = "button".to_owned();
                let decision = Decision { approval: id, answer, reason: None, via, operator: false };
                return Ok(self.submit_decision(press, thread, &place, author, decision, language).await);
            }
            Button::Scopes | Button::Back if approval.state != ApprovalState::Pending => {
                return Ok(PressAnswer::NotOpen);
            }
            Button::Scopes => Menu::Scopes,
            Button::Back => Menu::First,
        };
        // A press of another person must not change the question for the approvers.
        let parts = &self.intake.parts;
        if !parts.answer_rights.decides(&*parts.access, &author, approval).await? {
            return Ok(PressAnswer::NotTheirs(Phrase::NotTheirs(approval.number).say(language)));
        }
        Ok(PressAnswer::Menu(id, menu))
    }

    async fn pressed_by(&self, press: &Press, place: &PressedIn) -> Author {
        let chat = place.chats.last().map(String::as_str).unwrap_or_default();
        let known = (press.admin, &press.detail);
        let (author, place) = (press.author.clone(), (chat, place.kind));
        let admins = &self.intake.admins;
        admins.resolve_role(&*self.platform, author, place, AdminCheck::Decision, known).await
    }

    async fn submit_decision(
        &self,
        press: &Press,
        thread: &ThreadId,
        place: &PressedIn,
        author: Author,
        decision: Decision,
        language: Language,
    ) -> PressAnswer {
        let now = self.intake.parts.clock.now();
        let event = IngressEvent {
            thread: thread.clone(),
            author,
            message: press.message.clone(),
            platform_message: press.platform_message.clone(),
            // The platform's clock may be ahead.
            at: press.at.unwrap_or(now).min(now),
            chat: place.kind,
            kind: IngressKind::Decision(decision),
        };
        match submit(&self.threads, event, language).await {
            Submitted::Kept => PressAnswer::Counted,
            Submitted::Tell(words) => PressAnswer::Refused(words),
            Submitted::Later(why) => {
                tracing::warn!(why, "press not accepted");
                PressAnswer::Later
            }
        }
    }

    /// The language for the person who pressed: the reported one, or that of the question.
    pub(super) fn press_language(&self, press: &Press, approval: &Approval) -> Language {
        let language = self.intake.parts.language.or(press.language);
        language.unwrap_or_else(|| Language::of(&approval.summary))
    }
}
