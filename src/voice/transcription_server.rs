//! `POST {base}/audio/transcriptions` of OpenAI and of the many servers that copy it.

use reqwest::multipart::{Form, Part};
use serde_json::Value;

use super::server::{Answer, error_text};
use super::{Recogniser, Recording, SpeechServer, SttError, Transcript};
use crate::ports::BoxFuture;

/// Most bytes of a transcript with its extras.
const MOST_ANSWER: usize = 1 << 20;

/// A server of the OpenAI protocol.
#[derive(Clone, Debug)]
pub struct TranscriptionServer {
    pub server: SpeechServer,
    /// ISO 639-1.
    pub language: Option<String>,
    /// Words to expect.
    pub prompt: Option<String>,
}

impl Recogniser for TranscriptionServer {
    fn model(&self) -> &str {
        &self.server.model
    }

    fn host(&self) -> &str {
        self.server.host()
    }

    fn hear<'a>(&'a self, recording: &'a Recording) -> BoxFuture<'a, Result<Transcript, SttError>> {
        Box::pin(async move {
            let container = recording.container;
            let file = Part::bytes(recording.bytes.clone()).file_name(container.file_name());
            let file = file.mime_str(container.media_type());
            let file = file.map_err(|error| SttError::Refused(error.to_string()))?;
            // The texts first, as the official client sends them: some servers read the parts in order.
            let mut form =
                Form::new().text("model", self.server.model.clone()).text("response_format", "json");
            for (name, value) in [("language", &self.language), ("prompt", &self.prompt)] {
                if let Some(value) = value {
                    form = form.text(name, value.clone());
                }
            }
            let request = self.server.post("/audio/transcriptions").multipart(form.part("file", file));
            let answer = self.server.send(request, MOST_ANSWER).await;
            read_answer(&answer.map_err(|detail| SttError::Busy { detail, after: None })?, transcript)
        })
    }
}

/// The transcript in an answer, by the status and the shape of its body. `find` reads JSON without an error.
pub(super) fn read_answer(
    answer: &Answer,
    find: impl Fn(&Value) -> Option<Transcript>,
) -> Result<Transcript, SttError> {
    if answer.is_temporary() {
        return Err(SttError::Busy { detail: answer.detail(), after: answer.retry_after });
    }
    if !answer.status.is_success() {
        let detail = answer.detail();
        return Err(match answer.status.as_u16() {
            400 | 415 | 422 => SttError::Format(detail),
            _ => SttError::Refused(detail),
        });
    }
    let unusable = || SttError::Refused(format!("no transcript in the answer {}", answer.detail()));
    let Ok(text) = std::str::from_utf8(&answer.body) else { return Err(unusable()) };
    match serde_json::from_str::<Value>(text) {
        Ok(json) => match find(&json) {
            Some(heard) => Ok(heard),
            // Some gateways answer an error with the status 200.
            None => Err(match error_text(&json) {
                Some(told) if told.to_lowercase().contains("format") => SttError::Format(told),
                Some(told) => SttError::Refused(told),
                None => unusable(),
            }),
        },
        Err(_) if text.trim_start().starts_with(['<', '{', '[']) => Err(unusable()),
        Err(_) => Ok(Transcript { text: text.trim().to_owned(), language: None }),
    }
}

fn transcript(json: &Value) -> Option<Transcript> {
    let text = json.as_str().or_else(|| json.get("text").and_then(Value::as_str))?;
    let language = json.get("language").and_then(Value::as_str).map(str::to_owned);
    Some(Transcript { text: text.trim().to_owned(), language })
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn read(status: u16, body: &str) -> Result<Transcript, SttError> {
        let status = StatusCode::from_u16(status).unwrap();
        read_answer(&Answer { status, retry_after: None, body: body.as_bytes().to_vec() }, transcript)
    }

    #[test]
    fn a_transcript_is_found_in_json_and_in_plain_text() {
        for (body, text, language) in [
            (r#"{"text": " hello ", "usage": {"type": "duration", "seconds": 3}}"#, "hello", None),
            (r#"{"text": "你好", "language": "zh", "error": null}"#, "你好", Some("zh")),
            (r#"{"text": ""}"#, "", None),
            (r#""hello""#, "hello", None),
            ("hello there\n", "hello there", None),
            ("", "", None),
        ] {
            let expected = Transcript { text: text.to_owned(), language: language.map(str::to_owned) };
            assert_eq!(read(200, body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn what_is_no_transcript_is_told_apart_by_what_helps() {
        for (status, body, expected) in [
            (400, r#"{"error": {"message": "Invalid file format"}}"#, "format"),
            (415, "no", "format"),
            (200, r#"{"error": {"message": "unsupported format"}}"#, "format"),
            (200, r#"{"error": {"message": "quota"}}"#, "refused"),
            (200, r#"{"code": 50505, "message": "overloaded", "data": null}"#, "refused"),
            (200, "<html>gateway</html>", "refused"),
            (200, r#"{"ok": true}"#, "refused"),
            (401, "", "refused"),
            (404, "", "refused"),
            (413, "", "refused"),
            (429, "", "busy"),
            (503, "", "busy"),
        ] {
            let kind = match read(status, body) {
                Ok(heard) => panic!("{heard:?}"),
                Err(SttError::Format(_)) => "format",
                Err(SttError::Refused(_)) => "refused",
                Err(SttError::Busy { .. }) => "busy",
            };
            assert_eq!(kind, expected, "{status} {body}");
        }
        let bytes = Answer { status: StatusCode::OK, retry_after: None, body: vec![0xff, 0xfb, 0x90] };
        assert!(matches!(read_answer(&bytes, transcript), Err(SttError::Refused(_))));
    }
}
