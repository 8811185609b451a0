//! Lines to messages: the position of an id is that of its first line, its content that of its last.

use std::collections::HashMap;

use super::UiMessage;
use crate::domain::MessageId;

/// Folds the lines of a thread file, oldest first, into the messages they tell of.
pub fn fold(lines: impl IntoIterator<Item = UiMessage>) -> Vec<UiMessage> {
    let mut positions: HashMap<MessageId, usize> = HashMap::new();
    let mut messages: Vec<UiMessage> = Vec::new();
    for line in lines {
        let known = positions.get(&line.id).copied().and_then(|at| messages.get_mut(at));
        match known {
            // A line may supersede what a message says, never who says it.
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
