//! The outcomes of approvals in a thread, for the lines below their calls.

use std::collections::HashMap;

use crate::commands::cli_context::CliContext;
use crate::commands::result_line::result_line;
use crate::commands::terminal::{moment, one_line};
use crate::domain::{Approval, ApprovalState, AuthorId, Decided, Language};
use crate::phrases::commands as words;
use crate::uimessage::{
    ApprovalAnswer, CommandRecord, Part, Role, RunStatus, ToolPart, ToolState, UiMessage,
};

/// Most columns of a line below a call.
const COLUMNS: usize = 160;

/// The outcome of a request for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ApprovalOutcome {
    Waits,
    /// By whom, from where and when, where that is known.
    Approved(Option<String>),
    /// The same, and the reason.
    Denied(Option<String>, Option<String>),
    Expired,
    Withdrawn(String),
}

impl ApprovalOutcome {
    /// What was decided, in one line.
    fn line(&self, number: &str, language: Language) -> String {
        let with_dot =
            |text: &Option<String>| text.as_ref().map(|text| format!(" · {text}")).unwrap_or_default();
        match self {
            Self::Waits => words::call_waits(number, language),
            Self::Approved(by) => words::call_approved(number, &with_dot(by), language),
            Self::Denied(by, why) => {
                words::call_denied(number, &format!("{}{}", with_dot(by), with_dot(why)), language)
            }
            Self::Expired => words::call_expired(number, language),
            Self::Withdrawn(why) => words::call_withdrawn(number, why, language),
        }
    }
}

/// The status of an answer, unless it ended normally.
pub(super) const fn ending(status: Option<RunStatus>, language: Language) -> Option<&'static str> {
    match status {
        Some(RunStatus::Stopped) => Some(words::answer_stopped(language)),
        Some(RunStatus::Failed) => Some(words::answer_failed(language)),
        Some(RunStatus::Running) => Some(words::answer_unfinished(language)),
        Some(RunStatus::Done | RunStatus::Continued) | None => None,
    }
}

/// Data beside the messages: approvals by id, and display names.
#[derive(Debug, Default)]
pub(super) struct ThreadFacts {
    approvals: HashMap<String, Approval>,
    names: HashMap<AuthorId, String>,
    /// Ids of the messages of people.
    said: Vec<String>,
}

impl ThreadFacts {
    /// Reads the approvals; without them, outcomes come from the messages alone.
    pub(super) fn read(context: &CliContext) -> Self {
        let approvals = context.wait(context.store.approvals.list()).unwrap_or_default();
        let approvals = approvals.into_iter().map(|approval| (approval.id.to_string(), approval)).collect();
        Self { approvals, ..Self::default() }
    }

    /// Collects display names and the ids of people's messages.
    pub(super) fn learn(&mut self, messages: &[UiMessage]) {
        for message in messages.iter().filter(|message| message.role == Role::User) {
            self.said.push(message.id.to_string());
            if let (Some(author), Some(name)) = (&message.metadata.author_id, &message.metadata.author_name) {
                self.names.insert(author.clone(), name.clone());
            }
        }
    }

    /// A command of a person, unless a message of their own shows it, and the daemon's reply.
    pub(super) fn exchange<'m>(
        &self,
        message: &'m UiMessage,
    ) -> Option<(Option<&'m str>, &'m CommandRecord)> {
        let record = message.parts.iter().find_map(|part| match part {
            Part::Command(record) => Some(record),
            _ => None,
        })?;
        let told = message.id.as_str().strip_suffix(".reply");
        let told = told.is_some_and(|said| self.said.iter().any(|known| known == said));
        Some(((!told).then_some(record.command.as_str()), record))
    }

    /// The display name of a person, if it is known.
    pub(super) fn name(&self, author: &AuthorId) -> Option<&str> {
        self.names.get(author).map(String::as_str)
    }

    /// The lines below a call: that it was asked about, what was decided, and what came of it.
    pub(super) fn lines(&self, context: &CliContext, tool: &ToolPart) -> Vec<String> {
        let language = context.language;
        let Some((id, answer)) = approval_of(&tool.state) else {
            return error(&tool.state).into_iter().collect();
        };
        let approval = self.approvals.get(id);
        let number = approval.map(|approval| approval.number.to_string()).unwrap_or_default();
        let mut lines = Vec::new();
        if let Some(approval) = approval {
            lines.push(format!(
                "? {}",
                words::call_asked(&number, words::risk(approval.risk, language), language)
            ));
        }
        let outcome = match (approval.map(|approval| &approval.state), answer) {
            (Some(state), _) => self.outcome(context, state),
            (None, None) => ApprovalOutcome::Waits,
            (None, Some(ApprovalAnswer { approved: true, .. })) => ApprovalOutcome::Approved(None),
            (None, Some(answer)) => ApprovalOutcome::Denied(None, answer.reason.clone()),
        };
        lines.push(outcome.line(&number, language));
        match &tool.state {
            ToolState::OutputAvailable { output, .. } => {
                lines.push(format!("= {}", result_line(output, language)))
            }
            state => lines.extend(error(state)),
        }
        lines.iter().map(|line| one_line(line, COLUMNS)).collect()
    }

    fn outcome(&self, context: &CliContext, state: &ApprovalState) -> ApprovalOutcome {
        match state {
            ApprovalState::Pending => ApprovalOutcome::Waits,
            ApprovalState::Approved { decided, .. } | ApprovalState::Spent { decided, .. } => {
                ApprovalOutcome::Approved(Some(self.by(context, decided)))
            }
            ApprovalState::Denied { decided } => {
                ApprovalOutcome::Denied(Some(self.by(context, decided)), decided.reason.clone())
            }
            ApprovalState::Expired { .. } => ApprovalOutcome::Expired,
            ApprovalState::Cancelled { reason, .. } => ApprovalOutcome::Withdrawn(reason.clone()),
        }
    }

    /// Who decided, from where, and when.
    fn by(&self, context: &CliContext, decided: &Decided) -> String {
        let name = self.name(&decided.by).map_or_else(|| decided.by.to_string(), str::to_owned);
        format!("{name} · {} · {}", decided.via, moment(decided.at, &context.zone))
    }
}

fn error(state: &ToolState) -> Option<String> {
    match state {
        ToolState::OutputError { error_text, .. } => Some(format!("! {}", one_line(error_text, COLUMNS))),
        _ => None,
    }
}

/// The id of the approval that a call needed, and the answer as far as there is one.
const fn approval_of(state: &ToolState) -> Option<(&str, Option<&ApprovalAnswer>)> {
    match state {
        ToolState::ApprovalRequested { approval, .. } => Some((approval.id.as_str(), None)),
        ToolState::ApprovalResponded { approval, .. }
        | ToolState::OutputAvailable { approval: Some(approval), .. }
        | ToolState::OutputError { approval: Some(approval), .. }
        | ToolState::OutputDenied { approval, .. } => Some((approval.id.as_str(), Some(approval))),
        ToolState::InputStreaming { .. }
        | ToolState::InputAvailable { .. }
        | ToolState::OutputAvailable { approval: None, .. }
        | ToolState::OutputError { approval: None, .. } => None,
    }
}
