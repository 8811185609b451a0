//! Checks `.ship/threads/*.jsonl` line by line, independently of the program's own types.
//!
//! The rules are those of the UIMessage format, version 6, as its strictest readers apply them: no `null` for an absent
//! option, no key in a state that does not have it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};

/// Checks every thread file of a project and returns the folded messages of each, by file name.
pub(crate) fn check_project(project: &Path) -> BTreeMap<String, Vec<Value>> {
    let dir = project.join(".ship/threads");
    let Ok(entries) = std::fs::read_dir(&dir) else { return BTreeMap::new() };
    let mut threads = BTreeMap::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        threads.insert(name, check_file(&path));
    }
    threads
}

/// Checks one thread file; a partial last line, as a kill may leave it, is ignored.
pub(crate) fn check_file(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).unwrap();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut order: Vec<String> = Vec::new();
    let mut latest: BTreeMap<String, Value> = BTreeMap::new();
    for (number, line) in
        bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate()
    {
        let place = format!("{}:{}", path.display(), number + 1);
        let message: Value = serde_json::from_slice(line).unwrap_or_else(|error| panic!("{place}: {error}"));
        check_message(&message).unwrap_or_else(|fault| panic!("{place}: {fault}\n{message:#}"));
        let id = message["id"].as_str().unwrap().to_owned();
        if let Some(earlier) = latest.insert(id.clone(), message.clone()) {
            assert_eq!(earlier["role"], message["role"], "{place}: the role changed");
        } else {
            order.push(id);
        }
    }
    let messages: Vec<Value> = order.into_iter().filter_map(|id| latest.remove(&id)).collect();
    check_open_calls(&messages).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
    messages
}

type Checked = Result<(), String>;

fn check_message(message: &Value) -> Checked {
    let message = message.as_object().ok_or("not an object")?;
    only_keys(message, &["id", "role", "metadata", "parts"])?;
    text(message, "id").filter(|id| !id.is_empty()).ok_or("no id")?;
    let role = text(message, "role").ok_or("no role")?;
    let metadata = message.get("metadata").and_then(Value::as_object).ok_or("no metadata")?;
    let mut required = vec!["platform", "threadId", "correlationId"];
    match role {
        "user" => required.extend(["authorId", "messageId"]),
        "assistant" => {}
        other => return Err(format!("unexpected role {other}")),
    }
    for key in required {
        text(metadata, key).ok_or_else(|| format!("metadata.{key} is missing"))?;
    }
    metadata.get("timestamp").and_then(Value::as_i64).ok_or("metadata.timestamp is no integer")?;
    if let Some((key, _)) = metadata.iter().find(|(_, value)| value.is_null()) {
        return Err(format!("metadata.{key} is null"));
    }
    let parts = message.get("parts").and_then(Value::as_array).ok_or("no parts")?;
    if parts.is_empty() && role == "user" {
        return Err("a user message without parts".into());
    }
    let mut calls = BTreeSet::new();
    for part in parts {
        let part = part.as_object().ok_or("a part is no object")?;
        check_part(part, role)?;
        if let Some(call) = text(part, "toolCallId")
            && !calls.insert(call)
        {
            return Err(format!("call {call} stands twice"));
        }
    }
    Ok(())
}

fn check_part(part: &Map<String, Value>, role: &str) -> Checked {
    let kind = text(part, "type").ok_or("a part without a type")?;
    match kind {
        "text" | "reasoning" => {
            only_keys(part, &["type", "text", "state", "providerMetadata"])?;
            text(part, "text").ok_or("a text part without text")?;
            one_of(part, "state", &["streaming", "done"])
        }
        "file" => {
            only_keys(part, &["type", "mediaType", "url", "filename"])?;
            text(part, "mediaType").and(text(part, "url")).ok_or("a file part lacks a key")?;
            optional_text(part, "filename")
        }
        "step-start" => only_keys(part, &["type"]),
        kind if kind.starts_with("data-") && kind.len() > 5 => {
            only_keys(part, &["type", "data", "id"])?;
            part.get("data").map(|_| ()).ok_or_else(|| "a data part without data".into())
        }
        kind if kind.starts_with("tool-") && kind.len() > 5 && role == "assistant" => check_tool(part),
        other => Err(format!("unknown part {other} in a {role} message")),
    }
}

/// For each state: required and optional keys.
fn check_tool(part: &Map<String, Value>) -> Checked {
    text(part, "toolCallId").filter(|id| !id.is_empty()).ok_or("no toolCallId")?;
    let state = text(part, "state").ok_or("no state")?;
    let (required, optional): (&[&str], &[&str]) = match state {
        "input-streaming" => (&[], &["input", "rawInput"]),
        "input-available" => (&["input"], &[]),
        "approval-requested" | "approval-responded" | "output-denied" => (&["input", "approval"], &[]),
        "output-available" => (&["input", "output"], &["approval", "preliminary"]),
        "output-error" => (&["errorText"], &["input", "rawInput", "approval"]),
        other => return Err(format!("unknown state {other}")),
    };
    let always = ["type", "toolCallId", "state", "toolMetadata"];
    let allowed: Vec<&str> = always.iter().chain(required).chain(optional).copied().collect();
    only_keys(part, &allowed)?;
    for key in required {
        part.get(*key).ok_or_else(|| format!("{state} without {key}"))?;
    }
    if state == "output-error" && !part["errorText"].is_string() {
        return Err("errorText is no text".into());
    }
    let Some(approval) = part.get("approval") else { return Ok(()) };
    let approved = approval.get("approved").map(|approved| approved.as_bool());
    let right = match state {
        "approval-requested" => approved.is_none() && approval.get("reason").is_none(),
        "approval-responded" => matches!(approved, Some(Some(_))),
        "output-denied" => approved == Some(Some(false)),
        _ => approved == Some(Some(true)),
    };
    if right && approval["id"].is_string() {
        Ok(())
    } else {
        Err(format!("{state} with approval {approval}"))
    }
}

/// Only the last run may have an open call.
fn check_open_calls(messages: &[Value]) -> Checked {
    let last_run = messages.iter().rev().find(|message| message["metadata"]["status"] == "running");
    for message in messages {
        let settled = |part: &Value| {
            let state = part["state"].as_str().unwrap_or_default();
            part.get("toolCallId").is_none() || state.starts_with("output-")
        };
        let open = !message["parts"].as_array().unwrap().iter().all(settled);
        if open && Some(message) != last_run {
            return Err(format!("{} has an open call but is not running", message["id"]));
        }
    }
    Ok(())
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

fn optional_text(object: &Map<String, Value>, key: &str) -> Checked {
    match object.get(key) {
        None | Some(Value::String(_)) => Ok(()),
        Some(other) => Err(format!("{key} is {other}")),
    }
}

fn one_of(object: &Map<String, Value>, key: &str, choices: &[&str]) -> Checked {
    match object.get(key) {
        None => Ok(()),
        Some(Value::String(text)) if choices.contains(&text.as_str()) => Ok(()),
        Some(other) => Err(format!("{key} is {other}")),
    }
}

fn only_keys(object: &Map<String, Value>, allowed: &[&str]) -> Checked {
    match object.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => Err(format!("unexpected key {key}")),
        None => Ok(()),
    }
}
