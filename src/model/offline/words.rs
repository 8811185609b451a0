//! The texts of the offline model. Pure.

use serde_json::Value;

use crate::domain::Language;

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
        return said(language, "You are welcome.", "不客气。");
    }
    if starts(&["bye", "goodbye", "再见"]) {
        return said(language, "Goodbye.", "再见。");
    }
    if starts(&["hi", "hello", "hey", "good morning", "你好", "您好", "嗨", "早上好"]) {
        let hello = said(language, "Hello! ", "你好！");
        return hello + &introduction(language);
    }
    let quoted = first_line(message, 60);
    let heard = match language {
        Language::En => {
            format!("You said: “{quoted}”. I cannot think about it, for I am only the offline model. ")
        }
        Language::Zh => format!("你说的是：“{quoted}”。我只是离线模型，没法真正思考它。"),
    };
    heard + &hints(language)
}

/// What the model is, and what can be tried.
fn introduction(language: Language) -> String {
    let who = said(
        language,
        "I am the built-in offline model: no network, no key, the same answer every time. ",
        "我是内置的离线模型：不联网、不用密钥，回答固定。",
    );
    who + &hints(language)
}

fn hints(language: Language) -> String {
    said(
        language,
        "Try one of these:\n\n- `read: README.md`\n- `list: .`\n- `search: TODO`\n- `time`\n- `run: ls`\n\n\
         For real answers, set a model and its key in the settings.",
        "可以试试：\n\n- `读：README.md`\n- `列出：.`\n- `搜索：TODO`\n- `现在几点`\n- `运行：ls`\n\n\
         想要真正的回答，请在设置里配置模型和密钥。",
    )
}

/// The text before tool calls, and about missing tools.
pub(crate) fn before_calls(wanted: &[&str], missing: &[&str], language: Language) -> String {
    let mut sentences = Vec::new();
    if !wanted.is_empty() {
        sentences.push(match language {
            Language::En => format!("I will use {}.", listed(wanted)),
            Language::Zh => format!("我来调用 {}。", listed(wanted)),
        });
    }
    if !missing.is_empty() {
        sentences.push(match language {
            Language::En => format!("I was not given the tool {}, so I cannot do that.", listed(missing)),
            Language::Zh => format!("我没有 {} 这个工具，所以做不到。", listed(missing)),
        });
    }
    sentences.join(if language == Language::En { " " } else { "" })
}

/// The text about a tool's result: a sentence and an excerpt.
pub(crate) fn result(tool: &str, content: &str, language: Language) -> String {
    let text = readable(content);
    let count = text.lines().count();
    let sentence = match (language, count) {
        (Language::En, 0) => format!("{tool} gave nothing."),
        (Language::En, 1) => format!("{tool} gave one line:"),
        (Language::En, _) => format!("{tool} gave {count} lines:"),
        (Language::Zh, 0) => format!("{tool} 没有返回内容。"),
        (Language::Zh, _) => format!("{tool} 返回了 {count} 行："),
    };
    if count == 0 { sentence } else { format!("{sentence}\n\n{}", fenced(&excerpt(&text))) }
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

fn said(language: Language, en: &str, zh: &str) -> String {
    match language {
        Language::En => en.to_owned(),
        Language::Zh => zh.to_owned(),
    }
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
