//! Recognisers behind the chat protocol: one user message with the recording as `input_audio`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::transcription_server::read_answer;
use super::{Recogniser, Recording, SpeechServer, SttError, Transcript};
use crate::ports::BoxFuture;

/// Most bytes of an answer.
const MOST_ANSWER: usize = 1 << 20;

/// A model that hears, on `{base}/chat/completions`.
#[derive(Clone, Debug)]
pub struct ChatAudio {
    pub server: SpeechServer,
    /// ISO 639-1.
    pub language: Option<String>,
    /// What to do, or words to expect: the system message.
    pub prompt: Option<String>,
}

impl Recogniser for ChatAudio {
    fn model(&self) -> &str {
        &self.server.model
    }

    fn host(&self) -> &str {
        self.server.host()
    }

    fn hear<'a>(&'a self, recording: &'a Recording) -> BoxFuture<'a, Result<Transcript, SttError>> {
        Box::pin(async move {
            let request = self.server.post("/chat/completions").json(&self.body(recording));
            let answer = self.server.send(request, MOST_ANSWER).await;
            read_answer(&answer.map_err(|detail| SttError::Busy { detail, after: None })?, content)
        })
    }
}

impl ChatAudio {
    fn body(&self, recording: &Recording) -> Value {
        let media_type = recording.container.media_type();
        let data = format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(&recording.bytes));
        let heard = json!({ "type": "input_audio", "input_audio": { "data": data } });
        let mut messages = vec![json!({ "role": "user", "content": [heard] })];
        if let Some(prompt) = &self.prompt {
            messages.insert(0, json!({ "role": "system", "content": prompt }));
        }
        let mut body = json!({ "model": self.server.model, "messages": messages, "stream": false });
        if let (Some(language), Some(body)) = (&self.language, body.as_object_mut()) {
            body.insert("asr_options".to_owned(), json!({ "language": language }));
        }
        body
    }
}

/// The text of the first choice: one text, or a list of parts.
fn content(json: &Value) -> Option<Transcript> {
    let content = json.pointer("/choices/0/message/content")?;
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        Value::Null => String::new(),
        _ => return None,
    };
    Some(Transcript { text: text.trim().to_owned(), language: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_first_choice_are_the_transcript() {
        for (json, expected) in [
            (json!({ "choices": [{ "message": { "content": " hello " } }] }), Some("hello")),
            (
                json!({ "choices": [{ "message": { "content": [{ "text": "你" }, { "text": "好" }] } }] }),
                Some("你好"),
            ),
            (json!({ "choices": [{ "message": { "content": null } }] }), Some("")),
            (json!({ "choices": [] }), None),
            (json!({ "error": { "message": "x" } }), None),
        ] {
            assert_eq!(content(&json).map(|heard| heard.text).as_deref(), expected, "{json}");
        }
    }
}
