//! A growing message as the UI message stream that web clients read.
//!
//! The stream is the difference between what a client has been told and what the message is now. So a slow
//! client is told less often, never wrongly, and a client that comes late is told all from the beginning.

use serde_json::Value;

use super::{Chunk, FinishReason, Part, RunStatus, TextPart, TextState, ToolPart, ToolState, UiMessage};

/// Two sorts of text that are told in the same way, under different names.
#[derive(Clone, Copy, Debug)]
enum Voice {
    Words,
    Thinking,
}

impl Voice {
    const fn start(self, id: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextStart { id },
            Self::Thinking => Chunk::ReasoningStart { id },
        }
    }

    const fn delta(self, id: String, delta: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextDelta { id, delta },
            Self::Thinking => Chunk::ReasoningDelta { id, delta },
        }
    }

    const fn end(self, id: String) -> Chunk {
        match self {
            Self::Words => Chunk::TextEnd { id },
            Self::Thinking => Chunk::ReasoningEnd { id },
        }
    }
}

/// What a client has been told of one part.
#[derive(Clone, Debug)]
enum Told {
    Text { id: String, voice: Voice, bytes: usize, open: bool },
    Tool(ToldTool),
    Whole,
}

#[derive(Clone, Debug, Default)]
struct ToldTool {
    id: String,
    started: bool,
    raw_bytes: usize,
    input: bool,
    asked: bool,
    /// The last output that is not yet whole.
    preliminary: Option<Value>,
    settled: bool,
}

/// What a client has been told so far.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    message: Option<String>,
    parts: Vec<Told>,
    step_open: bool,
    texts: usize,
    error: Option<String>,
}

impl Cursor {
    /// Tells what is new in `message`. A further message of the same run goes on where the last one ended:
    /// the client sees one answer.
    pub fn advance(&mut self, message: &UiMessage) -> Vec<Chunk> {
        let mut out = Vec::new();
        let id = message.id.as_str();
        match &self.message {
            None => out.push(Chunk::Start {
                message_id: id.to_owned(),
                message_metadata: serde_json::to_value(&message.metadata).ok(),
            }),
            Some(known) if known != id => out.extend(self.start_over()),
            Some(_) => {}
        }
        self.message = Some(id.to_owned());
        for (index, part) in message.parts.iter().enumerate() {
            self.tell(index, part, &mut out);
        }
        out
    }

    /// Whether `message` is a later state of what the client was told, so that [`Cursor::advance`] can go on
    /// from there. A turn that started over, or another message, needs a fresh cursor.
    pub fn fits(&self, message: &UiMessage) -> bool {
        let same = self.message.as_deref().is_none_or(|known| known == message.id.as_str());
        same && self.parts.len() <= message.parts.len()
            && self.parts.iter().zip(&message.parts).all(|(told, part)| match (told, part) {
                (Told::Text { voice: Voice::Words, bytes, .. }, Part::Text(text))
                | (Told::Text { voice: Voice::Thinking, bytes, .. }, Part::Reasoning(text)) => {
                    *bytes <= text.text.len()
                }
                (Told::Text { .. }, _) => false,
                (Told::Tool(tool), Part::Tool(part)) => tool.id == part.call_id.as_str(),
                (Told::Tool(_), _) => false,
                (Told::Whole, part) => !matches!(part, Part::Text(_) | Part::Reasoning(_) | Part::Tool(_)),
            })
    }

    /// Leaves what was told as it is and tells the next message from its beginning, behind it.
    pub fn start_over(&mut self) -> Vec<Chunk> {
        let mut out = Vec::new();
        self.close_texts(&mut out);
        self.parts.clear();
        out
    }

