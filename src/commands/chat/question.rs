//! Tracks the requests for approval of a thread, from its messages. Pure.

use std::collections::HashSet;

use serde_json::Value;

use crate::domain::{ApprovalKind, ApprovalNumber, CorrelationId, Language, MessageId, Risk};
use crate::phrases::approvals::replies;
use crate::uimessage::{ApprovalAsk, Part, RunStatus, ToolPart, ToolState, UiMessage};

/// A request for approval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShownQuestion {
    pub(super) id: String,
    pub(super) number: Option<ApprovalNumber>,
    pub(super) kind: ApprovalKind,
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) summary: String,
    pub(super) details: Option<String>,
    pub(super) risk: Option<Risk>,
    pub(super) expires_at: Option<String>,
    /// The run that waits for the answer.
    pub(super) run: CorrelationId,
    message: MessageId,
    call: String,
}

impl ShownQuestion {
    fn new(message: &UiMessage, tool: &ToolPart, input: &Value, ask: &ApprovalAsk) -> Self {
        let fact = |key: &str| ask.descriptor.as_ref().and_then(|descriptor| descriptor.get(key)).cloned();
        let text = |key: &str| fact(key).and_then(|value| value.as_str().map(str::to_owned));
        Self {
            id: ask.id.clone(),
            number: text("number").and_then(|number| ApprovalNumber::typed(&number)),
            kind: parsed(fact("kind")).unwrap_or(ApprovalKind::Tool),
            tool: tool.tool.name().to_owned(),
            input: input.clone(),
            summary: text("summary").unwrap_or_default(),
            details: text("details"),
            risk: parsed(fact("risk")),
            expires_at: text("expiresAt"),
            run: message.metadata.correlation_id.clone(),
            message: message.id.clone(),
            call: tool.call_id.as_str().to_owned(),
        }
    }

    /// Its number, or its id where the message has no number.
    pub(super) fn name(&self) -> String {
        self.number.map_or_else(|| self.id.clone(), |number| number.to_string())
    }

    /// The replies that decide it, the one that lets the call run first.
    pub(super) fn replies(&self, language: Language) -> Vec<String> {
        let name = self.name();
        replies(self.kind, language).iter().map(|word| format!("{word} {name}")).collect()
    }
}

fn parsed<T: serde::de::DeserializeOwned>(value: Option<Value>) -> Option<T> {
    serde_json::from_value(value?).ok()
}

/// A decided or withdrawn question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettledQuestion {
    pub(super) name: String,
    pub(super) run: CorrelationId,
    /// Whether the call may run, or was done before.
    pub(super) approved: bool,
    pub(super) reason: Option<String>,
}

/// One call of one message.
type CallOfMessage = (MessageId, String);

/// The open questions of the thread, and the calls beside them that have no outcome yet.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Vec<ShownQuestion>,
    unfinished: HashSet<CallOfMessage>,
    /// Calls that were asked about.
    asked: HashSet<CallOfMessage>,
    /// Ids of decided questions: a late, older version of a message does not open them again.
    decided: HashSet<String>,
    finished: HashSet<CallOfMessage>,
}

impl Questions {
    /// The questions that wait for a decision, in the order they were asked.
    pub(super) fn open(&self) -> &[ShownQuestion] {
        &self.open
    }

    /// Whether every call without an outcome waits for a decision.
    pub(super) fn hold_everything(&self) -> bool {
        !self.open.is_empty() && self.unfinished.is_empty()
    }

    /// Whether a person was asked about this call.
    pub(super) fn asked_about(&self, message: &MessageId, call: &str) -> bool {
        self.asked.contains(&(message.clone(), call.to_owned()))
    }

    /// Applies a version of a message; returns the questions that it settles.
    pub(super) fn update(&mut self, message: &UiMessage) -> Vec<SettledQuestion> {
        let mut settled = Vec::new();
        for part in &message.parts {
            if let Part::Tool(tool) = part {
                settled.extend(self.update_call(message, tool));
            }
        }
        if message.metadata.status.is_some_and(RunStatus::is_final) {
            let is_here = |question: &ShownQuestion| question.message == message.id;
            let (here, elsewhere) = std::mem::take(&mut self.open).into_iter().partition(is_here);
            self.open = elsewhere;
            for question in here {
                settled.push(question.settled(false, None));
                self.decided.insert(question.id);
            }
            self.unfinished.retain(|(known, _)| *known != message.id);
        }
        settled
    }

