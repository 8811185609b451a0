//! One operation of the HTTP API: its method and address, what it takes and gives, and the handler that serves it.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::chat::MAX_CHAT_BODY;
use super::server::Web;

/// What a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The token or a session. A page of an allowed origin may call it.
    Credential,
    /// Its own proof in the request: the login, and signed links.
    OwnProof,
    /// Nothing; any host name is served.
    Open,
}

/// A type in the document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) name: fn() -> Cow<'static, str>,
    request: fn() -> Value,
    answer: fn() -> Value,
}

impl Shape {
    pub(super) fn of<T: JsonSchema>() -> Self {
        Self {
            name: T::schema_name,
            request: || plain().into_generator().into_root_schema_for::<T>().to_value(),
            answer: || plain().for_serialize().into_generator().into_root_schema_for::<T>().to_value(),
        }
    }

    /// The schema of what a client sends.
    pub(super) fn request(self) -> Value {
        (self.request)()
    }

    /// The schema of what a client gets.
    pub(super) fn answer(self) -> Value {
        (self.answer)()
    }

    /// The names of its fields.
    pub(super) fn keys(self) -> Vec<String> {
        let schema = self.request();
        let fields = schema.get("properties").and_then(Value::as_object);
        fields.map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    }
}

/// Schemas of OpenAPI 3.1, without references inside.
fn plain() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    })
}

/// The body of a successful response.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Json(Shape),
    /// Server-sent events.
    Events,
    File,
    Text,
    Empty,
}

/// One method of one address.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// One sentence for the document.
    pub(super) about: &'static str,
    pub(super) access: Access,
    /// The struct that the query is read into.
    pub(super) query: Option<Shape>,
    pub(super) body: Option<Shape>,
    pub(super) status: u16,
    pub(super) content: Content,
    /// Whether it may also answer 204.
    pub(super) may_be_empty: bool,
    /// Whether it reads the header `Idempotency-Key`.
    pub(super) idempotent: bool,
    pub(super) serve: MethodRouter<Arc<Web>>,
}

impl Operation {
    fn new(method: Method, path: &'static str, serve: MethodRouter<Arc<Web>>) -> Self {
        let access = if path.starts_with("/api/") { Access::Credential } else { Access::Open };
        Self {
            method,
            path,
            about: "",
            access,
            query: None,
            body: None,
            status: 200,
            content: Content::Empty,
            may_be_empty: false,
            idempotent: false,
            serve,
        }
    }

    pub(super) fn get<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<Web>>) -> Self {
        Self::new(Method::GET, path, get(handler))
    }

    pub(super) fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<Web>>) -> Self {
        Self::new(Method::POST, path, post(handler))
    }

    pub(super) fn put<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<Web>>) -> Self {
        Self::new(Method::PUT, path, put(handler))
    }

    pub(super) fn patch<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<Web>>) -> Self {
        Self::new(Method::PATCH, path, patch(handler))
    }

    pub(super) fn delete<T: 'static>(path: &'static str, handler: impl Handler<T, Arc<Web>>) -> Self {
        Self::new(Method::DELETE, path, delete(handler))
    }

    pub(super) const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    pub(super) const fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(Shape::of::<T>());
        self
    }

    pub(super) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Shape::of::<T>());
        self
    }

    /// Takes bodies as long as whole conversations.
    pub(super) fn takes_long<T: JsonSchema>(mut self) -> Self {
        self.serve = self.serve.layer(DefaultBodyLimit::max(MAX_CHAT_BODY));
        self.takes::<T>()
    }

    pub(super) fn answers<T: JsonSchema>(self) -> Self {
        self.gives(Content::Json(Shape::of::<T>()))
    }

    pub(super) const fn gives(mut self, content: Content) -> Self {
        self.content = content;
        self
    }

    pub(super) const fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(super) const fn or_empty(mut self) -> Self {
        self.may_be_empty = true;
        self
    }

    pub(super) const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }
}