    /// Closes the response.
    pub fn finish(&mut self, status: Option<RunStatus>) -> Vec<Chunk> {
        let mut out = Vec::new();
        self.close_texts(&mut out);
        if std::mem::take(&mut self.step_open) {
            out.push(Chunk::FinishStep);
        }
        let finish = |reason| Chunk::Finish {
            finish_reason: Some(reason),
            message_metadata: status.map(|status| serde_json::json!({ "status": status })),
        };
        match status {
            Some(RunStatus::Done) => out.push(finish(FinishReason::Stop)),
            // Clients do nothing on an abort; it is the finish that ends the message for them.
            Some(RunStatus::Stopped) => {
                out.push(Chunk::Abort { reason: Some("stopped".to_owned()) });
                out.push(finish(FinishReason::Other));
            }
            // Clients read nothing behind an error, so the status goes before it.
            Some(RunStatus::Failed) => {
                let error_text = self.error.clone().unwrap_or_else(|| "the turn failed".to_owned());
                if self.message.is_some() {
                    let message_metadata = serde_json::json!({ "status": RunStatus::Failed });
                    out.push(Chunk::MessageMetadata { message_metadata });
                }
                out.push(Chunk::Error { error_text });
            }
            Some(RunStatus::Running | RunStatus::Continued) => out.push(finish(FinishReason::ToolCalls)),
            None => out.push(finish(FinishReason::Other)),
        }
        out
    }

    fn tell(&mut self, index: usize, part: &Part, out: &mut Vec<Chunk>) {
        let fresh = index >= self.parts.len();
        match part {
            Part::Text(text) => self.tell_text(index, text, Voice::Words, out),
            Part::Reasoning(text) => self.tell_text(index, text, Voice::Thinking, out),
            Part::Tool(tool) => {
                if fresh {
                    let id = tool.call_id.as_str().to_owned();
                    self.parts.push(Told::Tool(ToldTool { id, ..ToldTool::default() }));
                }
                if let Some(Told::Tool(told)) = self.parts.get_mut(index) {
                    tell_tool(told, tool, out);
                }
            }
            _ if !fresh => {}
            Part::StepStart => {
                self.close_texts(out);
                if self.step_open {
                    out.push(Chunk::FinishStep);
                }
                self.step_open = true;
                out.push(Chunk::StartStep);
                self.parts.push(Told::Whole);
            }
            Part::File(file) => {
                out.push(Chunk::File { url: file.url.clone(), media_type: file.media_type.clone() });
                self.parts.push(Told::Whole);
            }
            Part::Command(record) => {
                out.extend(serde_json::to_value(record).map(|data| Chunk::DataCommand { data }));
                self.parts.push(Told::Whole);
            }
            Part::Error(record) => {
                self.close_texts(out);
                self.error = Some(record.text.clone());
                out.extend(serde_json::to_value(record).map(|data| Chunk::DataError { data }));
                self.parts.push(Told::Whole);
            }
            Part::Other(_) => self.parts.push(Told::Whole),
        }
    }

    fn tell_text(&mut self, index: usize, part: &TextPart, voice: Voice, out: &mut Vec<Chunk>) {
        if index >= self.parts.len() {
            let id = self.texts.to_string();
            self.texts += 1;
            out.push(voice.start(id.clone()));
            self.parts.push(Told::Text { id, voice, bytes: 0, open: true });
        }
        let Some(Told::Text { id, bytes, open, .. }) = self.parts.get_mut(index) else { return };
        if !*open {
            return;
        }
        let delta = part.text.get(*bytes..).unwrap_or_default();
        if !delta.is_empty() {
            *bytes = part.text.len();
            out.push(voice.delta(id.clone(), delta.to_owned()));
        }
        // Words and thinking may grow by turns, so a text ends when it says so, not when another part begins.
        if part.state != Some(TextState::Streaming) {
            *open = false;
            out.push(voice.end(id.clone()));
        }
    }

    /// No text may stay open behind its step: a client forgets the ids.
    fn close_texts(&mut self, out: &mut Vec<Chunk>) {
        for told in &mut self.parts {
            if let Told::Text { id, voice, open, .. } = told
                && std::mem::take(open)
            {
                out.push(voice.end(id.clone()));
            }
        }
    }
}

