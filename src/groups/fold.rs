//! Folds the lines of a room's log into messages: one for each key, from any reporter.

use std::collections::HashMap;

use crate::domain::{LineKind, MessageId, RoomLine, Via};

/// The messages of a log, oldest first by the platform's time. The first report of a message keeps its place and time;
/// the report of the agent that sent it wins for text and author; the last edit wins for the text, and what is gone is
/// left out. Claims are no messages.
pub fn fold_lines(lines: Vec<RoomLine>) -> Vec<RoomLine> {
    let mut order: Vec<MessageId> = Vec::new();
    let mut known: HashMap<MessageId, RoomLine> = HashMap::new();
    let mut edits: HashMap<MessageId, RoomLine> = HashMap::new();
    let mut gone: Vec<MessageId> = Vec::new();
    for line in lines {
        match line.kind {
            LineKind::Claim => {}
            LineKind::Gone => gone.push(line.key),
            LineKind::Edited => {
                edits.insert(line.key.clone(), line);
            }
            LineKind::Said => match known.get_mut(&line.key) {
                None => {
                    order.push(line.key.clone());
                    known.insert(line.key.clone(), line);
                }
                Some(first) if line.via == Via::Outbound && first.via != Via::Outbound => {
                    let (at, reply_to) = (first.at, first.reply_to.take());
                    *first = RoomLine { at, reply_to: line.reply_to.clone().or(reply_to), ..line };
                }
                Some(_) => {}
            },
        }
    }
    let mut folded: Vec<RoomLine> = order
        .into_iter()
        .filter(|key| !gone.contains(key))
        .filter_map(|key| {
            let mut line = known.remove(&key)?;
            if let Some(edit) = edits.remove(&key) {
                line.text = edit.text;
                line.cut = edit.cut;
            }
            Some(line)
        })
        .collect();
    folded.sort_by_key(|line| line.at);
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::claims::tests::line;

    #[test]
    fn one_message_is_one_however_many_report_it() {
        let native = RoomLine { text: "as heard".to_owned(), ..line("k1", "a", 10) };
        let sent =
            RoomLine { text: "as sent".to_owned(), via: Via::Outbound, at: at(99), ..line("k1", "b", 10) };
        let edit =
            |text: &str| RoomLine { kind: LineKind::Edited, text: text.to_owned(), ..line("k2", "a", 30) };
        let gone = RoomLine { kind: LineKind::Gone, ..line("k3", "a", 40) };
        let claim = RoomLine { kind: LineKind::Claim, ..line("k9", "a", 40) };
        let folded = fold_lines(vec![
            line("k3", "a", 30),
            native.clone(),
            line("k2", "a", 5),
            sent.clone(),
            native,
            edit("first"),
            gone,
            edit("second"),
            claim,
        ]);
        let told: Vec<(&str, &str, i64)> =
            folded.iter().map(|line| (line.key.as_str(), line.text.as_str(), line.at.as_millis())).collect();
        assert_eq!(told, [("k2", "second", 5), ("k1", "as sent", 10)]);
        assert_eq!(folded[1].by, "b");
        assert_eq!(fold_lines(vec![sent.clone(), line("k1", "a", 10)])[0], sent);
    }

    fn at(millis: i64) -> crate::domain::Timestamp {
        crate::domain::Timestamp::from_millis(millis)
    }
}
