//! What goes wrong on purpose: which call meets which trouble, and how often.

use std::time::Duration;

use super::super::fake_model::Gate;
use super::answer::Refusal;

/// One way for a call to go wrong.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// Refused with these words.
    Refuse(Refusal),
    /// A proxy answers for the server: 502 and a page of HTML.
    BadGateway,
    /// The connection breaks, and nothing was done.
    ResetBefore,
    /// It is done, and the connection breaks before the answer.
    ResetAfter,
    /// It is done, and half of the answer comes.
    Truncated,
    /// Nothing happens for this long; then it is done as usual.
    Stall(Duration),
    /// Nothing happens until a test opens the gate; then it is done as usual.
    Held(Gate),
    /// A file comes in pieces of so many bytes, with a pause before each.
    Slow { piece: usize, pause: Duration },
}

impl Trouble {
    /// 429, to be tried again after so many seconds.
    pub(crate) fn too_many(retry_after: u64) -> Self {
        Self::Refuse(Refusal::too_many(retry_after))
    }

    /// 400 for markup, whatever the text is.
    pub(crate) fn bad_entities() -> Self {
        Self::Refuse(Refusal::bad("can't parse entities: Unsupported start tag \"x\" at byte offset 0"))
    }

    /// 403 of a person who wants no more.
    pub(crate) fn blocked() -> Self {
        Self::Refuse(Refusal::forbidden("bot was blocked by the user"))
    }

    /// 403 of a group that wants no more.
    pub(crate) fn kicked() -> Self {
        Self::Refuse(Refusal::forbidden("bot was kicked from the supergroup chat"))
    }

    /// 409 of a second instance.
    pub(crate) fn conflict() -> Self {
        Self::Refuse(Refusal::conflict(super::polling::OTHER_POLL))
    }

    /// 400 of a group that became a supergroup.
    pub(crate) fn migrated(to: i64) -> Self {
        Self::Refuse(Refusal::migrated(to))
    }

    /// Happens once, to any call.
    pub(crate) fn once(self) -> Plan {
        self.times(1)
    }

    /// Happens to so many calls.
    pub(crate) fn times(self, times: usize) -> Plan {
        Plan { trouble: self, method: None, chat: None, skip: 0, times }
    }

    /// Happens until the troubles are cleared.
    pub(crate) fn always(self) -> Plan {
        self.times(usize::MAX)
    }
}

/// When a trouble happens.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    trouble: Trouble,
    method: Option<String>,
    chat: Option<i64>,
    skip: usize,
    times: usize,
}

impl Plan {
    /// Only to this method; `download` is the fetching of a file.
    #[must_use]
    pub(crate) fn on(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Only to calls about this chat.
    #[must_use]
    pub(crate) fn in_chat(mut self, chat: i64) -> Self {
        self.chat = Some(chat);
        self
    }

    /// Only after so many calls it would have happened to.
    #[must_use]
    pub(crate) fn after(mut self, calls: usize) -> Self {
        self.skip = calls;
        self
    }

    fn fits(&self, method: &str, chat: Option<i64>) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && self.chat.is_none_or(|wanted| chat == Some(wanted))
    }
}

/// The plans in force, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Vec<Plan>);

impl Troubles {
    /// One more plan.
    pub(crate) fn plan(&mut self, plan: Plan) {
        self.0.push(plan);
    }

    /// No more trouble.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The trouble this call meets, if any. The oldest plan that fits is used up first.
    pub(crate) fn meet(&mut self, method: &str, chat: Option<i64>) -> Option<Trouble> {
        let plan = self.0.iter_mut().find(|plan| plan.times > 0 && plan.fits(method, chat))?;
        if plan.skip > 0 {
            plan.skip -= 1;
            return None;
        }
        plan.times -= 1;
        Some(plan.trouble.clone())
    }
}