fn tell_tool(told: &mut ToldTool, tool: &ToolPart, out: &mut Vec<Chunk>) {
    let tool_call_id = || tool.call_id.as_str().to_owned();
    let tool_name = || tool.tool.name().to_owned();
    let dynamic = matches!(tool.tool, super::ToolType::Dynamic(_)).then_some(true);
    if let ToolState::InputStreaming { raw_input, .. } = &tool.state {
        if !std::mem::replace(&mut told.started, true) {
            out.push(Chunk::ToolInputStart { tool_call_id: tool_call_id(), tool_name: tool_name(), dynamic });
        }
        let raw = raw_input.as_deref().unwrap_or_default();
        let delta = raw.get(told.raw_bytes..).unwrap_or_default();
        if !delta.is_empty() {
            told.raw_bytes = raw.len();
            out.push(Chunk::ToolInputDelta {
                tool_call_id: tool_call_id(),
                input_text_delta: delta.to_owned(),
            });
        }
        return;
    }
    if !std::mem::replace(&mut told.input, true) {
        match (tool.state.input(), &tool.state) {
            (None, ToolState::OutputError { raw_input, error_text, .. }) => {
                told.settled = true;
                let (input, error_text) = (raw_input.clone().unwrap_or_default(), error_text.clone());
                out.push(Chunk::ToolInputError {
                    tool_call_id: tool_call_id(),
                    tool_name: tool_name(),
                    input,
                    error_text,
                    dynamic,
                });
            }
            (input, _) => {
                let input = input.cloned().unwrap_or_default();
                out.push(Chunk::ToolInputAvailable {
                    tool_call_id: tool_call_id(),
                    tool_name: tool_name(),
                    input,
                    dynamic,
                });
            }
        }
    }
    if told.settled {
        return;
    }
    match &tool.state {
        ToolState::ApprovalRequested { approval, .. } if !std::mem::replace(&mut told.asked, true) => {
            out.push(Chunk::ToolApprovalRequest {
                approval_id: approval.id.clone(),
                tool_call_id: tool_call_id(),
                approval_descriptor: approval.descriptor.clone(),
            });
        }
        ToolState::OutputAvailable { output, preliminary: Some(true), .. }
            if told.preliminary.as_ref() == Some(output) => {}
        ToolState::OutputAvailable { output, preliminary, .. } => {
            told.settled = *preliminary != Some(true);
            told.preliminary = Some(output.clone());
            let (output, preliminary) = (output.clone(), *preliminary);
            out.push(Chunk::ToolOutputAvailable { tool_call_id: tool_call_id(), output, preliminary });
        }
        ToolState::OutputError { error_text, .. } => {
            told.settled = true;
            out.push(Chunk::ToolOutputError { tool_call_id: tool_call_id(), error_text: error_text.clone() });
        }
        ToolState::OutputDenied { .. } => {
            told.settled = true;
            out.push(Chunk::ToolOutputDenied { tool_call_id: tool_call_id() });
        }
        ToolState::InputStreaming { .. }
        | ToolState::InputAvailable { .. }
        | ToolState::ApprovalRequested { .. }
        | ToolState::ApprovalResponded { .. } => {}
    }
}

