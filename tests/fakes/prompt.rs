//! The requirement of every provider for a prompt: each tool call has exactly one result, right after it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fake_model::Seen;

/// Checks every prompt of a model.
pub(crate) fn check_prompts(requests: &[Seen]) {
    for seen in requests {
        let messages = seen.body["messages"].as_array().expect("a prompt has messages");
        check(messages).unwrap_or_else(|fault| panic!("{fault}\n{:#}", seen.body["messages"]));
    }
}

fn check(messages: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().ok_or("a result without a call id")?;
            if !open.remove(id) {
                return Err(format!("the result of {id} stands where no call of it is open"));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!("calls without a result: {open:?}"));
        }
        for call in message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let id = call["id"].as_str().ok_or("a call without an id")?;
            if !known.insert(id) {
                return Err(format!("the call id {id} stands twice"));
            }
            open.insert(id);
            let arguments = call["function"]["arguments"].as_str().ok_or("a call without arguments")?;
            serde_json::from_str::<Value>(arguments).map_err(|_| format!("{id}: arguments are no JSON"))?;
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls without a result: {open:?}")) }
}
