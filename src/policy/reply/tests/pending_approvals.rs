//! Pending approvals for the tests, and readings as short text.

use crate::domain::{Answer, ApprovalId, ApprovalKind, ApprovalNumber, Scope};
use crate::policy::reply::{PendingApproval, ReadReply, ReplyRuling, read};
use crate::policy::shell::is_plain_call;

/// An approval with its own data.
#[derive(Debug)]
struct Waiting {
    number: ApprovalNumber,
    id: ApprovalId,
    kind: ApprovalKind,
    tool: String,
    command: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct PendingApprovals(Vec<Waiting>);

impl PendingApprovals {
    /// From `A1=git status`, `A2=@write_file` (a tool without a command), `A3?=make deploy` (interrupted).
    pub(super) fn of<'a>(written: impl IntoIterator<Item = &'a str>) -> Self {
        Self(written.into_iter().map(Waiting::of).collect())
    }

    /// Reads a reply against them.
    pub(super) fn read(&self, reply: &str) -> ReadReply {
        read(reply, &self.pending())
    }

    /// The input of the reader.
    pub(super) fn pending(&self) -> Vec<PendingApproval<'_>> {
        self.0.iter().map(Waiting::pending).collect()
    }

    /// A reading in the notation of the corpus.
    pub(super) fn shown(&self, reading: &ReadReply) -> String {
        match reading {
            ReadReply::Decide(rulings) => {
                rulings.iter().map(|ruling| self.ruling(ruling)).collect::<Vec<_>>().join("; ")
            }
            ReadReply::AskBack(_) => "ask".to_owned(),
            ReadReply::NotADecision => "none".to_owned(),
        }
    }

    fn ruling(&self, ruling: &ReplyRuling) -> String {
        let number = self.0[ruling.index].number;
        let mut out = match &ruling.answer {
            Answer::Approve(Scope::Once) => format!("approve {number}"),
            Answer::Approve(Scope::Thread) => format!("approve {number} thread"),
            Answer::Approve(Scope::Minutes(minutes)) => format!("approve {number} {minutes}m"),
            Answer::Approve(Scope::Program(minutes)) => format!("approve {number} program {minutes}m"),
            Answer::Approve(Scope::Shape) => format!("approve {number} shape"),
            Answer::Approve(Scope::Project) => format!("approve {number} project"),
            Answer::Approve(scope @ (Scope::PlusOne | Scope::PlusFive | Scope::Midnight)) => {
                format!("approve {number} {scope:?}")
            }
            Answer::Deny => format!("deny {number}"),
            Answer::Done => format!("done {number}"),
        };
        if let Some(reason) = &ruling.reason {
            out.push_str(&format!(" ({reason})"));
        }
        out
    }
}

impl Waiting {
    fn of(written: &str) -> Self {
        let (name, what) = written.split_once('=').unwrap();
        let number: u32 = name.trim_start_matches('A').trim_end_matches('?').parse().unwrap();
        let tool = what.strip_prefix('@');
        Self {
            number: ApprovalNumber(number),
            id: format!("Qk{number}xLw7TzR0aaaaaaaaaa{number}").parse().unwrap(),
            kind: if name.ends_with('?') { ApprovalKind::UnknownOutcome } else { ApprovalKind::Tool },
            tool: tool.unwrap_or("exec_shell").to_owned(),
            command: tool.is_none().then(|| what.to_owned()),
        }
    }

    fn pending(&self) -> PendingApproval<'_> {
        PendingApproval {
            number: self.number,
            id: &self.id,
            kind: self.kind,
            tool: &self.tool,
            command: self.command.as_deref(),
            plain: self.command.as_deref().is_some_and(is_plain_call),
            program: self.command.as_deref().is_some_and(|command| command.starts_with("./")),
        }
    }
}

/// How many a reading approves.
pub(super) fn approved(reading: &ReadReply) -> usize {
    match reading {
        ReadReply::Decide(rulings) => {
            rulings.iter().filter(|ruling| matches!(ruling.answer, Answer::Approve(_))).count()
        }
        ReadReply::AskBack(_) | ReadReply::NotADecision => 0,
    }
}