/// A whole message as the stream that would have made it.
pub fn replay(message: &UiMessage) -> Vec<Chunk> {
    Cursor::default().advance(message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::uimessage::{CommandRecord, ErrorRecord, Metadata, Role};

    /// What a client makes of a stream. It refuses whatever the format forbids.
    #[derive(Debug, Default)]
    struct Client {
        started: usize,
        step: bool,
        open: Vec<String>,
        /// Steps, words and thinking, in order of appearance.
        parts: Vec<(&'static str, String, String)>,
        calls: Vec<(String, &'static str)>,
        ended: bool,
    }

    impl Client {
        fn read(&mut self, chunks: Vec<Chunk>) {
            for chunk in chunks {
                assert!(!self.ended, "nothing comes behind the end: {chunk:?}");
                assert_eq!(self.started == 0, matches!(chunk, Chunk::Start { .. }), "one start, and first");
                self.take(chunk);
            }
        }

        fn take(&mut self, chunk: Chunk) {
            match chunk {
                Chunk::Start { .. } => self.started += 1,
                Chunk::StartStep => {
                    assert!(!std::mem::replace(&mut self.step, true), "a step inside a step");
                    self.parts.push(("step", String::new(), String::new()));
                }
                Chunk::FinishStep => {
                    assert!(std::mem::take(&mut self.step), "no step to finish");
                    assert!(self.open.is_empty(), "texts are closed before their step");
                }
                Chunk::TextStart { id } => self.begin("text", id),
                Chunk::ReasoningStart { id } => self.begin("reasoning", id),
                Chunk::TextDelta { id, delta } => self.grow("text", &id, &delta),
                Chunk::ReasoningDelta { id, delta } => self.grow("reasoning", &id, &delta),
                Chunk::TextEnd { id } | Chunk::ReasoningEnd { id } => {
                    let at = self.open.iter().position(|open| *open == id).expect("ends a text that is open");
                    self.open.remove(at);
                }
                Chunk::ToolInputStart { tool_call_id, .. } => self.calls.push((tool_call_id, "streaming")),
                Chunk::ToolInputDelta { tool_call_id, .. } => {
                    self.call(&tool_call_id, &["streaming"], "streaming")
                }
                Chunk::ToolInputAvailable { tool_call_id, .. } => {
                    if !self.calls.iter().any(|(id, _)| *id == tool_call_id) {
                        self.calls.push((tool_call_id.clone(), "streaming"));
                    }
                    self.call(&tool_call_id, &["streaming"], "available");
                }
                Chunk::ToolOutputAvailable { tool_call_id, .. }
                | Chunk::ToolOutputError { tool_call_id, .. } => {
                    self.call(&tool_call_id, &["available"], "settled");
                }
                Chunk::Finish { .. } | Chunk::Error { .. } => {
                    assert!(self.open.is_empty() && !self.step, "the end leaves nothing open");
                    self.ended = true;
                }
                other => {
                    assert!(matches!(other, Chunk::MessageMetadata { .. } | Chunk::Abort { .. }), "{other:?}")
                }
            }
        }

        fn begin(&mut self, kind: &'static str, id: String) {
            assert!(!self.open.contains(&id), "an id is open once");
            self.open.push(id.clone());
            self.parts.push((kind, id, String::new()));
        }

        fn grow(&mut self, kind: &str, id: &str, delta: &str) {
            assert!(self.open.iter().any(|open| open == id), "a delta needs an open text");
            let part = self.parts.iter_mut().rfind(|part| part.0 == kind && part.1 == id);
            part.expect("a delta of the right kind").2.push_str(delta);
        }

        fn call(&mut self, id: &str, from: &[&str], to: &'static str) {
            let call = self.calls.iter_mut().find(|call| call.0 == id).expect("a call that was told");
            assert!(from.contains(&call.1), "{id} goes from {} to {to}", call.1);
            call.1 = to;
        }
    }

    fn message(id: &str, parts: Vec<Part>) -> UiMessage {
        let metadata = Metadata {
            platform: "web".to_owned(),
            thread_id: "web:chat:1".parse().unwrap(),
            author_id: None,
            author_name: None,
            message_id: None,
            timestamp: crate::domain::Timestamp::from_millis(1),
            correlation_id: "run_1".parse().unwrap(),
            status: Some(RunStatus::Running),
            command: false,
            context: false,
            extra: serde_json::Map::new(),
        };
        UiMessage { id: id.parse().unwrap(), role: Role::Assistant, metadata, parts }
    }

    fn lines(chunks: &[Chunk]) -> String {
        chunks.iter().map(|chunk| serde_json::to_string(chunk).unwrap() + "\n").collect()
    }

    fn tool(state: ToolState) -> Part {
        Part::Tool(Box::new(ToolPart::new("read_file", "call_1".parse().unwrap(), state)))
    }

    #[test]
    fn a_tool_call_is_told_once_for_each_step_of_its_life() {
        let mut cursor = Cursor::default();
        let raw =
            |raw: &str| tool(ToolState::InputStreaming { input: None, raw_input: Some(raw.to_owned()) });
        let mut told = Vec::new();
        for part in [
            raw("{\"pa"),
            raw("{\"path\":\"a\"}"),
            tool(ToolState::InputAvailable { input: json!({"path": "a"}) }),
            tool(ToolState::OutputAvailable {
                input: json!({"path": "a"}),
                output: json!(1),
                approval: None,
                preliminary: Some(true),
            }),
            tool(ToolState::OutputAvailable {
                input: json!({"path": "a"}),
                output: json!(1),
                approval: None,
                preliminary: Some(true),
            }),
            tool(ToolState::OutputAvailable {
                input: json!({"path": "a"}),
                output: json!(2),
                approval: None,
                preliminary: None,
            }),
        ] {
            let state = message("m1", vec![Part::StepStart, part]);
            told.extend(cursor.advance(&state));
            assert_eq!(cursor.advance(&state), [], "what was told is not told again");
        }
        insta::assert_snapshot!(lines(told.get(1..).unwrap()), @r#"
        {"type":"start-step"}
        {"type":"tool-input-start","toolCallId":"call_1","toolName":"read_file"}
        {"type":"tool-input-delta","toolCallId":"call_1","inputTextDelta":"{\"pa"}
        {"type":"tool-input-delta","toolCallId":"call_1","inputTextDelta":"th\":\"a\"}"}
        {"type":"tool-input-available","toolCallId":"call_1","toolName":"read_file","input":{"path":"a"}}
        {"type":"tool-output-available","toolCallId":"call_1","output":1,"preliminary":true}
        {"type":"tool-output-available","toolCallId":"call_1","output":2}
        "#);
    }

    #[test]
    fn arguments_that_are_not_json_are_one_chunk() {
        let state = ToolState::OutputError {
            input: None,
            raw_input: Some(json!("{oops")),
            error_text: "not JSON".to_owned(),
            approval: None,
        };
        let mut part = ToolPart::new("x", "call_1".parse().unwrap(), state);
        part.tool = crate::uimessage::ToolType::Dynamic("mcp".to_owned());
        let told = replay(&message("m1", vec![Part::Tool(Box::new(part))]));
        insta::assert_snapshot!(lines(told.get(1..).unwrap()), @r#"{"type":"tool-input-error","toolCallId":"call_1","toolName":"mcp","input":"{oops","errorText":"not JSON","dynamic":true}"#);
    }

    #[test]
    fn words_and_thinking_may_grow_by_turns() {
        let state = |thinking: &str, words: &str| {
            let (thinking, words) = (TextPart::streaming(thinking), TextPart::streaming(words));
            message("m1", vec![Part::StepStart, Part::Reasoning(thinking), Part::Text(words)])
        };
        let (mut cursor, mut client) = (Cursor::default(), Client::default());
        for (thinking, words) in [("a", ""), ("a", "x"), ("ab", "x"), ("abc", "xy")] {
            client.read(cursor.advance(&state(thinking, words)));
        }
        client.read(cursor.finish(Some(RunStatus::Done)));
        let texts: Vec<&str> = client.parts.iter().map(|part| part.2.as_str()).collect();
        assert_eq!(texts, ["", "abc", "xy"]);
    }

    #[test]
    fn every_way_to_end_closes_what_is_open() {
        let growing = message("m1", vec![Part::StepStart, Part::Text(TextPart::streaming("a"))]);
        let ends = [
            (
                Some(RunStatus::Done),
                r#"{"type":"finish","finishReason":"stop","messageMetadata":{"status":"done"}}"#,
            ),
            (
                Some(RunStatus::Stopped),
                r#"{"type":"finish","finishReason":"other","messageMetadata":{"status":"stopped"}}"#,
            ),
            (Some(RunStatus::Failed), r#"{"type":"error","errorText":"the turn failed"}"#),
            (
                Some(RunStatus::Running),
                r#"{"type":"finish","finishReason":"tool-calls","messageMetadata":{"status":"running"}}"#,
            ),
            (None, r#"{"type":"finish","finishReason":"other"}"#),
        ];
        for (status, last) in ends {
            let (mut cursor, mut client) = (Cursor::default(), Client::default());
            client.read(cursor.advance(&growing));
            let chunks = cursor.finish(status);
            assert_eq!(lines(&chunks).lines().last(), Some(last));
            client.read(chunks);
            assert!(client.ended, "{status:?}");
        }
    }

    #[test]
    fn commands_and_errors_are_data() {
        let author = "web:user:operator".parse().unwrap();
        let command = CommandRecord { command: "/status".to_owned(), author, reply: "idle".to_owned() };
        let error =
            ErrorRecord { kind: crate::domain::ErrorKind::Auth, text: "no".to_owned(), retryable: false };
        let told = replay(&message("m1", vec![Part::Command(command), Part::Error(error)]));
        insta::assert_snapshot!(lines(told.get(1..).unwrap()), @r#"
        {"type":"data-command","data":{"command":"/status","author":"web:user:operator","reply":"idle"}}
        {"type":"data-error","data":{"kind":"auth","text":"no","retryable":false}}
        "#);
    }

    #[test]
    fn a_turn_that_started_over_does_not_fit() {
        let text = |text: &str| message("m1", vec![Part::StepStart, Part::Text(TextPart::streaming(text))]);
        let mut cursor = Cursor::default();
        assert!(cursor.fits(&text("")));
        let _told = cursor.advance(&text("hello"));
        for (next, fits) in [
            (text("hello there"), true),
            (text("hell"), false),
            (message("m1", vec![Part::StepStart]), false),
            (message("m1", vec![Part::StepStart, Part::StepStart]), false),
            (message("m2", text("hello there").parts), false),
        ] {
            assert_eq!(cursor.fits(&next), fits, "{next:?}");
        }
    }

    /// A whole run: messages of steps of texts, each with how it is split into growth.
    fn runs() -> impl Strategy<Value = Vec<Vec<(u8, String)>>> {
        let part = (0_u8..4, "[a-z你好🦀 ]{0,6}");
        prop::collection::vec(prop::collection::vec(part, 0..7), 1..4)
    }

    fn part_of(kind: u8, words: &str, index: usize, state: fn(String) -> TextPart) -> Part {
        match kind {
            0 => Part::StepStart,
            1 => Part::Text(state(words.to_owned())),
            2 => Part::Reasoning(state(words.to_owned())),
            _ => {
                let call = format!("call_{index}").parse().unwrap();
                let input = json!({ "words": words });
                Part::Tool(Box::new(ToolPart::new("t", call, ToolState::InputAvailable { input })))
            }
        }
    }

    proptest! {
        #[test]
        fn any_growth_gives_a_legal_stream_and_the_same_words(run in runs(), skip in prop::collection::vec(any::<bool>(), 1..9)) {
            let (mut cursor, mut client) = (Cursor::default(), Client::default());
            let mut skips = skip.iter().cycle();
            let mut expected: Vec<(&str, String)> = Vec::new();
            for (at, parts) in run.iter().enumerate() {
                let id = format!("m{at}");
                let mut done: Vec<Part> = vec![Part::StepStart];
                expected.push(("step", String::new()));
                for (index, (kind, words)) in parts.iter().enumerate() {
                    let index = at * 100 + index;
                    // The part grows letter by letter; a slow client misses some states.
                    let ends = words.char_indices().map(|(start, c)| start + c.len_utf8());
                    for end in std::iter::once(0).chain(ends).filter(|_| matches!(kind, 1 | 2)) {
                        let mut state = done.clone();
                        state.push(part_of(*kind, words.get(..end).unwrap(), index, TextPart::streaming));
                        if *skips.next().unwrap() {
                            let state = message(&id, state);
                            client.read(cursor.advance(&state));
                            prop_assert_eq!(cursor.advance(&state), []);
                        }
                    }
                    done.push(part_of(*kind, words, index, TextPart::done));
                    match kind {
                        0 => expected.push(("step", String::new())),
                        1 => expected.push(("text", words.clone())),
                        2 => expected.push(("reasoning", words.clone())),
                        _ => {}
                    }
                }
                let whole = message(&id, done);
                prop_assert!(at > 0 || cursor.fits(&whole));
                client.read(cursor.advance(&whole));
            }
            client.read(cursor.finish(Some(RunStatus::Done)));
            let got: Vec<(&str, String)> = client.parts.into_iter().map(|(kind, _, words)| (kind, words)).collect();
            prop_assert_eq!(got, expected);
            prop_assert!(client.ended);
        }
    }
}
