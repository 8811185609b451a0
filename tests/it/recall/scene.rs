//! A model that searches when it is told to, and what it found.

use serde_json::{Value, json};

use crate::fakes::fake_model::{Reply, Seen, words_of};

/// What the newest message of a person says.
pub(crate) fn asked(seen: &Seen) -> Option<String> {
    let messages = seen.body["messages"].as_array()?;
    let last = messages.last().filter(|message| message["role"] == "user")?;
    Some(words_of(last).to_owned())
}

/// Answers `find X` with a search for X, `list X` with a listing of messages with X, `list` with one of the newest, and
/// anything else with words.
pub(crate) fn reply(seen: &Seen) -> Reply {
    match asked(seen) {
        Some(text) if text.starts_with("find ") => {
            Reply::calls([("memory_search", json!({ "query": text.trim_start_matches("find ") }))])
        }
        Some(text) if text.starts_with("list ") => {
            Reply::calls([("chat_load_history", json!({ "keyword": text.trim_start_matches("list ") }))])
        }
        Some(text) if text == "list" => Reply::calls([("chat_load_history", json!({ "limit": 100 }))]),
        _ => Reply::text("Very well."),
    }
}

/// The result of the newest tool call.
pub(crate) fn result(requests: &[Seen]) -> Value {
    // A conversation that rests may have been summed up since.
    let newest = |seen: &Seen| seen.body["messages"].as_array().unwrap().last().unwrap().clone();
    let last = requests.iter().rev().map(newest).find(|message| message["role"] == "tool").unwrap();
    serde_json::from_str(last["content"].as_str().unwrap()).unwrap()
}

/// The texts of the results, best first.
pub(crate) fn texts(result: &Value) -> Vec<String> {
    let results = result["results"].as_array().or(result["messages"].as_array());
    let results = results.unwrap_or_else(|| panic!("{result}"));
    results.iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}
