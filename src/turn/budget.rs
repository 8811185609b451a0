//! Fits a conversation into a model's context window.
//!
//! Tokens are estimated, not counted: every server counts differently, and the estimate is corrected by the usage that
//! the server reported last.

use crate::domain::tokens::{estimate_tokens, number, weigh, whole};
use crate::uimessage::{Content, ModelMessage};

/// Tokens per message beside its text.
const PER_MESSAGE: f64 = 4.0;
/// Tokens per picture, of any size.
const PER_IMAGE: f64 = 1000.0;
/// Replaces a tool result that no longer fits.
const OMITTED: &str = "[older tool output left out to fit the context window]";

/// Marks the place where a text was cut.
const CUT: &str = "\n[… left out here: the message is too long for this model …]\n";
/// The smallest window that a model can have.
const SMALLEST_WINDOW: usize = 512;
/// Fewest tokens of a message that are kept, however small the window.
const MIN_KEPT: usize = 200;

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

/// An estimate of a conversation's tokens.
pub(super) fn estimate_messages(messages: &[ModelMessage]) -> usize {
    messages.iter().map(cost).sum()
}

/// The newest runs of a conversation that fit into `budget` tokens, as one list. Runs stay whole, so that no result
/// loses its call. The last run is always kept; if it is too long, its older tool results are omitted and, if that is
/// not enough, the longest text of a person is cut in the middle, because an answer to most of it is better than a
/// thread that can never be answered again.
///
/// The start moves by a quarter of the budget at a time: a start that moves with each turn would invalidate the
/// provider's prompt cache.
pub fn fit(mut runs: Vec<Vec<ModelMessage>>, budget: usize) -> Vec<ModelMessage> {
    let start = start_of_tail(&runs, budget);
    let mut tail: Vec<ModelMessage> = runs.drain(start..).flatten().collect();
    let mut excess = estimate_messages(&tail).saturating_sub(budget);
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
    if excess > 0 {
        shorten_longest(&mut tail, excess);
    }
    tail
}

/// The index of the first run that fits. Steps are counted from the oldest run, so that the next turn finds the same
/// start.
fn start_of_tail(runs: &[Vec<ModelMessage>], budget: usize) -> usize {
    let costs: Vec<usize> = runs.iter().map(|run| estimate_messages(run)).collect();
    let excess = costs.iter().sum::<usize>().saturating_sub(budget);
    let step = (budget / 4).max(1);
    let dropped = excess.div_ceil(step) * step;
    let mut passed = 0;
    let start = costs.iter().position(|cost| {
        let found = passed >= dropped;
        passed += cost;
        found
    });
    start.unwrap_or(runs.len()).min(runs.len().saturating_sub(1))
}

/// Cuts about this many tokens out of the middle of the longest text of a person.
fn shorten_longest(messages: &mut [ModelMessage], excess: usize) {
    let texts = messages.iter_mut().filter_map(|message| match message {
        ModelMessage::User { content, .. } => Some(content),
        _ => None,
    });
    let texts = texts.flatten().filter_map(|content| match content {
        Content::Text(text) => Some(text),
        Content::Image { .. } | Content::File { .. } => None,
    });
    let Some(text) = texts.max_by_key(|text| text.len()) else { return };
    let tokens = estimate_tokens(text).max(1);
    let keep = tokens.saturating_sub(excess + estimate_tokens(CUT)).max(MIN_KEPT);
    if keep >= tokens {
        return;
    }
    let characters = text.chars().count();
    let share = whole(number(characters) * number(keep) / number(tokens));
    let (head, tail) = (share * 2 / 3, share / 3);
    let beginning: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(characters.saturating_sub(tail)).collect();
    *text = format!("{beginning}{CUT}{end}");
}

/// The size of the window that a provider names when it finds a prompt too long: the smallest count of tokens in its
/// words, since the other one is that of the prompt.
pub fn stated_limit(words: &str) -> Option<usize> {
    let mut smallest: Option<usize> = None;
    let mut before = "";
    for word in words.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).replace([',', '_'], "");
        let number =
            bare.parse::<usize>().ok().filter(|number| *number >= SMALLEST_WINDOW && before != "status");
        smallest = smallest.into_iter().chain(number).min();
        before = word;
    }
    smallest
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

    /// The second number is the count by the o200k_base vocabulary.
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
    fn the_window_is_read_from_what_providers_say() {
        for (words, limit) in [
            (
                "m: status 400: This model's maximum context length is 8192 tokens. However, you requested 9001 tokens",
                Some(8192),
            ),
            ("gpt-4-0613: status 413: prompt is too long: 210,000 tokens > 200,000 maximum", Some(200_000)),
            ("the request (5000 tokens) exceeds the available context size (4096 tokens)", Some(4096)),
            ("Range of input length should be [1, 30720]", Some(30_720)),
            ("m: status 400: context_length_exceeded", None),
        ] {
            assert_eq!(stated_limit(words), limit, "{words}");
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let all = vec![vec![user("a"), says("b")], vec![user("c")]];
        assert_eq!(fit(all.clone(), 1000), all.concat());
    }

    #[test]
    fn the_oldest_runs_go_first_and_whole() {
        let old = vec![user(&"旧".repeat(100)), says("old")];
        let new = vec![user("new"), user("newer"), says("reply")];
        assert_eq!(fit(vec![old, new.clone()], 60), new);
    }

    /// A question that failed is right before the next one and must not be kept with it for ever.
    #[test]
    fn a_question_that_failed_does_not_weigh_on_the_next() {
        let failed = vec![user(&"x".repeat(200_000))];
        let next = vec![user("tiny")];
        assert_eq!(fit(vec![failed, next.clone()], 500), next);
    }

    #[test]
    fn a_question_that_does_not_fit_is_cut_in_its_middle() {
        let long = format!("BEGIN {} END", "word ".repeat(50_000));
        let fitted = fit(vec![vec![user("old")], vec![user(&long)]], 2000);
        let [ModelMessage::User { content, .. }] = fitted.as_slice() else { panic!("{}", fitted.len()) };
        let Content::Text(text) = &content[0] else { panic!("no text") };
        assert!(text.starts_with("BEGIN") && text.ends_with("END") && text.contains(CUT));
        let tokens = estimate_tokens(text);
        assert!((1500..=2000).contains(&tokens), "{tokens}");
    }

    #[test]
    fn the_start_of_what_fits_stays_for_many_turns() {
        let run = |number: usize| {
            vec![user(&format!("question {number:03} {}", "word ".repeat(40))), says("reply")]
        };
        let mut starts = Vec::new();
        for turns in 40..80 {
            let fitted = fit((0..turns).map(run).collect(), 1000);
            assert!(estimate_messages(&fitted) <= 1000);
            starts.push(fitted[0].clone());
        }
        starts.dedup();
        assert!(starts.len() <= 12, "the start moved {} times in 40 turns", starts.len());
    }

    #[test]
    fn older_tool_results_give_way_before_newer_ones() {
        let long = "x".repeat(4000);
        let run = vec![user("q"), says("1"), result(&long), says("2"), result(&long)];
        let fitted = fit(vec![run], 1300);
        assert_eq!(fitted[2], result(OMITTED));
        assert_eq!(fitted[4], result(&long));
    }
}
