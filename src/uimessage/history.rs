//! A history from the lines of a thread file: one message for each id, and the runs that are unfinished.

use std::collections::{HashMap, HashSet};

use super::{Role, RunStatus, UiMessage};
use crate::domain::{CorrelationId, MessageId};

/// Folds the lines of a thread file, oldest first, into messages.
pub fn fold(lines: impl IntoIterator<Item = UiMessage>) -> Vec<UiMessage> {
    let mut positions: HashMap<MessageId, usize> = HashMap::new();
    let mut messages: Vec<UiMessage> = Vec::new();
    for line in lines {
        let known = positions.get(&line.id).copied().and_then(|at| messages.get_mut(at));
        match known {
            // A line may replace a message's content, never its role.
            Some(slot) if slot.role == line.role => *slot = line,
            Some(_) => {}
            None => {
                positions.insert(line.id.clone(), messages.len());
                messages.push(line);
            }
        }
    }
    messages
}

/// The unfinished runs, oldest first. One final message ends a run, at any position: a message that joined a run which
/// a person then stopped is stopped with it.
pub fn unfinished_runs(history: &[UiMessage]) -> Vec<CorrelationId> {
    let ended = ended_runs(history);
    let mut open: Vec<CorrelationId> = Vec::new();
    for message in
        history.iter().filter(|m| m.role != Role::System && !m.metadata.context && !m.metadata.command)
    {
        let correlation = &message.metadata.correlation_id;
        if !ended.contains(correlation) && !open.contains(correlation) {
            open.push(correlation.clone());
        }
    }
    open
}

/// Whether a tail reaches back to the first message of every unfinished run. Runs start and end in the order of their
/// questions: all unanswered messages are after an answered one.
pub fn holds_all_unfinished(tail: &[UiMessage]) -> bool {
    let ended = ended_runs(tail);
    let is_ended = |message: &UiMessage| ended.contains(&message.metadata.correlation_id);
    let mut spoken =
        tail.iter().filter(|m| m.role != Role::System && !m.metadata.context && !m.metadata.command);
    spoken.find(|message| message.role == Role::User || !is_ended(message)).is_some_and(is_ended)
}

fn ended_runs(history: &[UiMessage]) -> HashSet<&CorrelationId> {
    // A message without a status was written by another program; it was not interrupted.
    let is_final =
        |m: &&UiMessage| m.role == Role::Assistant && m.metadata.status.is_none_or(RunStatus::is_final);
    history.iter().filter(is_final).map(|m| &m.metadata.correlation_id).collect()
}
