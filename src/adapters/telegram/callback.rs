//! A press of a button: whose question it answers, who pressed, and what they see. Whoever pressed is always answered,
//! for their screen waits.

use super::place::Place;
use super::reception::{Aside, Done, Reception};
use super::update::Press;
use crate::adapters::chat::{Admission, Button, Handed, Menu, decode, hand_in};
use crate::domain::{
    Approval, ApprovalState, Author, ChatKind, Decision, IngressEvent, IngressKind, Language, Standing,
};
use crate::ports::StoreError;
use crate::render::Phrase;

impl Reception {
    /// Does what a button says.
    pub(super) async fn pressed(&self, press: Press) -> Result<Done, StoreError> {
        let language = self.language("", press.language);
        let answer = |words: Option<String>| Aside::Answer(press.id.clone(), words);
        let unknown = || Done::kept(vec![answer(Some(Phrase::NotOpen.say(language)))]);
        if self.admit(&press.author, press.place.chat, press.chat).await? != Admission::Welcome {
            return Ok(Done::kept(vec![answer(None)]));
        }
        let Some((button, id)) = decode(&press.data) else { return Ok(unknown()) };
        let approval = self.parts.approvals.get(&id).await?;
        // A button works only where it was shown.
        let here = |approval: &Approval| {
            *approval.thread.platform() == self.platform
                && Place::of(&approval.thread, &self.aliases)
                    .is_some_and(|place| place.chat == press.place.chat)
        };
        let Some(approval) = approval.filter(here) else {
            return Ok(unknown());
        };
        // A second copy of a question, from a send nobody heard back from, keeps its buttons until somebody tries one.
        let stale = approval.state != ApprovalState::Pending;
        let bare = stale.then_some(Aside::Bare(press.place, press.message_id));
        let menu = match button {
            Button::Answer(given) => {
                let decision = Decision {
                    approval: id,
                    answer: given,
                    reason: None,
                    via: "button".to_owned(),
                    operator: false,
                };
                let mut done = self.decide(press, approval, decision, language).await;
                done.asides.extend(bare);
                return Ok(done);
            }
            Button::Scopes | Button::Back if stale => {
                return Ok(Done::kept(unknown().asides.into_iter().chain(bare).collect()));
            }
            Button::Scopes => Menu::Scopes,
            Button::Back => Menu::First,
        };
        let buttons = Aside::Buttons(press.place, press.message_id, Box::new(approval), menu);
        Ok(Done::kept(vec![answer(None), buttons]))
    }

    async fn decide(&self, press: Press, approval: Approval, decision: Decision, language: Language) -> Done {
        let Ok(message) = format!("{}:press:{}", self.platform.as_str(), press.id).parse() else {
            return Done::kept(vec![Aside::Answer(press.id, None)]);
        };
        let event = IngressEvent {
            thread: approval.thread,
            author: self.vouched(press.author, press.place.chat, press.user, press.chat).await,
            message,
            platform_message: press.message_id.to_string(),
            at: self.parts.clock.now(),
            chat: press.chat,
            kind: IngressKind::Decision(decision),
        };
        let words = match hand_in(&self.door, event, language).await {
            Handed::Kept => None,
            Handed::Tell(words) => Some(words),
            Handed::Later(why) => return Done::again(&why),
        };
        Done::kept(vec![Aside::Answer(press.id, words)])
    }

    /// The author with what Telegram says about their place in the group.
    async fn vouched(&self, author: Author, chat: i64, user: i64, kind: ChatKind) -> Author {
        let asked = kind == ChatKind::Group && author.standing == Standing::Person;
        if asked && self.admins.is_admin(chat, user).await {
            return Author { standing: Standing::Admin, ..author };
        }
        author
    }
}
