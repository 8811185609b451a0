//! The daemon's words in English.

use super::phrases::{Phrase, Status};
use crate::domain::{
    Answer, Approval, ApprovalKind, ApprovalNumber, ApprovalState, Command, ErrorKind, Language, ThreadState,
};

pub(super) fn say(phrase: &Phrase) -> String {
    match phrase {
        Phrase::Error(kind) => error(*kind).into(),
        Phrase::Retrying(kind) => format!("{} Trying again.", trouble(*kind)),
        Phrase::Switching { kind, model } => format!("{} Switching to {model}.", trouble(*kind)),
        Phrase::Busy => "Too many messages are waiting here, so this one was not taken. Please send it again \
                         when the current answer is done, or /stop it."
            .into(),
        Phrase::Stopping => "I am being shut down and did not take this message. Please send it again later.".into(),
        Phrase::Stopped => "Stopped.".into(),
        Phrase::NothingToStop => "Nothing is running.".into(),
        Phrase::NewConversation => "A new conversation begins. What was said before is no longer considered.".into(),
        Phrase::Compacting => "Summing up the earlier conversation…".into(),
        Phrase::Compacted { messages, before, after, by_rules } => {
            let how = if *by_rules { " The model gave no usable summary, so the first lines were kept." } else { "" };
            format!(
                "Summed up {messages} earlier messages. A prompt is now about {after} tokens instead of {before}.{how} \
                 Nothing was deleted: the whole conversation can still be read."
            )
        }
        Phrase::NothingToCompact => "There is too little to sum up: the newest turns always stay as they are.".into(),
        Phrase::CompactLater => "A turn is running. Send /compact again when it is done.".into(),
        Phrase::Help => help(),
        Phrase::Status(status) => self::status(status),
        Phrase::StorageFailed => "Your message could not be saved, so it was not taken. Please send it again; if this \
                                  goes on, the operator should check the disk (`shipagent doctor` tells more)."
            .into(),
        Phrase::StillThinking(seconds) => format!("Waiting for the model, {} so far.", duration(*seconds)),
        Phrase::InstructionsChanged => "Agent.md changed and was read again.".into(),
        Phrase::Truncated => {
            "(The answer reached the model's length limit and stops here. Say \"go on\" for the rest.)".into()
        }
        Phrase::EmptyAnswer => "(The model gave no answer. Please ask again, perhaps in other words.)".into(),
        Phrase::Resolved { approval, by } => resolved(approval, by.as_deref()),
        Phrase::Counted { number, answer } => match answer {
            Answer::Approve(_) => format!("{number}: approved."),
            Answer::Deny => format!("{number}: denied."),
            Answer::Done => format!("{number}: noted as done."),
        },
        Phrase::NotOpen => "There is no such open request any more; it was decided or withdrawn before.".into(),
        Phrase::NotTheirs(number) => format!("You may not decide {number}: ask whoever started this, or an owner."),
        Phrase::AnswerInWords(number) => format!(
            "These buttons are from before this group changed and cannot be changed any more. Approve or Deny here, or \
             write `approve {number}` or `deny {number}`."
        ),
        Phrase::TooLate(number) => format!("{number} has expired and was not run. Ask again if you still want it."),
        Phrase::WhetherMeant(questions) => {
            format!("I am not sure that you mean this. If you do, answer with its number:\n{}", choices(questions))
        }
        Phrase::Reminder(numbers) => format!(
            "I am waiting for a decision on {}: answer `approve` or `deny` (with the number if there are several), or /cancel. \
             Your message comes next.",
            list(numbers)
        ),
        Phrase::NotTheirsToWithdraw(numbers) => format!(
            "You may not withdraw {}: whoever started it may, and whoever may decide it.",
            list(numbers)
        ),
        Phrase::NotTheirsToStop => "Somebody else's request is being worked on or waits here. Whoever made it may end it, \
                                    and so may an owner, an administrator of this chat, or whoever may decide it."
            .into(),
        Phrase::Withdrawn(0) => "There was nothing waiting for a decision.".into(),
        Phrase::Withdrawn(count) => format!("Withdrawn: {count}."),
        Phrase::Pending(approvals) if approvals.is_empty() => "Nothing is waiting for a decision.".into(),
        Phrase::Pending(approvals) => {
            approvals.iter().map(|one| format!("- {}: {}", one.number, one.summary)).collect::<Vec<_>>().join("\n")
        }
        Phrase::ModelIs(model) => format!("Model: {model}"),
        Phrase::Id { thread, author } => format!("Conversation: `{thread}`\n\nYou: `{author}`"),
        Phrase::NoGrants => "Nothing is allowed for longer than once.".into(),
        Phrase::Pair { code, minutes } => format!(
            "I do not know you yet. Ask my operator to confirm this code within {minutes} minutes: `{code}`\n\n\
             (On the machine: `shipagent access approve {code}`)"
        ),
        Phrase::NotServed => "I am not set up for this group, so I am leaving. My operator can allow it in \
                              `allowedChats`."
            .into(),
        Phrase::FileTooBig { name, megabytes } => {
            format!("{name} is too big: I can take files of up to {megabytes} MB. Please send a smaller one.")
        }
        Phrase::FileLost(name) => format!("I could not fetch {name}. Please send it again."),
        Phrase::Held(count) => {
            format!("Replies waiting for the next message in this chat, as its platform lets no more be sent now: {count}.")
        }
        Phrase::WholeCall(number) => format!("{number}: the whole of what the question below asks about."),
        Phrase::WholeAbove(Some(file)) => format!("The whole of it is in the file above: `{file}`."),
        Phrase::WholeAbove(None) => "The whole of it is in the messages above.".into(),
        Phrase::RestInFile => "(The answer is long: the file has all of it.)".into(),
    }
}

