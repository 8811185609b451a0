//! Converts a prompt to the body of a chat-completions request. Pure.

use serde_json::{Map, Value, json};

use super::quirks::{Quirk, Quirks};
use super::{ModelSpec, file_part};
use crate::domain::ToolSpec;
use crate::ports::Prompt;
use crate::uimessage::{Content, ModelMessage, ModelToolCall};

/// `limit` is that of the answer's tokens.
pub(crate) fn body(spec: &ModelSpec, prompt: &Prompt, quirks: Quirks, limit: Option<u32>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(spec.model));
    body.insert("messages".into(), messages(spec, prompt, quirks).into());
    if !prompt.tools.is_empty() {
        body.insert("tools".into(), prompt.tools.iter().map(tool).collect::<Vec<_>>().into());
    }
    if let Some(limit) = limit {
        let key = if quirks.has(Quirk::CompletionTokens) { "max_completion_tokens" } else { "max_tokens" };
        body.insert(key.into(), limit.into());
    }
    if let Some(temperature) = spec.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    let stream = !quirks.has(Quirk::NoStream);
    body.insert("stream".into(), stream.into());
    if stream && !quirks.has(Quirk::NoStreamOptions) {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    body.into()
}

fn messages(spec: &ModelSpec, prompt: &Prompt, quirks: Quirks) -> Vec<Value> {
    let reasoning = if quirks.has(Quirk::WantsReasoning) {
        Reasoning::WithEveryCall
    } else if spec.send_reasoning && !quirks.has(Quirk::NoReasoning) {
        Reasoning::WhereThereIsSome
    } else {
        Reasoning::Never
    };
    let system = (!prompt.system.is_empty()).then(|| json!({ "role": "system", "content": prompt.system }));
    system
        .into_iter()
        .chain(prompt.messages.iter().map(|message| self::message(message, reasoning, quirks)))
        .collect()
}

/// Which of the assistant's messages include reasoning.
#[derive(Clone, Copy)]
enum Reasoning {
    Never,
    WhereThereIsSome,
    WithEveryCall,
}

fn message(message: &ModelMessage, with: Reasoning, quirks: Quirks) -> Value {
    match message {
        ModelMessage::System(text) => json!({ "role": "system", "content": text }),
        ModelMessage::User { content, name } => {
            let mut user = json!({ "role": "user", "content": user_content(content) });
            if !quirks.has(Quirk::NoName)
                && let Some(name) = name.as_deref().and_then(participant)
                && let Some(user) = user.as_object_mut()
            {
                user.insert("name".into(), name.into());
            }
            user
        }
        ModelMessage::Assistant { text, reasoning, tool_calls } => {
            let mut said = Map::new();
            said.insert("role".into(), "assistant".into());
            let silent = text.is_empty() && !tool_calls.is_empty();
            said.insert("content".into(), if silent { Value::Null } else { text.as_str().into() });
            let carries = match with {
                Reasoning::Never => false,
                Reasoning::WhereThereIsSome => !reasoning.is_empty(),
                Reasoning::WithEveryCall => !reasoning.is_empty() || !tool_calls.is_empty(),
            };
            if carries {
                said.insert("reasoning_content".into(), reasoning.as_str().into());
            }
            if !tool_calls.is_empty() {
                said.insert("tool_calls".into(), tool_calls.iter().map(tool_call).collect::<Vec<_>>().into());
            }
            said.into()
        }
        ModelMessage::Tool { call_id, content } => {
            json!({ "role": "tool", "tool_call_id": call_id, "content": content })
        }
    }
}

/// A single text stays a plain string: the oldest servers support nothing else.
fn user_content(content: &[Content]) -> Value {
    if let [Content::Text(text)] = content {
        return text.as_str().into();
    }
    let items = content.iter().filter(|item| !matches!(item, Content::Text(text) if text.is_empty()));
    items.map(content_item).collect::<Vec<_>>().into()
}

