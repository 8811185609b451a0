//! The texts of the offline model. Pure.

use serde_json::Value;

use crate::domain::Language;
use crate::phrases::adapters as words;

/// Longest excerpt of a result.
const EXCERPT_LINES: usize = 12;
const EXCERPT_CHARS: usize = 800;

/// The answer to a message without a command.
pub(crate) fn chat(message: &str, language: Language) -> String {
    let lower = message.trim().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let starts = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    if has(&[
        "who are you",
        "what are you",
        "help",
        "what can you do",
        "你是谁",
        "帮助",
        "你能做什么",
        "怎么用",
    ]) {
        return introduction(language);
    }
    if starts(&["thank", "thanks", "谢谢", "多谢"]) {
        return words::offline_welcome(language).to_owned();
    }
    if starts(&["bye", "goodbye", "再见"]) {
        return words::offline_goodbye(language).to_owned();
    }
    if starts(&["hi", "hello", "hey", "good morning", "你好", "您好", "嗨", "早上好"]) {
        return words::offline_hello(language).to_owned() + &introduction(language);
    }
    let quoted = first_line(message, 60);
    words::offline_heard(&quoted, language) + words::offline_hints(language)
}

/// What the model is, and what can be tried.
fn introduction(language: Language) -> String {
    words::offline_introduction(language).to_owned() + words::offline_hints(language)
}

/// The text before tool calls, and about missing tools.
pub(crate) fn before_calls(wanted: &[&str], missing: &[&str], language: Language) -> String {
    let mut sentences = Vec::new();
    if !wanted.is_empty() {
        sentences.push(words::offline_will_use(&listed(wanted), language));
    }
    if !missing.is_empty() {
        sentences.push(words::offline_lacks(&listed(missing), language));
    }
    sentences.join(words::offline_between_sentences(language))
}

/// The text about a tool's result: a sentence and an excerpt.
pub(crate) fn result(tool: &str, content: &str, language: Language) -> String {
    let text = readable(content);
    let count = text.lines().count();
    if count == 0 {
        return words::offline_no_result(tool, language);
    }
    format!("{}\n\n{}", words::offline_result(count, tool, language), fenced(&excerpt(&text)))
}

/// The text inside a result, where it is unambiguous; otherwise all of it.
fn readable(content: &str) -> String {
    let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(content) else {
        return content.trim_end().to_owned();
    };
    let inner = ["content", "stdout", "text", "output", "error"]
        .iter()
        .find_map(|key| value.get(*key).and_then(Value::as_str).filter(|text| !text.trim().is_empty()));
    match inner {
        Some(text) => text.trim_end().to_owned(),
        None => serde_json::to_string_pretty(&value).unwrap_or_else(|_| content.to_owned()),
    }
}

fn excerpt(text: &str) -> String {
    let head: String =
        text.lines().take(EXCERPT_LINES).collect::<Vec<_>>().join("\n").chars().take(EXCERPT_CHARS).collect();
    if head.len() < text.len() { format!("{head}\n…") } else { head }
}

/// A code fence longer than any inside.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{text}\n{fence}")
}

fn first_line(text: &str, limit: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let head: String = line.chars().take(limit).collect();
    if head.len() < line.len() { head + "…" } else { head }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_in_the_language_it_is_spoken_to() {
        for (message, expected) in [
            ("hello there", "Hello! I am the built-in offline model"),
            ("Who are you?", "I am the built-in offline model"),
            ("thanks!", "You are welcome."),
            ("write a poem", "You said: “write a poem”."),
            ("你好", "你好！我是内置的离线模型"),
            ("你是谁", "我是内置的离线模型"),
            ("谢谢", "不客气。"),
            ("写首诗", "你说的是：“写首诗”。"),
        ] {
            let answer = chat(message, Language::of(message));
            assert!(answer.starts_with(expected), "{message}: {answer}");
        }
    }

    #[test]
    fn a_result_is_a_sentence_and_a_short_excerpt() {
        let en = |content: &str| result("read_file", content, Language::En);
        assert_eq!(en("hi\n"), "read_file gave one line:\n\n```\nhi\n```");
        assert_eq!(
            en(r#"{"content":"a\nb","truncated":false}"#),
            "read_file gave 2 lines:\n\n```\na\nb\n```"
        );
        assert_eq!(en(""), "read_file gave nothing.");
        assert_eq!(en("```x```"), "read_file gave one line:\n\n````\n```x```\n````");
        assert!(en(&"line\n".repeat(500)).ends_with("line\n…\n```"));
        assert!(en(&"长".repeat(5000)).chars().count() < 900);
        assert_eq!(result("read_file", "x", Language::Zh), "read_file 返回了 1 行：\n\n```\nx\n```");
    }
}
