//! Speech servers: a scripted one, and the real recogniser of `tests/voice` behind the same protocol. And real speech.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A request to the scripted server.
#[derive(Clone, Debug)]
pub(crate) struct SpeechRequest {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    /// The fields of a form, or of a JSON body as texts.
    pub(crate) fields: BTreeMap<String, String>,
    /// The name, the media type and the content of the file of a form.
    pub(crate) file: Option<(String, String, Vec<u8>)>,
    pub(crate) json: Value,
}

impl SpeechRequest {
    /// The name of the uploaded file.
    pub(crate) fn file_name(&self) -> &str {
        self.file.as_ref().map_or("", |(name, ..)| name)
    }
}

/// A reply of the scripted server.
#[derive(Clone, Debug)]
pub(crate) enum SpeechReply {
    /// A status and a body.
    Body(u16, Vec<u8>),
    /// A transcript after this time.
    Later(Duration, &'static str),
    /// Nothing, until the test ends the wait.
    Hang,
}

impl SpeechReply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Body(status, body.to_string().into_bytes())
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::json(200, &json!({ "text": text }))
    }
}

type Answer = Box<dyn FnMut(&SpeechRequest) -> SpeechReply + Send>;

/// A scripted speech server on the loopback. It stops when dropped.
pub(crate) struct FakeSpeech {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

struct Shared {
    answer: Mutex<Answer>,
    requests: watch::Sender<Vec<SpeechRequest>>,
}

impl FakeSpeech {
    pub(crate) async fn start(answer: impl FnMut(&SpeechRequest) -> SpeechReply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answer: Mutex::new(Box::new(answer)),
            requests: watch::Sender::new(Vec::new()),
        });
        let router = Router::new()
            .fallback(serve)
            .layer(DefaultBodyLimit::max(64 << 20))
            .with_state(Arc::clone(&shared));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, _serving: serving }
    }

    /// Hears these words in every recording.
    pub(crate) async fn hearing(words: &str) -> Self {
        let words = words.to_owned();
        Self::start(move |_| SpeechReply::text(&words)).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<SpeechRequest> {
        self.shared.requests.borrow().clone()
    }

    pub(crate) fn answer_by(&self, answer: impl FnMut(&SpeechRequest) -> SpeechReply + Send + 'static) {
        *self.shared.answer.lock().unwrap() = Box::new(answer);
    }

    pub(crate) async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.shared.requests.subscribe();
        let waiting = requests.wait_for(|requests| requests.len() >= count);
        tokio::time::timeout(super::daemon::PATIENCE, waiting).await.expect("the requests come").unwrap();
    }
}

async fn serve(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let kind = header("content-type").unwrap_or_default();
    let (fields, file) = match kind.split_once("boundary=") {
        Some((_, boundary)) => form(&body, boundary),
        None => (BTreeMap::new(), None),
    };
    let request = SpeechRequest {
        path: uri.path().to_owned(),
        authorization: header("authorization"),
        fields,
        file,
        json: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let reply = (shared.answer.lock().unwrap())(&request);
    shared.requests.send_modify(|requests| requests.push(request));
    let (status, body) = match reply {
        SpeechReply::Body(status, body) => (status, body),
        SpeechReply::Later(after, text) => {
            tokio::time::sleep(after).await;
            (200, json!({ "text": text }).to_string().into_bytes())
        }
        SpeechReply::Hang => std::future::pending().await,
    };
    Response::builder().status(status).body(Body::from(body)).unwrap()
}

type Form = (BTreeMap<String, String>, Option<(String, String, Vec<u8>)>);

/// The parts of a form.
fn form(body: &[u8], boundary: &str) -> Form {
    let (mut fields, mut file) = (BTreeMap::new(), None);
    let boundary = format!("--{boundary}").into_bytes();
    let mut starts: Vec<usize> = body
        .windows(boundary.len())
        .enumerate()
        .filter(|(_, at)| **at == boundary)
        .map(|(at, _)| at)
        .collect();
    starts.push(body.len());
    for pair in starts.windows(2) {
        let part = &body[pair[0]..pair[1]];
        let Some(gap) = part.windows(4).position(|at| at == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..gap]).into_owned();
        let content = part[gap + 4..].strip_suffix(b"\r\n").unwrap_or_default().to_vec();
        let quoted = |key: &str| {
            head.split_once(&format!("{key}=\"")).map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        };
        let kind = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-type: ").map(str::to_owned));
        match quoted("; filename") {
            Some(name) => file = Some((name, kind.unwrap_or_default(), content)),
            None => {
                fields.insert(quoted("name").unwrap(), String::from_utf8(content).unwrap());
            }
        }
    }
    (fields, file)
}

fn voice_tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/voice")
}

/// The real recogniser and the real voice of `tests/voice/recogniser.py`. It ends when dropped.
pub(crate) struct RealSpeech {
    port: u16,
    process: Child,
    _stdin: ChildStdin,
}

impl RealSpeech {
    pub(crate) fn start() -> Self {
        let python = voice_tests().join("venv/bin/python");
        assert!(
            python.exists() && voice_tests().join("model/tokenizer.json").exists(),
            "run tests/setup first"
        );
        let mut process = Command::new(python)
            .arg(voice_tests().join("recogniser.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { port: line.trim().parse().expect("the recogniser prints its port"), process, _stdin: stdin }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for RealSpeech {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Real speech, as WAV and as Ogg/Opus.
pub(crate) struct Spoken {
    pub(crate) wav: Vec<u8>,
    pub(crate) ogg: Vec<u8>,
}

/// Has a program say these words.
pub(crate) fn speak(words: &str) -> Spoken {
    let dir = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).current_dir(dir.path()).status();
        assert!(status.expect("run tests/setup first").success(), "{program} {args:?}");
    };
    run("flite", &["-voice", "rms", "-t", words, "-o", "a.wav"]);
    run("opusenc", &["--quiet", "--bitrate", "24", "a.wav", "a.ogg"]);
    let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    Spoken { wav: read("a.wav"), ogg: read("a.ogg") }
}

/// The length of an Ogg/Opus file by the reference decoder.
pub(crate) fn decoded_by_opusdec(ogg: &[u8]) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.ogg"), dir.path().join("out.wav"));
    #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
    std::fs::write(&input, ogg).unwrap();
    let status =
        Command::new("opusdec").args(["--quiet", "--rate", "16000"]).args([&input, &output]).status();
    assert!(status.expect("run tests/setup first").success(), "opusdec refuses the file");
    let bytes = std::fs::metadata(&output).unwrap().len().saturating_sub(44);
    Duration::from_millis(bytes / 32)
}

/// Lower-case letters alone: recognisers add capitals and punctuation.
pub(crate) fn plain(words: &str) -> String {
    let letters: String =
        words.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ")
}
