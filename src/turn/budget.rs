//! How much of a conversation fits into a model's window.
//!
//! Tokens are estimated, not counted: every server counts differently, and the error of the estimate is
//! mended by what the server itself reported last.

use crate::uimessage::{Content, ModelMessage};

/// Tokens every message costs beside its text.
const PER_MESSAGE: f64 = 4.0;
/// A picture, whatever its size.
const PER_IMAGE: f64 = 1000.0;
/// What stands in place of a tool result that no longer fits.
const OMITTED: &str = "[older tool output left out to fit the context window]";

/// An estimate of how many tokens a text is, on the safe side for both Latin and Chinese writing.
pub fn estimate_tokens(text: &str) -> usize {
    whole(weigh(text))
}

fn weigh(text: &str) -> f64 {
    // By far the most characters are ASCII, which can be counted many at a time.
    let words = text.bytes().filter(|byte| byte.is_ascii_alphabetic() || *byte == b' ').count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = if ascii < text.len() { text.chars().map(weigh_beyond_ascii).sum() } else { 0.0 };
    // Words of English are about four letters a token; code and digits are denser.
    number(words) * 0.24 + number(ascii - words) * 0.45 + others
}

fn weigh_beyond_ascii(c: char) -> f64 {
    match u32::from(c) {
        0x00..=0x7F => 0.0,
        // Chinese, Japanese and Korean: hardly ever more than one token a character.
        0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x2FA1F => 0.9,
        // Pictographs are written as several byte tokens.
        0x1F000..=0x1FAFF => 2.5,
        _ => 0.5,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn number(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn whole(weight: f64) -> usize {
    weight.ceil() as usize
}

fn cost(message: &ModelMessage) -> usize {
    let weight = match message {
        ModelMessage::System(text) | ModelMessage::Tool { content: text, .. } => weigh(text),
        ModelMessage::User { content, .. } => content
            .iter()
            .map(|part| match part {
                Content::Text(text) => weigh(text),
                Content::Image { .. } => PER_IMAGE,
                Content::File { url, .. } => weigh(url).min(PER_IMAGE),
            })
            .sum(),
        ModelMessage::Assistant { text, reasoning, tool_calls } => {
            let calls: f64 =
                tool_calls.iter().map(|call| weigh(&call.name) + weigh(&call.arguments) + PER_MESSAGE).sum();
            weigh(text) + weigh(reasoning) + calls
        }
    };
    whole(weight + PER_MESSAGE)
}

/// An estimate of how many tokens a conversation is.
pub(super) fn estimate_messages(messages: &[ModelMessage]) -> usize {
    messages.iter().map(cost).sum()
}

/// The newest part of a conversation that fits into `budget` tokens. It is cut only before something a person
/// said, so that no result loses its call; the last such stretch always stays, if need be with older tool
/// results left out.
pub fn fit(messages: Vec<ModelMessage>, budget: usize) -> Vec<ModelMessage> {
    let costs: Vec<usize> = messages.iter().map(cost).collect();
    if costs.iter().sum::<usize>() <= budget {
        return messages;
    }
    let is_user = |message: &ModelMessage| matches!(message, ModelMessage::User { .. });
    let mut cuts = messages.iter().enumerate().filter(|(at, message)| {
        // Only the first of several messages in a row may begin the tail: they were asked together.
        is_user(message) && !at.checked_sub(1).and_then(|before| messages.get(before)).is_some_and(is_user)
    });
    // What each message costs together with all behind it, summed once: there may be thousands.
    let mut suffixes: Vec<usize> = costs
        .iter()
        .rev()
        .scan(0, |sum, cost| {
            *sum += cost;
            Some(*sum)
        })
        .collect();
    suffixes.reverse();
    let suffix_cost = |from: usize| suffixes.get(from).copied().unwrap_or_default();
    let fitting = cuts.clone().map(|(at, _)| at).find(|at| suffix_cost(*at) <= budget);
    let start = fitting.or_else(|| cuts.next_back().map(|(at, _)| at)).unwrap_or(0);
    let mut tail: Vec<ModelMessage> = messages.into_iter().skip(start).collect();
    let mut excess = suffix_cost(start).saturating_sub(budget);
    for message in &mut tail {
        if excess == 0 {
            break;
        }
        let before = cost(message);
        if let ModelMessage::Tool { content, .. } = message
            && content.len() > OMITTED.len()
        {
            OMITTED.clone_into(content);
            excess = excess.saturating_sub(before.saturating_sub(cost(message)));
        }
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User { content: vec![Content::Text(text.to_owned())], name: None }
    }

    fn says(text: &str) -> ModelMessage {
        ModelMessage::Assistant { text: text.to_owned(), reasoning: String::new(), tool_calls: Vec::new() }
    }

    fn result(text: &str) -> ModelMessage {
        ModelMessage::Tool { call_id: "c".to_owned(), content: text.to_owned() }
    }

    /// The second number is what the o200k_base vocabulary gives.
    #[test]
    fn estimates_are_near_the_truth_and_rather_above_it() {
        for (text, real) in [
            ("The quick brown fox jumps over the lazy dog.", 10),
            ("Please summarise the architecture of this project and list its three biggest risks.", 15),
            ("你好，请帮我看一下这个项目的结构，然后告诉我哪里可以改进。", 18),
            ("会议定在周三下午三点，地点是上海办公室，请提前十分钟到场。", 20),
            ("fn main() { println!(\"{}\", 1 + 2); }", 13),
            ("{\"path\":\"src/main.rs\",\"startLine\":10,\"maxLines\":200}", 17),
            ("Привет, как дела? Посмотри, пожалуйста, на логи.", 16),
            ("👍🎉 done", 4),
        ] {
            let estimate = estimate_tokens(text);
            assert!(estimate >= real * 9 / 10 && estimate <= real * 9 / 5, "{text}: {estimate} for {real}");
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let all = vec![user("a"), says("b"), user("c")];
        assert_eq!(fit(all.clone(), 1000), all);
    }

    #[test]
    fn the_oldest_exchanges_go_first_and_whole() {
        let all = vec![user(&"旧".repeat(100)), says("old"), user("new"), user("newer"), says("reply")];
        assert_eq!(fit(all.clone(), 60), all[2..].to_vec());
    }

    #[test]
    fn the_current_question_stays_even_when_it_does_not_fit() {
        let all = vec![user("old"), says("old"), user(&"长".repeat(500))];
        assert_eq!(fit(all.clone(), 50), all[2..].to_vec());
    }

    #[test]
    fn older_tool_results_give_way_before_newer_ones() {
        let long = "x".repeat(4000);
        let all = vec![user("q"), says("1"), result(&long), says("2"), result(&long)];
        let fitted = fit(all, 1300);
        assert_eq!(fitted[2], result(OMITTED));
        assert_eq!(fitted[4], result(&long));
    }
}
