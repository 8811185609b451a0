//! Joins the pieces of streamed tool calls. Pure.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::wire::{CallKey, CallPiece};
use crate::domain::ToolCallId;
use crate::ports::{CallDelta, Ids, ModelDelta, ToolCall};

/// The name of a call without a tool name. No tool has it, so the model gets an error.
const UNNAMED: &str = "unnamed";

/// The size of a call beside its text, so that empty calls are bounded too.
pub(crate) const CALL_COST: usize = 64;

/// The calls of one step so far.
#[derive(Debug)]
pub(crate) struct CallAssembler {
    ids: Arc<dyn Ids>,
    taken: HashSet<String>,
    calls: Vec<GrowingCall>,
    /// The size of all of them in bytes.
    size: usize,
}

#[derive(Debug)]
struct GrowingCall {
    key: CallKey,
    /// The server's id for it.
    given: Option<String>,
    /// Our id for it, set with its first delta.
    id: Option<ToolCallId>,
    name: String,
    arguments: String,
    /// How many bytes of the arguments were shown.
    shown: usize,
}

impl CallAssembler {
    /// No calls. `taken` are the ids that earlier steps have used.
    pub(crate) fn new(ids: Arc<dyn Ids>, taken: HashSet<String>) -> Self {
        Self { ids, taken, calls: Vec::new(), size: 0 }
    }

    /// The size of the calls in bytes.
    pub(crate) const fn size(&self) -> usize {
        self.size
    }

    /// Adds a piece of a call and returns its delta.
    pub(crate) fn feed(&mut self, piece: CallPiece) -> Option<ModelDelta> {
        if piece.id.is_none() && piece.name.is_none() && piece.arguments.is_empty() {
            return None;
        }
        let index = self.place_of(&piece);
        let call = self.calls.get_mut(index)?;
        if call.given.is_none() {
            call.given = piece.id;
            self.size += call.given.as_ref().map_or(0, String::len);
        }
        if call.name.is_empty() {
            call.name = piece.name.unwrap_or_default();
            self.size += call.name.len();
        }
        self.size += piece.arguments.len();
        call.arguments.push_str(&piece.arguments);
        self.show(index)
    }

    /// Ends the step: calls without a name are shown as well. In an answer that was `cut`, a call without arguments is
    /// incomplete: it must not be taken for a call that needs none.
    pub(crate) fn finish(mut self, cut: bool) -> (Vec<ModelDelta>, Vec<ToolCall>) {
        let mut deltas = Vec::new();
        for index in 0..self.calls.len() {
            if let Some(call) = self.calls.get_mut(index).filter(|call| call.name.is_empty()) {
                call.name = UNNAMED.to_owned();
                deltas.extend(self.show(index));
            }
        }
        let calls = self.calls.into_iter().filter_map(|call| {
            let arguments = match call.arguments {
                none if cut && none.trim().is_empty() => Err(none),
                raw => arguments_of(raw),
            };
            Some(ToolCall { id: call.id?, name: call.name, arguments })
        });
        (deltas, calls.collect())
    }

    /// The index of the call that a piece belongs to; a new one where it begins a call.
    fn place_of(&mut self, piece: &CallPiece) -> usize {
        let known = match piece.key {
            CallKey::Index(_) | CallKey::Legacy => self
                .calls
                .iter()
                .rposition(|call| call.key == piece.key)
                .filter(|at| !self.begins_anew(*at, piece)),
            CallKey::Missing => match &piece.id {
                Some(id) => self
                    .calls
                    .iter()
                    .rposition(|call| call.given.as_ref() == Some(id))
                    .filter(|at| !self.repeats(*at, piece)),
                // Without index and id, a name begins a call and anything else belongs to the last one.
                None if piece.name.is_some() => None,
                None => self.calls.len().checked_sub(1),
            },
        };
        known.unwrap_or_else(|| {
            self.size += CALL_COST;
            self.calls.push(GrowingCall {
                key: piece.key,
                given: None,
                id: None,
                name: String::new(),
                arguments: String::new(),
                shown: 0,
            });
            self.calls.len() - 1
        })
    }

    /// Some servers use index 0 for every call: another id and another name mean another call.
    fn begins_anew(&self, at: usize, piece: &CallPiece) -> bool {
        let (Some(call), Some(id)) = (self.calls.get(at), &piece.id) else { return false };
        piece.name.is_some() && call.given.as_ref().is_some_and(|given| given != id)
    }

    /// Some servers use the same id for every call: a name again, with new arguments after complete ones, means another
    /// call.
    fn repeats(&self, at: usize, piece: &CallPiece) -> bool {
        let whole = |call: &GrowingCall| serde_json::from_str::<Value>(&call.arguments).is_ok();
        piece.name.is_some() && !piece.arguments.is_empty() && self.calls.get(at).is_some_and(whole)
    }

    /// The delta of a call, once its tool is known.
    fn show(&mut self, index: usize) -> Option<ModelDelta> {
        let call = self.calls.get_mut(index).filter(|call| !call.name.is_empty())?;
        let first = call.id.is_none();
        let id = match &call.id {
            Some(id) => id.clone(),
            None => {
                let given = call.given.as_ref().filter(|given| !self.taken.contains(*given));
                let id = given.and_then(|given| given.parse().ok()).unwrap_or_else(|| self.ids.tool_call());
                self.taken.insert(id.as_str().to_owned());
                call.id.insert(id).clone()
            }
        };
        let arguments = call.arguments.get(call.shown..).unwrap_or_default().to_owned();
        call.shown = call.arguments.len();
        (first || !arguments.is_empty()).then(|| {
            let name = call.name.clone();
            ModelDelta::ToolInput(Box::new(CallDelta { index, id, name, arguments }))
        })
    }
}

/// An empty text means no arguments; JSON inside a JSON string is unwrapped.
fn arguments_of(raw: String) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(&raw) {
        Ok(Value::Null) => Ok(json!({})),
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(Value::Object(object)) => Ok(object.into()),
            _ => Err(raw),
        },
        Ok(value) => Ok(value),
        Err(_) => Err(raw),
    }
}