fn content_item(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Image { url } if is_fetchable(url) => {
            json!({ "type": "image_url", "image_url": { "url": url } })
        }
        Content::Image { url } => file_part::item("image", url, None),
        Content::File { media_type, url, name } => file_part::item(media_type, url, name.as_deref()),
    }
}

/// Whether a model server can fetch a URL.
fn is_fetchable(url: &str) -> bool {
    ["data:", "http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
}

/// A name in the characters that the field allows.
fn participant(name: &str) -> Option<String> {
    let forbidden =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '|' | '/' | '\\');
    let name: String = name.trim().chars().map(|c| if forbidden(c) { '_' } else { c }).take(64).collect();
    (!name.is_empty()).then_some(name)
}

fn tool_call(call: &ModelToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments },
    })
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::Effects;

    fn spec() -> ModelSpec {
        ModelSpec::new("http://host/v1", "some-model")
    }

    fn sent(messages: Vec<ModelMessage>) -> Value {
        body(&spec(), &Prompt { messages, ..Prompt::default() }, Quirks::default(), None)["messages"].clone()
    }

    fn user(content: Vec<Content>) -> ModelMessage {
        ModelMessage::User { content, name: None }
    }

    #[test]
    fn a_bare_prompt_asks_for_a_stream_with_usage_and_nothing_else() {
        let prompt = Prompt {
            system: "Be kind.".into(),
            messages: vec![user(vec![Content::Text("hi".into())])],
            tools: Arc::default(),
            ..Prompt::default()
        };
        assert_eq!(
            body(&spec(), &prompt, Quirks::default(), None),
            json!({
                "model": "some-model",
                "messages": [
                    { "role": "system", "content": "Be kind." },
                    { "role": "user", "content": "hi" },
                ],
                "stream": true,
                "stream_options": { "include_usage": true },
            })
        );
    }

    #[test]
    fn quirks_change_the_body_and_nothing_more() {
        let limited = ModelSpec { temperature: Some(0.5), ..spec() };
        for (quirk, expected) in [
            (
                None,
                json!({"max_tokens": 9, "temperature": 0.5, "stream": true, "stream_options": {"include_usage": true}}),
            ),
            (Some(Quirk::NoStreamOptions), json!({"max_tokens": 9, "temperature": 0.5, "stream": true})),
            (Some(Quirk::NoStream), json!({"max_tokens": 9, "temperature": 0.5, "stream": false})),
            (
                Some(Quirk::CompletionTokens),
                json!({"max_completion_tokens": 9, "temperature": 0.5, "stream": true, "stream_options": {"include_usage": true}}),
            ),
        ] {
            let quirks = quirk.map_or(Quirks::default(), |quirk| Quirks::default().with(quirk));
            let mut sent = body(&limited, &Prompt::default(), quirks, Some(9));
            let sent = sent.as_object_mut().unwrap();
            sent.remove("model");
            sent.remove("messages");
            assert_eq!(Value::from(sent.clone()), expected, "{quirks:?}");
        }
    }

    #[test]
    fn one_text_is_a_string_and_anything_else_a_list() {
        let text = |text: &str| Content::Text(text.into());
        let file = |url: &str, name: Option<&str>| Content::File {
            media_type: "application/pdf".into(),
            url: url.into(),
            name: name.map(Into::into),
        };
        for (content, expected) in [
            (vec![text("hi")], json!("hi")),
            (vec![text("")], json!("")),
            (
                vec![text("a"), text("b")],
                json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            ),
            (
                vec![text(""), Content::Image { url: "data:image/png;base64,AA==".into() }],
                json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]),
            ),
            (
                vec![Content::Image { url: "files/cat.png".into() }],
                json!([{"type": "text", "text": "[file: unnamed (image) at files/cat.png]"}]),
            ),
            (
                vec![file("files/a.pdf", Some("a.pdf")), file("data:application/pdf;base64,AAEC", None)],
                json!([
                    {"type": "text", "text": "[file: a.pdf (application/pdf) at files/a.pdf]"},
                    {"type": "file", "file":
                        {"filename": "document.pdf", "file_data": "data:application/pdf;base64,AAEC"}},
                ]),
            ),
        ] {
            let shown = format!("{content:?}");
            assert_eq!(sent(vec![user(content)])[0]["content"], expected, "{shown}");
        }
    }

    #[test]
    fn a_speaker_is_named_in_letters_the_field_may_have() {
        let named = |name: &str| {
            let user =
                ModelMessage::User { content: vec![Content::Text("x".into())], name: Some(name.into()) };
            sent(vec![user])[0].get("name").cloned()
        };
        assert_eq!(named("Ada Lovelace <a/b>"), Some(json!("Ada_Lovelace__a_b_")));
        assert_eq!(named("小明"), Some(json!("小明")));
        assert_eq!(named("  "), None);
    }

    #[test]
    fn the_models_own_words_calls_and_results_go_back_as_they_were() {
        let call =
            ModelToolCall { id: "c1".into(), name: "read_file".into(), arguments: "{\"path\":\"a\"}".into() };
        let history = |text: &str, reasoning: &str, calls: Vec<ModelToolCall>| ModelMessage::Assistant {
            text: text.into(),
            reasoning: reasoning.into(),
            tool_calls: calls,
        };
        let wire_call = json!({
            "id": "c1", "type": "function",
            "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"},
        });
        assert_eq!(
            sent(vec![
                history("", "hm", vec![call.clone()]),
                ModelMessage::Tool { call_id: "c1".into(), content: "text".into() },
                history("Look:", "", vec![call]),
                history("", "", vec![]),
            ]),
            json!([
                {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [wire_call]},
                {"role": "tool", "tool_call_id": "c1", "content": "text"},
                {"role": "assistant", "content": "Look:", "tool_calls": [wire_call]},
                {"role": "assistant", "content": ""},
            ])
        );
    }

    #[test]
    fn thinking_stays_home_when_told_to_or_when_the_server_refuses_it() {
        let messages =
            vec![ModelMessage::Assistant { text: "x".into(), reasoning: "hm".into(), tool_calls: vec![] }];
        let prompt = Prompt { messages, ..Prompt::default() };
        let quiet = ModelSpec { send_reasoning: false, ..spec() };
        let expected = json!([{"role": "assistant", "content": "x"}]);
        assert_eq!(body(&quiet, &prompt, Quirks::default(), None)["messages"], expected);
        let refused = Quirks::default().with(Quirk::NoReasoning);
        assert_eq!(body(&spec(), &prompt, refused, None)["messages"], expected);
    }

    #[test]
    fn a_server_that_wants_thinking_gets_it_with_every_call_be_it_empty() {
        let call = ModelToolCall { id: "c".into(), name: "f".into(), arguments: "{}".into() };
        let said =
            |tool_calls| ModelMessage::Assistant { text: "x".into(), reasoning: String::new(), tool_calls };
        let prompt = Prompt { messages: vec![said(vec![call]), said(vec![])], ..Prompt::default() };
        let body = body(&spec(), &prompt, Quirks::default().with(Quirk::WantsReasoning), None);
        let sent: Vec<_> = (0..2).map(|at| body["messages"][at].get("reasoning_content").cloned()).collect();
        assert_eq!(sent, [Some(json!("")), None]);
    }

    #[test]
    fn tools_are_functions_with_their_schema() {
        let tools = [ToolSpec {
            name: "read_file",
            description: "Reads.".into(),
            parameters: json!({"type": "object"}),
            effects: Effects::ReadOnly,
        }];
        let prompt = Prompt { tools: tools.into(), ..Prompt::default() };
        let body = body(&spec(), &prompt, Quirks::default(), None);
        assert_eq!(
            body["tools"],
            json!([{"type": "function", "function": {
                "name": "read_file", "description": "Reads.", "parameters": {"type": "object"}}}])
        );
    }
}
