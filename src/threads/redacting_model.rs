//! A model wrapper that redacts known secrets from every prompt and from every streamed answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::redaction::{redact_text, redact_value};
use crate::domain::ToolCallId;
use crate::ports::{BoxFuture, CallDelta, Completion, Model, ModelDelta, ModelError, Prompt};
use crate::telemetry::{RedactedStream, Redactor};
use crate::uimessage::{Content, ModelMessage};

/// Most redacted deltas that may be queued.
const BACKLOG: usize = 16;

/// A model whose prompts and answers are redacted.
#[derive(Debug)]
pub struct RedactingModel {
    inner: Arc<dyn Model>,
    redactor: Redactor,
}

impl RedactingModel {
    /// Wraps a model; only secrets that the redactor knows are removed.
    pub fn new(inner: Arc<dyn Model>, redactor: &Redactor) -> Self {
        Self { inner, redactor: redactor.clone().only_known() }
    }

    fn clean(&self, text: &mut String) {
        redact_text(&self.redactor, text);
    }

    fn clean_prompt(&self, prompt: &mut Prompt) {
        self.clean(&mut prompt.system);
        for message in &mut prompt.messages {
            match message {
                ModelMessage::System(text) => self.clean(text),
                ModelMessage::User { content, .. } => content.iter_mut().for_each(|piece| match piece {
                    Content::Text(text) => self.clean(text),
                    // Data URLs are large and contain no text; other addresses may contain a token.
                    Content::Image { url } | Content::File { url, .. } if url.starts_with("data:") => {}
                    Content::Image { url } | Content::File { url, .. } => self.clean(url),
                }),
                ModelMessage::Assistant { text, reasoning, tool_calls } => {
                    self.clean(text);
                    self.clean(reasoning);
                    tool_calls.iter_mut().for_each(|call| self.clean(&mut call.arguments));
                }
                ModelMessage::Tool { content, .. } => self.clean(content),
            }
        }
    }

    fn clean_completion(&self, completion: &mut Completion) {
        self.clean(&mut completion.text);
        self.clean(&mut completion.reasoning);
        for call in &mut completion.tool_calls {
            match &mut call.arguments {
                Ok(arguments) => redact_value(&self.redactor, arguments),
                Err(text) => self.clean(text),
            }
        }
    }
}

impl Model for RedactingModel {
    fn complete(
        &self,
        mut prompt: Prompt,
        live: mpsc::Sender<ModelDelta>,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            self.clean_prompt(&mut prompt);
            let (inner_live, mut deltas) = mpsc::channel(BACKLOG);
            let show = async {
                let mut veil = StreamRedactor::new(&self.redactor);
                while let Some(delta) = deltas.recv().await {
                    for clean in veil.pass(delta) {
                        // The receiver may be gone; the completion is still needed.
                        drop(live.send(clean).await);
                    }
                }
                for rest in veil.flush() {
                    drop(live.send(rest).await);
                }
            };
            let (answer, ()) = tokio::join!(self.inner.complete(prompt, inner_live), show);
            match answer {
                Ok(mut completion) => {
                    self.clean_completion(&mut completion);
                    Ok(completion)
                }
                Err(mut error) => {
                    self.clean(&mut error.detail);
                    Err(error)
                }
            }
        })
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

/// Redacts a streamed answer: text is held back while it may be the beginning of a secret.
struct StreamRedactor {
    redactor: Redactor,
    /// The text that is being streamed.
    words: Option<(DeltaKind, RedactedStream)>,
    /// The arguments of each call. Calls may be interleaved, so each has its own stream.
    inputs: BTreeMap<usize, (ToolCallId, String, RedactedStream)>,
}

/// Whether text is part of the answer or of the reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeltaKind {
    Answer,
    Thought,
}

impl DeltaKind {
    fn say(self, text: String) -> ModelDelta {
        match self {
            Self::Answer => ModelDelta::Text(text),
            Self::Thought => ModelDelta::Reasoning(text),
        }
    }
}

impl StreamRedactor {
    fn new(redactor: &Redactor) -> Self {
        Self { redactor: redactor.clone(), words: None, inputs: BTreeMap::new() }
    }

