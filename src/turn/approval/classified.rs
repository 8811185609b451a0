//! Classification of replies by a model: where the rules find no decision, a model may classify the reply text alone.
//! Its result can only lead to a question back, or to the reminder that would have been sent anyway.

use crate::domain::{CorrelationId, IngressEvent, MessageId, ReadReplies, Said, Timestamp};
use crate::policy::reply::{HintedReading, ModelHint, ask_back_from_model};
use crate::turn::approval::replies::as_pending;
use crate::turn::exchange::Exchange;
use crate::turn::{Conversation, Effect};
use crate::uimessage::Role;

/// A longer text is a message, not an answer.
const LONGEST: usize = 300;

impl Conversation {
    /// Whether a model may classify a message without a decision: a short text of a person's own, addressed to the
    /// agent, from an author who may decide.
    pub(in crate::turn) fn is_for_a_model(&self, said: &Said, event: &IngressEvent) -> bool {
        let own_words =
            said.forwarded_from.is_none() && !said.automatic && said.files.is_empty() && !said.context_only;
        let short = (1..=LONGEST).contains(&said.text.trim().chars().count());
        // `/approve` with unreadable arguments is answered as a command.
        let words = short && !said.text.trim_start().starts_with('/');
        self.rules.read_replies == ReadReplies::Model
            && own_words
            && words
            && self.may_answer_one(event, &self.pending_approvals())
    }

    /// Processes a classification. The message waits for the next run, unless it seems to be an answer: then it is
    /// removed from there, and the person gets a question back.
    pub(in crate::turn) fn reply_read(
        &mut self,
        message: &MessageId,
        words: &str,
        hint: Option<&ModelHint>,
        now: Timestamp,
        fresh: &mut dyn FnMut() -> CorrelationId,
        out: &mut Vec<Effect>,
    ) {
        let pending = self.pending_approvals();
        let Some(at) = self.waiting.iter().position(|waiting| waiting.messages.contains(message)) else {
            return;
        };
        if pending.is_empty() {
            return;
        }
        let hinted =
            hint.map(|hint| ask_back_from_model(hint, &pending.iter().map(as_pending).collect::<Vec<_>>()));
        let Some(HintedReading::AskBack(question)) = hinted else { return self.remind(out) };
        let known = self.history.iter().find(|known| known.id == *message && known.role == Role::User);
        // A text that was edited meanwhile is not the text that was classified.
        let Some(known) = known.filter(|known| known.text() == words).cloned() else {
            return self.remind(out);
        };
        let alone = self.waiting.get(at).is_some_and(|waiting| waiting.messages.len() == 1);
        // The other waiting messages keep their run id.
        let correlation = if alone { known.metadata.correlation_id.clone() } else { fresh() };
        let reply = self.ask_back(&question, &pending);
        let Some((line, exchange)) = Exchange::instead_of(&known, reply, correlation.clone(), now) else {
            return;
        };
        if let Some(waiting) = self.waiting.get_mut(at) {
            waiting.messages.retain(|known| known != message);
        }
        self.waiting.retain(|waiting| !waiting.messages.is_empty());
        self.keep(exchange, vec![line], out);
        if !alone {
            out.push(Effect::Moved { message: message.clone(), to: correlation.clone() });
        }
        out.push(Effect::Finished(correlation));
        out.push(Effect::Publish);
    }
}
