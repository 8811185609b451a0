//! JSON Schemas of the values that are stored as a plain text or number, for the document of the HTTP API.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{
    ApprovalId, AuthorId, CorrelationId, GrantNumber, MessageId, Platform, ScopeKey, ThreadId, Timestamp,
    ToolCallId,
};

/// A schema that stands where the value is used: it has no name of its own in the document.
macro_rules! plain_schema {
    ($($type:ty, $kind:literal, $about:literal;)*) => {$(
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": $kind, "description": $about })
            }
        }
    )*};
}

plain_schema! {
    Platform, "string", "The short name of a platform, such as `web`.";
    ThreadId, "string", "A conversation: `platform:chat:id[:topic:id][:user:id]`.";
    AuthorId, "string", "A person: `platform:user:id`.";
    MessageId, "string", "A message, unique in its thread.";
    CorrelationId, "string", "A turn: the message that started it and all that came of it.";
    ToolCallId, "string", "A tool call.";
    ApprovalId, "string", "An approval.";
    GrantNumber, "string", "A grant, such as `G1`.";
    ScopeKey, "string", "A memory: `project`, `main`, `peer:name`, a person's id, or `group:` and a chat.";
    Timestamp, "integer", "Milliseconds since the epoch.";
}
