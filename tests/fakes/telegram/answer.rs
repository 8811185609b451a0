//! What the server says to a call: a result, or a refusal in its own words.

use serde_json::{Value, json};

use super::log::Deed;

/// A call that was carried out.
#[derive(Debug)]
pub(crate) struct Done {
    /// What the bot is told.
    pub(crate) result: Value,
    /// What happened in the world.
    pub(crate) deed: Deed,
}

/// What a method comes to.
pub(crate) type Answer = Result<Done, Refusal>;

/// A call that was not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    /// The status and the `error_code`.
    pub(crate) code: u16,
    /// The words.
    pub(crate) description: String,
    /// What the bot can act on.
    pub(crate) parameters: Option<Value>,
}

impl Refusal {
    /// Any refusal.
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

    /// A 404, as for a method nobody knows.
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

    /// A 400 that says where the group lives now.
    pub(crate) fn migrated(to: i64) -> Self {
        let parameters = Some(json!({ "migrate_to_chat_id": to }));
        Self { parameters, ..Self::bad("group chat was upgraded to a supergroup chat") }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({ "ok": false, "error_code": self.code, "description": self.description });
        if let Some(parameters) = &self.parameters {
            body["parameters"] = parameters.clone();
        }
        body
    }
}
