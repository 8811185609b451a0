//! The server's response to a call: a result, or an error with the real server's description.

use serde_json::{Value, json};

use super::log::Deed;

#[derive(Debug)]
pub(crate) struct Done {
    /// The result for the bot.
    pub(crate) result: Value,
    pub(crate) deed: Deed,
}

/// The response of a method.
pub(crate) type Answer = Result<Done, Refusal>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// The HTTP status and the `error_code`.
    pub(crate) code: u16,
    pub(crate) description: String,
    pub(crate) parameters: Option<Value>,
}

impl Refusal {
    pub(crate) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None }
    }

    /// A 400.
    pub(crate) fn bad(description: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", description.as_ref()))
    }

    /// A 403.
    pub(crate) fn forbidden(description: &str) -> Self {
        Self::new(403, format!("Forbidden: {description}"))
    }

    /// A 404, as for an unknown method.
    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    /// A 409.
    pub(crate) fn conflict(description: &str) -> Self {
        Self::new(409, format!("Conflict: {description}"))
    }

    /// A 429.
    pub(crate) fn too_many(retry_after: u64) -> Self {
        let parameters = Some(json!({ "retry_after": retry_after }));
        Self { parameters, ..Self::new(429, format!("Too Many Requests: retry after {retry_after}")) }
    }

    /// A 400 with the new id of a migrated group.
    pub(crate) fn migrated(to: i64) -> Self {
        let parameters = Some(json!({ "migrate_to_chat_id": to }));
        Self { parameters, ..Self::bad("group chat was upgraded to a supergroup chat") }
    }

    /// The body of the response.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(parameters) = &self.parameters {
            body["parameters"] = parameters.clone();
        }
        body
    }
}
