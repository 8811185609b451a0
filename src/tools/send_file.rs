//! `send_file`: sends a file of the project to this conversation.

use std::io::Read as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_send::say;
use super::confine::Confinement;
use super::exec_shell::Redact;
use super::schema::schema_of;
use super::sniff::{SAMPLE_BYTES, binary_kind};
use super::{arguments, job};
use crate::domain::{AttachmentKind, Capabilities, Effects, Intent, StoredFile, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};

/// Largest file that all platforms accept.
const MAX_BYTES: u64 = 30 << 20;

#[derive(Clone, Debug)]
pub struct SendFile {
    redact: Redact,
}

impl SendFile {
    /// With this redaction of texts before they are stored and sent.
    pub fn new(redact: Redact) -> Self {
        Self { redact }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The file, relative to the project directory.
    path: String,
    /// A few words that go with it.
    caption: Option<String>,
}

impl Tool for SendFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "send_file",
            description:
                "Sends a file of the project to this conversation, as a picture, a voice message or a \
                          file to keep, by what it is. At most 30 MB."
                    .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::Speaks,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::check_path(&arguments::read::<Arguments>(arguments.clone())?.path)
    }

    fn suits(&self, capabilities: &Capabilities) -> bool {
        capabilities.files
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Arguments { path, caption } = arguments::read(arguments)?;
            let (redact, looked) = (self.redact.clone(), context.clone());
            let read = move || read(&path, &redact, &looked);
            let FileCopy { stored, name, media_type, content } =
                job::on_blocking_thread(&context.thread, read).await?;
            let bytes = content.len();
            let kept = context.files.keep(&stored, content).await;
            kept.map_err(|error| ToolFailure::Failed(format!("{name} cannot be copied: {error}")))?;
            let intent = Intent::Attachment {
                file: stored,
                kind: AttachmentKind::of_media(media_type),
                name: name.clone(),
                media_type: media_type.to_owned(),
                caption: caption.filter(|words| !words.trim().is_empty()),
            };
            say(&context, context.thread.clone(), intent).await?;
            Ok(json!({ "sent": name, "bytes": bytes }))
        })
    }
}

/// A file to be stored and sent.
struct FileCopy {
    stored: StoredFile,
    /// The file name for people.
    name: String,
    media_type: &'static str,
    content: Vec<u8>,
}

/// Reads the file, so that the content at the time of the call is sent. The call's id is part of the name: the same
/// call makes the same copy.
fn read(path: &str, redact: &Redact, context: &ToolContext) -> Result<FileCopy, ToolFailure> {
    let confinement = Confinement::new(context);
    let inside = confinement.resolve(path)?;
    let opened = confinement.open(&inside)?;
    if opened.size > MAX_BYTES {
        return Err(ToolFailure::Refused(format!("{path} has {} bytes, more than 30 MB", opened.size)));
    }
    let failed = |error: std::io::Error| ToolFailure::Failed(format!("{path} cannot be copied: {error}"));
    let mut content = Vec::new();
    opened.file.take(MAX_BYTES).read_to_end(&mut content).map_err(failed)?;
    let name = Path::new(path.trim()).file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "file".to_owned());
    let sample = content.get(..SAMPLE_BYTES.min(content.len())).unwrap_or_default();
    let media_type = binary_kind(sample).filter(|kind| kind.contains('/')).unwrap_or("text/plain");
    let content = if is_media(media_type) { content } else { without_secrets(content, path, redact)? };
    let before = format!("{}-{}-", context.correlation, context.call);
    let stored = StoredFile::new(context.thread.clone(), &before, &name);
    Ok(FileCopy { stored, name, media_type, content })
}

/// Images, audio and video contain no text.
fn is_media(media_type: &str) -> bool {
    ["image/", "audio/", "video/"].iter().any(|kind| media_type.starts_with(kind))
}

/// A text, redacted. A binary file is sent unchanged, or refused where a secret is found in it: a part of it cannot be
/// replaced.
fn without_secrets(content: Vec<u8>, path: &str, redact: &Redact) -> Result<Vec<u8>, ToolFailure> {
    match String::from_utf8(content) {
        Ok(text) => Ok(redact.apply(&text).into_bytes()),
        Err(error) => {
            let content = error.into_bytes();
            let text = String::from_utf8_lossy(&content);
            if redact.apply(&text) == text {
                return Ok(content);
            }
            Err(ToolFailure::Refused(format!(
                "{path} holds a secret of this agent and is no text; it is not sent"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::RunMessage;
    use crate::tools::testing::Project;

    fn tool() -> SendFile {
        SendFile::new(Redact::new(|text| text.replace("hunter2", "[redacted]")))
    }

    async fn send(project: &mut Project, path: &str) -> RunMessage {
        let arguments = json!({ "path": path, "caption": "look" });
        let context = project.context();
        let tool = tool();
        let (outcome, heard) = tokio::join!(tool.call(arguments, context), project.hear());
        outcome.unwrap();
        heard.unwrap().1
    }

    #[tokio::test]
    async fn a_file_is_copied_and_sent_as_what_it_is() {
        let mut project = Project::new();
        project.file("out/chart.png", b"\x89PNG\r\n\x1a\nrest");
        project.file("notes.md", "# Notes");
        for (path, expected, name) in [
            ("out/chart.png", AttachmentKind::Image, "chart.png"),
            ("notes.md", AttachmentKind::File, "notes.md"),
        ] {
            let run_message = send(&mut project, path).await;
            let Intent::Attachment { file, kind, name: shown, caption, .. } = run_message.intent else {
                panic!("{:?}", run_message.intent)
            };
            assert_eq!((kind, shown.as_str(), caption.as_deref()), (expected, name, Some("look")));
            let copy = project.path(".ship/files").join(file.path());
            assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(project.path(path)).unwrap());
        }
    }

    #[tokio::test]
    async fn what_is_out_of_reach_is_not_sent() {
        let project = Project::new();
        project.file(".env", "KEY=1");
        project.file("ship.json", "{}");
        for path in [".env", "ship.json", "../x", "missing.txt", "."] {
            let outcome = tool().call(json!({ "path": path }), project.context()).await;
            assert!(outcome.is_err(), "{path}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn a_text_is_sent_without_its_secrets_and_other_bytes_with_one_are_not_sent() {
        let mut project = Project::new();
        project.file("notes.txt", "the word is hunter2\n");
        let run_message = send(&mut project, "notes.txt").await;
        let Intent::Attachment { file, .. } = run_message.intent else { panic!("{:?}", run_message.intent) };
        let copy = project.path(".ship/files").join(file.path());
        assert_eq!(std::fs::read(copy).unwrap(), b"the word is [redacted]\n");
        project.file("data.bin", b"\x7fELF\xff\xfe hunter2 \xff");
        let outcome = tool().call(json!({ "path": "data.bin" }), project.context()).await;
        assert!(matches!(outcome, Err(ToolFailure::Refused(_))), "{outcome:?}");
    }
}