/// Each question with the words that answer it.
fn choices(questions: &[Approval]) -> String {
    let line = |one: &Approval| {
        let replies = Phrase::suggested_replies(one.kind, one.number, Language::En);
        let replies: Vec<String> = replies.iter().map(|reply| format!("`{reply}`")).collect();
        format!("- {}: {} ({})", one.number, one.summary, replies.join(" / "))
    };
    questions.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What happened, and what to do.
const fn error(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => {
            "The model refused the API key. The operator should check `llm.apiKey` (`shipagent doctor` tells more)."
        }
        ErrorKind::Quota => {
            "The model account is out of credit or quota. The operator should top it up or set another model in \
             `llm.fallbacks`."
        }
        ErrorKind::Rate => "The model is getting too many requests right now. Please try again in a minute.",
        ErrorKind::ContextLength => {
            "This conversation has become too long for the model. Send /new to start afresh, or ask about a smaller \
             part."
        }
        ErrorKind::Network => {
            "The model could not be reached. Please try again; if it goes on, the operator should check the network \
             and `llm.baseUrl`."
        }
        ErrorKind::Timeout => {
            "The model did not answer in time. Please try again, perhaps with a smaller question."
        }
        ErrorKind::Server => "The model's server failed. Please try again in a moment.",
        ErrorKind::BadRequest => {
            "The model did not accept the request. The operator should check `llm.model` and `llm.baseUrl` (the log \
             has the server's answer)."
        }
        ErrorKind::BadResponse => {
            "The model's answer could not be understood. Please try again; if it goes on, the operator should look \
             into the log."
        }
        ErrorKind::TooManySteps => {
            "This took more steps than one turn may have, so I stopped. Say \"go on\" to continue, or ask for a \
             smaller part."
        }
        ErrorKind::Loop => {
            "The model kept repeating the same call, so I stopped it. Please ask again in other words."
        }
        ErrorKind::Storage => {
            "The conversation could not be saved, so I stopped. The operator should check the disk (`shipagent \
             doctor` tells more); then try again."
        }
        ErrorKind::Internal => {
            "Something went wrong inside me. Please try again; the operator will find the details in the log."
        }
    }
}

