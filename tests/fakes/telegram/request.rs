//! A received call: its method and parameters, in any form that the server accepts.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::answer::Refusal;

/// A file in a multipart body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) mime: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// The parameters of a call. Strings and JSON values are equivalent, as on the real server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    values: Map<String, Value>,
    files: BTreeMap<String, Upload>,
}

impl Params {
    /// Parses the query and the body.
    pub(crate) fn read(query: &str, headers: &HeaderMap, body: &[u8]) -> Result<Self, Refusal> {
        let mut params = Self::default();
        params.add_form(query);
        let content_type =
            headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            _ if body.is_empty() => {}
            "application/json" => match serde_json::from_slice(body) {
                Ok(Value::Object(object)) => params.values.extend(object),
                _ => return Err(Refusal::bad("can't parse JSON object")),
            },
            "multipart/form-data" => {
                let boundary =
                    content_type.split("boundary=").nth(1).map(|boundary| boundary.trim_matches('"'));
                let boundary = boundary.ok_or_else(|| Refusal::bad("boundary is missing"))?;
                params.add_multipart(body, boundary)?;
            }
            "application/x-www-form-urlencoded" => params.add_form(&String::from_utf8_lossy(body)),
            _ => return Err(Refusal::bad("unsupported content type")),
        }
        Ok(params)
    }

    /// Parameters from one JSON object, such as a method in the response to a webhook.
    pub(crate) fn from_object(values: Map<String, Value>) -> Self {
        Self { values, files: BTreeMap::new() }
    }

    fn add_form(&mut self, form: &str) {
        for pair in form.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode =
                |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
            self.values.insert(decode(name), json!(decode(value)));
        }
    }

    fn add_multipart(&mut self, body: &[u8], boundary: &str) -> Result<(), Refusal> {
        let fence = format!("--{boundary}");
        let mut rest = body;
        while let Some(at) = find(rest, fence.as_bytes()) {
            rest = &rest[at + fence.len()..];
            if rest.starts_with(b"--") {
                return Ok(());
            }
            let head = find(rest, b"\r\n\r\n").ok_or_else(|| Refusal::bad("broken multipart part"))?;
            let headers = String::from_utf8_lossy(&rest[..head]).into_owned();
            rest = &rest[head + 4..];
            let end = find(rest, format!("\r\n{fence}").as_bytes());
            let end = end.ok_or_else(|| Refusal::bad("unclosed multipart part"))?;
            self.add_part(&headers, rest[..end].to_vec());
        }
        Err(Refusal::bad("unclosed multipart body"))
    }

    fn add_part(&mut self, headers: &str, bytes: Vec<u8>) {
        let quoted = |key: &str| {
            let start = headers.split(&format!("{key}=\"")).nth(1)?;
            Some(start.split('"').next()?.to_owned())
        };
        let name = quoted(" name").unwrap_or_default();
        let mime = headers.lines().find_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case("content-type").then(|| value.trim().to_owned())
        });
        match quoted("filename") {
            Some(file) => drop(self.files.insert(name, Upload { name: file, mime, bytes })),
            None => drop(self.values.insert(name, json!(String::from_utf8_lossy(&bytes)))),
        }
    }

    /// A parameter; `null` counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// A parameter as text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// A parameter as a whole number.
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        let value = self.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// A boolean parameter; false if absent.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "1"))
    }

    /// A parameter that is an object or a list, or its JSON text.
    pub(crate) fn json(&self, name: &str) -> Result<Option<Value>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text)
                .map(Some)
                .map_err(|_| Refusal::bad(format!("can't parse {name} JSON object"))),
            Some(value) => Ok(Some(value.clone())),
        }
    }

    /// A file of the body.
    pub(crate) fn file(&self, name: &str) -> Option<&Upload> {
        self.files.get(name)
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
