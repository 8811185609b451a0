//! For any growth of a message and any speed of the client, the stream is valid and complete.

use proptest::prelude::*;
use serde_json::json;

use super::client::{Client, message};
use crate::uimessage::stream::Cursor;
use crate::uimessage::{Part, RunStatus, TextPart, ToolPart, ToolState};

/// A whole run: messages of steps of texts, each with how it is split into growth.
fn runs() -> impl Strategy<Value = Vec<Vec<(u8, String)>>> {
    let part = (0_u8..4, "[a-z你好🦀 ]{0,6}");
    prop::collection::vec(prop::collection::vec(part, 0..7), 1..4)
}

fn part_of(kind: u8, words: &str, index: usize, state: fn(String) -> TextPart) -> Part {
    match kind {
        0 => Part::StepStart,
        1 => Part::Text(state(words.to_owned())),
        2 => Part::Reasoning(state(words.to_owned())),
        _ => {
            let call = format!("call_{index}").parse().unwrap();
            let input = json!({ "words": words });
            Part::Tool(Box::new(ToolPart::new("t", call, ToolState::InputAvailable { input })))
        }
    }
}

proptest! {
    #[test]
    fn any_growth_gives_a_legal_stream_and_the_same_words(run in runs(), skip in prop::collection::vec(any::<bool>(), 1..9)) {
        let (mut cursor, mut client) = (Cursor::default(), Client::default());
        let mut skips = skip.iter().cycle();
        let mut expected: Vec<(&str, String)> = Vec::new();
        for (at, parts) in run.iter().enumerate() {
            let id = format!("m{at}");
            let mut done: Vec<Part> = vec![Part::StepStart];
            expected.push(("step", String::new()));
            for (index, (kind, words)) in parts.iter().enumerate() {
                let index = at * 100 + index;
                // The part grows character by character; a slow client misses some states.
                let ends = words.char_indices().map(|(start, c)| start + c.len_utf8());
                for end in std::iter::once(0).chain(ends).filter(|_| matches!(kind, 1 | 2)) {
                    let mut state = done.clone();
                    state.push(part_of(*kind, words.get(..end).unwrap(), index, TextPart::streaming));
                    if *skips.next().unwrap() {
                        let state = message(&id, state);
                        client.read(cursor.advance(&state));
                        prop_assert_eq!(cursor.advance(&state), []);
                    }
                }
                done.push(part_of(*kind, words, index, TextPart::done));
                match kind {
                    0 => expected.push(("step", String::new())),
                    1 => expected.push(("text", words.clone())),
                    2 => expected.push(("reasoning", words.clone())),
                    _ => {}
                }
            }
            let whole = message(&id, done);
            prop_assert!(at > 0 || cursor.fits(&whole));
            client.read(cursor.advance(&whole));
        }
        client.read(cursor.finish(Some(RunStatus::Done)));
        let got: Vec<(&str, String)> = client.parts.into_iter().map(|(kind, _, words)| (kind, words)).collect();
        prop_assert_eq!(got, expected);
        prop_assert!(client.ended);
    }
}