/// What happened, in one short sentence.
const fn trouble(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Auth => "The model refused the API key.",
        ErrorKind::Quota => "The model account is out of quota.",
        ErrorKind::Rate => "The model is getting too many requests.",
        ErrorKind::ContextLength => "The conversation is too long for this model.",
        ErrorKind::Network => "The connection to the model broke.",
        ErrorKind::Timeout => "The model is not answering in time.",
        ErrorKind::Server => "The model's server has a problem.",
        ErrorKind::BadRequest => "The model did not accept the request.",
        ErrorKind::BadResponse => "The model's answer could not be understood.",
        ErrorKind::TooManySteps | ErrorKind::Loop => "The model is going in circles.",
        ErrorKind::Storage => "The conversation could not be saved.",
        ErrorKind::Internal => "Something went wrong.",
    }
}

pub(super) const fn of_command(command: Command) -> &'static str {
    match command {
        Command::Help => "shows this list",
        Command::Status => "says what I am doing",
        Command::Stop => "stops what I am doing",
        Command::New => "starts a new conversation",
        Command::Compact => "sums up the conversation so far; words behind it say what to keep",
        Command::Cancel => "withdraws requests that wait for a decision",
        Command::Approvals => "lists requests that wait for a decision",
        Command::Approve => "says yes to a request, as in /approve A1",
        Command::Deny => "says no to a request, as in /deny A1",
        Command::Grants => "lists what is allowed for longer; /grants revoke G1 takes it back",
        Command::Model => "says which model answers",
        Command::Memory => "shows what I remember between conversations",
        Command::Tasks => "lists the tasks of this project",
        Command::Id => "shows the ids of this conversation and of you",
    }
}

fn help() -> String {
    let mut text = "Just write what you need. Besides, there are these commands:".to_owned();
    for command in Command::ALL {
        text.push_str(&format!("\n- /{} {}", command.name(), of_command(command)));
    }
    text
}

fn status(status: &Status) -> String {
    let mut lines = vec![match (status.state, status.running) {
        (ThreadState::Idle, _) => "Idle: ready for your next message.".to_owned(),
        (ThreadState::Running, Some((seconds, step))) => {
            format!("Working for {}, step {step}.", duration(seconds))
        }
        (ThreadState::Running, None) => "Working.".to_owned(),
        (ThreadState::AwaitingApproval, _) => "Waiting for a decision.".to_owned(),
    }];
    if status.queued > 0 {
        lines.push(format!("Waiting messages: {}", status.queued));
    }
    if !status.model.is_empty() {
        lines.push(format!("Model: {}", status.model));
    }
    if status.undelivered > 0 {
        lines.push(format!("Replies on their way: {}", status.undelivered));
    }
    if status.held > 0 {
        let held = status.held;
        lines.push(format!(
            "Held back until somebody wrote here, because the platform takes no more replies to the last message: {held}. They \
             follow now, as far as it lets them."
        ));
    }
    if status.dead > 0 {
        let dead = status.dead;
        lines.push(format!(
            "Replies that could not be delivered: {dead} (the operator can see them in the log)"
        ));
    }
    lines.join("\n")
}

fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn resolved(approval: &Approval, by: Option<&str>) -> String {
    let number = approval.number;
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    let cut_off = approval.kind == ApprovalKind::UnknownOutcome;
    match &approval.state {
        ApprovalState::Pending => format!("{number} waits for a decision."),
        ApprovalState::Approved { .. } if cut_off => format!("{number} was approved to run again{by}."),
        ApprovalState::Spent { .. } if cut_off => format!("{number} was noted as done{by}."),
        ApprovalState::Denied { .. } if cut_off => format!("{number} was skipped{by}."),
        ApprovalState::Expired { .. } if cut_off => {
            format!("{number} expired without a decision and was not run again.")
        }
        ApprovalState::Approved { .. } | ApprovalState::Spent { .. } => format!("{number} was approved{by}."),
        ApprovalState::Denied { .. } => format!("{number} was denied{by}."),
        ApprovalState::Expired { .. } => format!("{number} expired without a decision and was not run."),
        ApprovalState::Cancelled { reason, .. } => format!("{number} was withdrawn: {reason}."),
    }
}

fn list(numbers: &[ApprovalNumber]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