    /// The deltas that can be shown after one more delta.
    fn pass(&mut self, delta: ModelDelta) -> Vec<ModelDelta> {
        match delta {
            ModelDelta::Text(more) => self.say(DeltaKind::Answer, &more),
            ModelDelta::Reasoning(more) => self.say(DeltaKind::Thought, &more),
            ModelDelta::ToolInput(more) => self.call(*more),
            retry @ ModelDelta::Retrying { .. } => self.flush().into_iter().chain([retry]).collect(),
            ModelDelta::StartOver => {
                self.words = None;
                self.inputs.clear();
                vec![ModelDelta::StartOver]
            }
        }
    }

    fn say(&mut self, voice: DeltaKind, more: &str) -> Vec<ModelDelta> {
        let before =
            if self.words.as_ref().is_some_and(|(last, _)| *last == voice) { None } else { self.pause() };
        let redactor = &self.redactor;
        let (_, stream) = self.words.get_or_insert_with(|| (voice, RedactedStream::new(redactor.clone())));
        let clean = stream.push(more);
        before.into_iter().chain((!clean.is_empty()).then(|| voice.say(clean))).collect()
    }

    fn call(&mut self, CallDelta { index, id, name, arguments }: CallDelta) -> Vec<ModelDelta> {
        let before = self.pause();
        // The first delta of a call carries its name, even while its arguments are held back.
        let begins = !self.inputs.contains_key(&index);
        let redactor = &self.redactor;
        let (.., stream) = self
            .inputs
            .entry(index)
            .or_insert_with(|| (id.clone(), name.clone(), RedactedStream::new(redactor.clone())));
        let arguments = stream.push(&arguments);
        let seen = (begins || !arguments.is_empty())
            .then(|| ModelDelta::ToolInput(Box::new(CallDelta { index, id, name, arguments })));
        before.into_iter().chain(seen).collect()
    }

    /// Flushes the held-back text, because another kind of delta follows.
    fn pause(&mut self) -> Option<ModelDelta> {
        let (voice, mut stream) = self.words.take()?;
        let rest = stream.finish();
        (!rest.is_empty()).then(|| voice.say(rest))
    }