    fn update_call(&mut self, message: &UiMessage, tool: &ToolPart) -> Option<SettledQuestion> {
        let key = (message.id.clone(), tool.call_id.as_str().to_owned());
        match &tool.state {
            ToolState::ApprovalRequested { input, approval } => {
                self.unfinished.remove(&key);
                let known = self.open.iter().any(|question| question.id == approval.id);
                if !known && !self.decided.contains(&approval.id) {
                    self.asked.insert(key);
                    self.open.push(ShownQuestion::new(message, tool, input, approval));
                }
                None
            }
            ToolState::InputStreaming { .. } | ToolState::InputAvailable { .. } => {
                if !self.finished.contains(&key) {
                    self.unfinished.insert(key);
                }
                None
            }
            ToolState::ApprovalResponded { approval, .. } => {
                if !self.finished.contains(&key) {
                    self.unfinished.insert(key.clone());
                }
                self.settle(&key, approval.approved, approval.reason.clone())
            }
            ToolState::OutputAvailable { preliminary: Some(true), .. } => None,
            ToolState::OutputAvailable { .. } | ToolState::OutputError { .. } => {
                self.end_call(&key.0, &key.1);
                self.settle(&key, true, None)
            }
            ToolState::OutputDenied { approval, .. } => {
                self.end_call(&key.0, &key.1);
                self.settle(&key, false, approval.reason.clone())
            }
        }
    }

    fn settle(
        &mut self,
        (message, call): &CallOfMessage,
        approved: bool,
        reason: Option<String>,
    ) -> Option<SettledQuestion> {
        let is_it = |question: &ShownQuestion| (&question.message, &question.call) == (message, call);
        let at = self.open.iter().position(is_it)?;
        let question = self.open.remove(at);
        let settled = question.settled(approved, reason);
        self.decided.insert(question.id);
        Some(settled)
    }

    /// Records that a call has ended.
    pub(super) fn end_call(&mut self, message: &MessageId, call: &str) {
        let key = (message.clone(), call.to_owned());
        self.unfinished.remove(&key);
        self.finished.insert(key);
    }
}

impl ShownQuestion {
    fn settled(&self, approved: bool, reason: Option<String>) -> SettledQuestion {
        SettledQuestion { name: self.name(), run: self.run.clone(), approved, reason }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::commands::chat) fn call(id: &str, state: &str) -> Value {
        let mut part = json!({ "type": "tool-exec_shell", "toolCallId": id, "state": state,
            "input": { "command": "make x" } });
        match state {
            "approval-requested" => {
                let descriptor =
                    json!({ "number": "A1", "kind": "tool", "summary": "make x", "risk": "high" });
                part["approval"] = json!({ "id": format!("apr_{id}"), "descriptor": descriptor });
            }
            "approval-responded" => {
                part["approval"] = json!({ "id": format!("apr_{id}"), "approved": true });
            }
            "output-available" => part["output"] = json!({ "exitCode": 0, "stdout": "made\n", "stderr": "" }),
            "output-denied" => {
                part["approval"] = json!({ "id": format!("apr_{id}"), "approved": false, "reason": "no" });
            }
            _ => {}
        }
        part
    }

    fn message(status: &str, parts: Value) -> UiMessage {
        let metadata = json!({ "platform": "cli", "threadId": "cli:chat:t", "timestamp": 1,
            "correlationId": "run_1", "status": status });
        let message = json!({ "id": "m1", "role": "assistant", "metadata": metadata, "parts": parts });
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn a_question_is_open_from_its_request_to_its_answer_and_not_again() {
        let mut questions = Questions::default();
        let asking = message("running", json!([call("c1", "approval-requested")]));
        assert_eq!(questions.update(&asking), []);
        let [question] = questions.open() else { panic!("{questions:?}") };
        assert_eq!((question.name().as_str(), question.risk), ("A1", Some(Risk::High)));
        assert!(questions.hold_everything());
        let settled = questions.update(&message("running", json!([call("c1", "approval-responded")])));
        assert_eq!(
            settled.iter().map(|one| (one.name.as_str(), one.approved)).collect::<Vec<_>>(),
            [("A1", true)]
        );
        assert!(!questions.hold_everything());
        // An older state that comes late.
        assert_eq!(questions.update(&asking), []);
        assert_eq!(questions.open(), []);
    }

    #[test]
    fn a_call_beside_the_question_that_still_runs_is_waited_for() {
        let mut questions = Questions::default();
        let parts = json!([call("c1", "input-available"), call("c2", "approval-requested")]);
        questions.update(&message("running", parts));
        assert!(!questions.hold_everything());
        questions.end_call(&"m1".parse().unwrap(), "c1");
        assert!(questions.hold_everything());
        assert!(questions.asked_about(&"m1".parse().unwrap(), "c2"));
    }

    #[test]
    fn a_run_that_ended_asks_nothing_any_more() {
        let mut questions = Questions::default();
        let parts = json!([call("c1", "approval-requested")]);
        questions.update(&message("running", parts.clone()));
        assert_eq!(questions.update(&message("stopped", parts)).len(), 1);
        assert_eq!(questions.open(), []);
    }
}
