//! The question about a call: its record and the messages that ask it. A call that is too long to be shown whole is
//! shown with both ends, and a file with the whole call is delivered first.

use serde_json::Value;

use crate::domain::{
    Approval, ApprovalKind, ApprovalState, AttachmentKind, AuthorId, CorrelationId, Intent, MemoryScope,
    ScopeKind, StoredFile, ThreadId, ToolCallId,
};
use crate::policy::tools::needs_owner;
use crate::ports::{Judgement, WholeText};
use crate::render::{Phrase, approval_question, fenced, fit_question};
use crate::turn::context::TurnContext;
use crate::turn::event::ApprovalSlot;
use crate::turn::runs::over_budget::CapQuestion;

/// A call that a person must be asked about.
pub(in crate::turn) struct QuestionRequest {
    pub(in crate::turn) kind: ApprovalKind,
    pub(in crate::turn) run: CorrelationId,
    pub(in crate::turn) call: ToolCallId,
    pub(in crate::turn) tool: String,
    pub(in crate::turn) input: Value,
    pub(in crate::turn) requested_by: AuthorId,
    /// The memory that the run may use.
    pub(in crate::turn) memory_scope: MemoryScope,
    /// Further threads where it is asked.
    pub(in crate::turn) asked_in: Vec<ThreadId>,
}

/// A question that is to be asked.
pub(in crate::turn) struct Question {
    pub(in crate::turn) approval: Approval,
    /// The file with the whole call, which is stored before the commit.
    pub(in crate::turn) whole: Option<(StoredFile, String)>,
    /// The messages to send, in order, each with the source of its delivery id.
    pub(in crate::turn) intents: Vec<(String, Intent)>,
}

impl Question {
    pub(super) fn new(
        request: QuestionRequest,
        judgement: Judgement,
        slot: ApprovalSlot,
        ctx: &TurnContext<'_>,
    ) -> Self {
        let of_cap = request.kind == ApprovalKind::Budget;
        let owners_only = of_cap || needs_owner(&request.tool, &request.input);
        let cap = CapQuestion::read(&request.input).filter(|_| of_cap);
        let expires_at = ctx.now.plus_millis(ctx.rules().expire_ms);
        // When the cap begins anew, the turn goes on without an answer.
        let expires_at = cap.map_or(expires_at, |question| question.cap.ends.min(expires_at));
        let approval = Approval {
            id: slot.id,
            number: slot.number,
            kind: request.kind,
            thread: ctx.thread().clone(),
            correlation: request.run,
            tool_call: request.call,
            tool: request.tool,
            input: request.input,
            summary: judgement.summary,
            details: judgement.details,
            risk: judgement.risk,
            scopes: match request.kind {
                ApprovalKind::Tool | ApprovalKind::Budget => judgement.scopes,
                ApprovalKind::UnknownOutcome => vec![ScopeKind::Once],
            },
            memory_scope: request.memory_scope,
            owners_only,
            asked_in: request.asked_in,
            fingerprint: judgement.fingerprint,
            requested_by: request.requested_by,
            created_at: ctx.now,
            expires_at,
            state: ApprovalState::Pending,
        };
        let asks = approval_question(&approval, ctx.language());
        Self::with_whole(approval, asks, judgement.whole, ctx)
    }

    /// Adds the whole call, where the question cannot show it. Its file has a name that belongs to this approval alone.
    fn with_whole(approval: Approval, asks: Intent, whole: Option<WholeText>, ctx: &TurnContext<'_>) -> Self {
        let capabilities = &ctx.rules().capabilities;
        let fitted = fit_question(&asks, capabilities);
        let source = approval.id.to_string();
        let Some(whole) = whole.filter(|whole| whole.cut || fitted.is_some()) else {
            let intents = vec![(source, fitted.unwrap_or(asks))];
            return Self { approval, whole: None, intents };
        };
        let language = ctx.language();
        let mut asks = fitted.unwrap_or(asks);
        let name = format!("{}-{}", approval.number, whole.name);
        let (first, stored) = if capabilities.files {
            let file = StoredFile::new(ctx.thread().clone(), &format!("{source}-"), &name);
            let attachment = Intent::Attachment {
                file: file.clone(),
                name: name.clone(),
                media_type: "text/plain".to_owned(),
                kind: AttachmentKind::File,
                caption: Some(Phrase::WholeCall(approval.number).say(language)),
            };
            (attachment, Some((file, whole.text)))
        } else {
            (Intent::AssistantText { text: fenced(&whole.text) }, None)
        };
        if let Intent::ApprovalRequest { details, .. } = &mut asks
            && ctx.is_push()
        {
            let note = Phrase::WholeAbove(stored.is_some().then_some(name)).say(language);
            *details = Some(match details.take() {
                Some(details) => format!("{details}\n\n{note}"),
                None => note,
            });
        }
        let intents = vec![(format!("{source}.whole"), first), (source, asks)];
        Self { approval, whole: stored, intents }
    }
}
