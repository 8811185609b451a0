//! Injected failures: which calls fail in which way, and how often.

use std::time::Duration;

use super::super::fake_model::Latch;
use super::answer::Refusal;

/// One kind of failure.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Refuse(Refusal),
    /// A proxy answers: 502 and an HTML page.
    BadGateway,
    /// The connection breaks, and the call was not performed.
    ResetBefore,
    /// The call was performed, and the connection breaks before the response.
    ResetAfter,
    /// The call was performed, and half of the response is sent.
    Truncated,
    /// A delay; then the call is performed as usual.
    Stall(Duration),
    /// Waits until a test opens the gate; then the call is performed as usual.
    Held(Latch),
    /// A file is sent in pieces of this many bytes, with a pause before each.
    Slow {
        piece: usize,
        pause: Duration,
    },
}

impl Fault {
    /// 429, with this `retry_after`.
    pub(crate) fn too_many(retry_after: u64) -> Self {
        Self::Refuse(Refusal::too_many(retry_after))
    }

    /// 400 for markup, with any text.
    pub(crate) fn bad_entities() -> Self {
        Self::Refuse(Refusal::bad("can't parse entities: Unsupported start tag \"x\" at byte offset 0"))
    }

    /// 403, the person has blocked the bot.
    pub(crate) fn blocked() -> Self {
        Self::Refuse(Refusal::forbidden("bot was blocked by the user"))
    }

    /// 403, the bot was removed from the group.
    pub(crate) fn kicked() -> Self {
        Self::Refuse(Refusal::forbidden("bot was kicked from the supergroup chat"))
    }

    /// 409, a second instance is polling.
    pub(crate) fn conflict() -> Self {
        Self::Refuse(Refusal::conflict(super::polling::OTHER_POLL))
    }

    /// 400 of a group that became a supergroup.
    pub(crate) fn migrated(to: i64) -> Self {
        Self::Refuse(Refusal::migrated(to))
    }

    /// Affects one call.
    pub(crate) fn once(self) -> Plan {
        self.times(1)
    }

    /// Affects this many calls.
    pub(crate) fn times(self, times: usize) -> Plan {
        Plan { trouble: self, method: None, chat: None, skip: 0, times }
    }

    /// Affects all calls until the failures are cleared.
    pub(crate) fn always(self) -> Plan {
        self.times(usize::MAX)
    }
}

/// When a failure occurs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    trouble: Fault,
    method: Option<String>,
    chat: Option<i64>,
    skip: usize,
    times: usize,
}

impl Plan {
    /// Only for this method; `download` is a file download.
    #[must_use]
    pub(crate) fn on(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Only for calls about this chat.
    #[must_use]
    pub(crate) fn in_chat(mut self, chat: i64) -> Self {
        self.chat = Some(chat);
        self
    }

    /// Only after this many matching calls.
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

/// The active plans, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Vec<Plan>);

impl Troubles {
    pub(crate) fn plan(&mut self, plan: Plan) {
        self.0.push(plan);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The failure of this call, if any. The oldest matching plan is used up first.
    pub(crate) fn meet(&mut self, method: &str, chat: Option<i64>) -> Option<Fault> {
        let plan = self.0.iter_mut().find(|plan| plan.times > 0 && plan.fits(method, chat))?;
        if plan.skip > 0 {
            plan.skip -= 1;
            return None;
        }
        plan.times -= 1;
        Some(plan.trouble.clone())
    }
}
