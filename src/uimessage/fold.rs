//! Folds lines into messages: an id has the position of its first line and the content of its last.

use std::collections::HashMap;

use super::UiMessage;
use crate::domain::MessageId;

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