    /// Flushes everything that was held back.
    fn flush(&mut self) -> Vec<ModelDelta> {
        let mut rest: Vec<ModelDelta> = self.pause().into_iter().collect();
        for (index, (id, name, mut stream)) in std::mem::take(&mut self.inputs) {
            let arguments = stream.finish();
            if !arguments.is_empty() {
                rest.push(ModelDelta::ToolInput(Box::new(CallDelta { index, id, name, arguments })));
            }
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::domain::ErrorKind;
    use crate::ports::ToolCall;
    use crate::uimessage::ModelToolCall;

    const SECRET: &str = "hunter2-hunter2";

    /// Streams the configured deltas and records the prompts.
    #[derive(Debug)]
    struct EchoModel {
        deltas: Vec<ModelDelta>,
        answer: Result<Completion, ModelError>,
        asked: Mutex<Option<Prompt>>,
    }

    impl Model for EchoModel {
        fn complete(
            &self,
            prompt: Prompt,
            live: mpsc::Sender<ModelDelta>,
        ) -> BoxFuture<'_, Result<Completion, ModelError>> {
            Box::pin(async move {
                *self.asked.lock().unwrap() = Some(prompt);
                for delta in &self.deltas {
                    live.send(delta.clone()).await.unwrap();
                }
                self.answer.clone()
            })
        }

        fn name(&self) -> &str {
            "parrot"
        }
    }

    async fn ask(
        parrot: EchoModel,
        prompt: Prompt,
    ) -> (Prompt, Vec<ModelDelta>, Result<Completion, ModelError>) {
        let parrot = Arc::new(parrot);
        let model = RedactingModel::new(parrot.clone(), &Redactor::new([SECRET]).unwrap());
        let (live, mut deltas) = mpsc::channel(100);
        let answer = model.complete(prompt, live).await;
        let mut seen = Vec::new();
        while let Some(delta) = deltas.recv().await {
            seen.push(delta);
        }
        let asked = parrot.asked.lock().unwrap().take().unwrap();
        (asked, seen, answer)
    }

    fn input(index: usize, arguments: &str) -> ModelDelta {
        let id = format!("c{index}").parse().unwrap();
        let delta = CallDelta { index, id, name: "exec_shell".into(), arguments: arguments.into() };
        ModelDelta::ToolInput(Box::new(delta))
    }

    #[tokio::test]
    async fn no_part_of_a_prompt_carries_a_secret() {
        let leak = format!("a {SECRET} b");
        let call =
            ModelToolCall { id: "c".into(), name: "t".into(), arguments: json!({ "x": leak }).to_string() };
        let content = vec![
            Content::Text(leak.clone()),
            Content::Image { url: format!("https://files.example/bot{SECRET}/1.png") },
            Content::Image { url: "data:image/png;base64,AAAA".into() },
        ];
        let messages = vec![
            ModelMessage::System(leak.clone()),
            ModelMessage::User { content, name: None },
            ModelMessage::Assistant { text: leak.clone(), reasoning: leak.clone(), tool_calls: vec![call] },
            ModelMessage::Tool { call_id: "c".into(), content: leak.clone() },
        ];
        let prompt = Prompt { system: leak, messages, ..Prompt::default() };
        let parrot =
            EchoModel { deltas: Vec::new(), answer: Ok(Completion::default()), asked: Mutex::default() };
        let (asked, ..) = ask(parrot, prompt).await;
        let told = format!("{asked:?}");
        assert!(!told.contains("hunter2"), "{told}");
        assert_eq!(told.matches("[redacted]").count(), 8, "{told}");
        assert!(told.contains("base64,AAAA"));
    }

    #[tokio::test]
    async fn what_only_looks_like_a_secret_is_left_to_people_and_models() {
        let text = "use sk-proj-0123456789abcdefghij as the key".to_owned();
        let parrot =
            EchoModel { deltas: Vec::new(), answer: Ok(Completion::default()), asked: Mutex::default() };
        let (asked, ..) = ask(parrot, Prompt { system: text.clone(), ..Prompt::default() }).await;
        assert_eq!(asked.system, text);
    }

    #[tokio::test]
    async fn a_secret_that_is_split_over_pieces_is_never_seen() {
        let text = |text: &str| ModelDelta::Text(text.into());
        let deltas = vec![
            ModelDelta::Reasoning("thinking of hun".into()),
            ModelDelta::Reasoning("ter2-hun".into()),
            ModelDelta::Reasoning("ter2".into()),
            text("It is hunter"),
            text("2-hunter2. Fi"),
            ModelDelta::Retrying { kind: ErrorKind::Network, next_model: None },
            text("ne"),
            input(0, ""),
            input(0, r#"{"command":"echo hunter2-"#),
            input(1, r#"{"a":1}"#),
            input(0, r#"hunter2"}"#),
        ];
        let completion = Completion {
            text: format!("It is {SECRET}. Fine"),
            reasoning: format!("thinking of {SECRET}"),
            tool_calls: vec![ToolCall {
                id: "c0".parse().unwrap(),
                name: "exec_shell".into(),
                arguments: Ok(json!({ "command": [format!("echo {SECRET}")] })),
            }],
            ..Completion::default()
        };
        let parrot = EchoModel { deltas, answer: Ok(completion), asked: Mutex::default() };
        let (_, seen, answer) = ask(parrot, Prompt::default()).await;
        let expected = vec![
            ModelDelta::Reasoning("thinking of ".into()),
            ModelDelta::Reasoning("[redacted]".into()),
            text("It is "),
            text("[redacted]. "),
            text("Fi"),
            ModelDelta::Retrying { kind: ErrorKind::Network, next_model: None },
            text("ne"),
            input(0, ""),
            input(0, r#"{"command":"echo "#),
            input(1, ""),
            input(0, r#"[redacted]"}"#),
            input(1, r#"{"a":1}"#),
        ];
        assert_eq!(seen, expected);
        let answer = format!("{:?}", answer.unwrap());
        assert!(!answer.contains("hunter2") && answer.matches("[redacted]").count() == 3, "{answer}");
    }
}
