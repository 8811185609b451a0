//! Texts of attackers are never learned, and ordinary facts are.

use serde_json::{Value, json};

use super::*;
use crate::domain::{MessageId, Origin, ScopeKey};
use crate::uimessage::{Content, ModelMessage, UiMessage};

const POISON: &str = include_str!("../../tests/fixtures/memory_poison.jsonl");
const FACTS: &str = include_str!("../../tests/fixtures/memory_facts.jsonl");

fn cases(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn message(id: &str, role: &str, case: &Value, parts: Value) -> UiMessage {
    let mut metadata = json!({
        "platform": "web", "threadId": "web:chat:1", "timestamp": 5, "correlationId": "run_1",
    });
    if role == "user" {
        metadata["authorId"] = "web:user:1".into();
        metadata["authorName"] = case.get("name").cloned().unwrap_or_else(|| "Ann".into());
        for flag in ["command", "context"] {
            metadata[flag] = case.get(flag).cloned().unwrap_or(false.into());
        }
        for (key, value) in case["extra"].as_object().into_iter().flatten() {
            metadata[key] = value.clone();
        }
    }
    serde_json::from_value(json!({ "id": id, "role": role, "metadata": metadata, "parts": parts })).unwrap()
}

/// What a person said, and what the agent did about it.
fn conversation(case: &Value) -> Vec<UiMessage> {
    let said = message("u1", "user", case, json!([{ "type": "text", "text": case["text"] }]));
    let mut parts = vec![json!({ "type": "step-start" })];
    if let Some(output) = case["tool"].as_str() {
        parts.push(json!({ "type": "tool-read_page", "toolCallId": "c1", "state": "output-available",
            "input": { "query": "x" }, "output": output }));
    }
    parts.push(
        json!({ "type": "text", "text": format!("I found: {}", case["tool"].as_str().unwrap_or("nothing")) }),
    );
    vec![said, message("a1", "assistant", case, Value::Array(parts))]
}

/// What comes of a model that does what the attacker wants.
fn judged(case: &Value) -> Result<Accepted, Rejection> {
    let messages = conversation(case);
    let ids: Vec<MessageId> = match case["source"].as_str() {
        Some("agent") => vec!["a1".parse().unwrap()],
        Some("both") => vec!["u1".parse().unwrap(), "a1".parse().unwrap()],
        _ => vec!["u1".parse().unwrap()],
    };
    let candidate = Candidate { text: case["model"].as_str().unwrap().to_owned(), ids };
    let scope: Option<ScopeKey> = match case.get("scope") {
        None => Some("web:user:1".parse().unwrap()),
        Some(scope) => scope.as_str().map(|scope| scope.parse().unwrap()),
    };
    let origin = if case["trust"] == "guest" { Origin::Guest } else { Origin::Member };
    let speaker = Speaker { origin, scope };
    accept(&candidate, &messages, |_| speaker.clone(), |text| text.replace("hunter2-hunter2", "[redacted]"))
}

#[test]
fn nothing_of_the_poison_corpus_is_learned() {
    let cases = cases(POISON);
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let learned: Vec<String> =
        cases.iter().filter_map(|case| Some(format!("{}: {:?}", case["kind"], judged(case).ok()?))).collect();
    assert!(learned.is_empty(), "{} of {}:\n{}", learned.len(), cases.len(), learned.join("\n"));
}

#[test]
fn ordinary_facts_are_learned() {
    for case in cases(FACTS) {
        let accepted = judged(&case).unwrap_or_else(|why| panic!("{case}: {why:?}"));
        assert_eq!(accepted.text, case["model"].as_str().unwrap());
        let expected = if case["trust"] == "guest" { Origin::Guest } else { Origin::Member };
        assert_eq!(accepted.origin, expected, "{case}");
    }
}

#[test]
fn the_least_trusted_author_decides_and_different_scopes_are_not_mixed() {
    let case = json!({ "text": "I like tea and milk" });
    let one = message("u1", "user", &case, json!([{ "type": "text", "text": "I like tea" }]));
    let two = message("u2", "user", &case, json!([{ "type": "text", "text": "I like milk" }]));
    let candidate =
        Candidate { text: "They like tea and milk".into(), ids: vec![one.id.clone(), two.id.clone()] };
    let both = [one, two];
    let own: ScopeKey = "web:user:1".parse().unwrap();
    let of = |message: &UiMessage, trust, scope: &ScopeKey| {
        let (origin, scope) =
            if message.id.as_str() == "u1" { (Origin::Owner, &own) } else { (trust, scope) };
        Speaker { origin, scope: Some(scope.clone()) }
    };
    let accepted = |trust, scope: &ScopeKey| {
        accept(&candidate, &both, |message| of(message, trust, scope), str::to_owned).map(|one| one.origin)
    };
    assert_eq!(accepted(Origin::Member, &own), Ok(Origin::Member));
    assert_eq!(accepted(Origin::Guest, &own), Ok(Origin::Guest));
    assert_eq!(accepted(Origin::Owner, &ScopeKey::Main), Err(Rejection::NoScope));
}

#[test]
fn the_prompt_shows_only_peoples_own_words() {
    let mut messages = Vec::new();
    for case in cases(POISON) {
        messages.extend(conversation(&case));
    }
    let (prompt, named) = distil_prompt(&messages, Some("Keep names."), 100_000).unwrap();
    let [ModelMessage::User { content, .. }] = prompt.messages.as_slice() else { panic!("{prompt:?}") };
    let [Content::Text(shown)] = content.as_slice() else { panic!("{content:?}") };
    assert!(prompt.system.ends_with("The operator says about memory:\nKeep names."));
    for hidden in ["drop.example", "backdoor", "Fake Bank", "I found", "建行", "\u{200b}", "Terms of service"]
    {
        assert!(!shown.contains(hidden), "{hidden}");
    }
    assert_eq!(shown.matches("</messages>").count(), 1, "the frame cannot be closed");
    assert!(named.iter().all(|id| id.as_str() == "u1") && named.len() > 20, "{}", named.len());
    let (short, named) = distil_prompt(&messages, None, 300).unwrap();
    assert!(named.len() < 20 && !short.system.contains("operator says"));
    assert_eq!(distil_prompt(&[], None, 1000).map(|(_, named)| named), None);
}

#[test]
fn a_models_answer_is_read_however_it_is_wrapped_or_cut() {
    let named: Vec<MessageId> = ["m1", "m2", "m3"].map(|id| id.parse().unwrap()).to_vec();
    let item = r#"{"ids": [2], "text": "likes tea"}"#;
    let long = format!("[{}]", vec![item; 500].join(","));
    for (answer, found) in [
        (format!(r#"{{"memories": [{item}]}}"#), 1),
        (
            format!("Sure!\n```json\n{{\"memories\": [{item}, {{\"ids\": [\"3\"], \"text\": \"b\"}}]}}\n```"),
            2,
        ),
        (format!("[{item}]"), 1),
        (format!(r#"{{"memories": [{item}, {{"ids": [3], "text": "cut o"#), 1),
        (format!("I would keep {item} and nothing else."), 1),
        (long, 1),
        (
            r#"{"memories": [{"ids": [9], "text": "unknown"}, {"text": "none"}, {"ids": [], "text": "x"}]}"#
                .into(),
            0,
        ),
        (r#"{"memories": "none"}"#.into(), 0),
        ("I am sorry, I cannot do that.".into(), 0),
        (String::new(), 0),
        ("{".repeat(100_000), 0),
        ("记".repeat(50_000), 0),
    ] {
        let read = read_candidates(&answer, &named);
        assert_eq!(read.len(), found, "{}", answer.chars().take(80).collect::<String>());
        assert!(read.iter().all(|one| !one.ids.is_empty()));
    }
    let many: Vec<String> = (0..99).map(|n| format!(r#"{{"ids": [1], "text": "fact {n}"}}"#)).collect();
    assert_eq!(read_candidates(&format!("[{}]", many.join(",")), &named).len(), MOST_CANDIDATES);
}

#[test]
fn the_same_text_in_another_writing_is_the_same() {
    for (one, other, same) in [
        ("Likes tea.", "likes  TEA", true),
        ("喜欢茶。", "喜欢茶", true),
        ("likes tea", "likes teas today", false),
        ("🙂", "🙃", false),
    ] {
        assert_eq!(same_text(one, other), same, "{one} {other}");
    }
}
