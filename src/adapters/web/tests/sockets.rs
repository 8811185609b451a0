//! The adapter on a real socket.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::test_server::{FakeStore, TOKEN, io, options, parts};
use crate::adapters::web::listen::{Service, serve};
use crate::adapters::web::server::crowded;
use crate::adapters::web::{BindError, WebAdapter};
use crate::ports::{Adapter, AdapterError, ThreadRequest, ThreadsHandle};

struct Running {
    port: u16,
    requests: mpsc::Receiver<ThreadRequest>,
    stop: CancellationToken,
    tasks: JoinSet<Result<(), AdapterError>>,
    _files: tempfile::TempDir,
}

fn start() -> Running {
    let listener = WebAdapter::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.local_addr().unwrap().port();
    let files = tempfile::tempdir().unwrap();
    let (requests, inbox) = mpsc::channel(4);
    let parts = parts(Arc::new(FakeStore::default()), watch::Sender::new(true).subscribe(), files.path());
    let adapter = WebAdapter::new("web".parse().unwrap(), options(files.path()), parts, listener);
    let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
    tasks.spawn(Arc::new(adapter).run(io(ThreadsHandle::new(requests)), stop.clone()));
    Running { port, requests: inbox, stop, tasks, _files: files }
}

impl Running {
    async fn ask(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let request = format!(
            "{head} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

#[tokio::test]
async fn a_port_in_use_is_told_before_anything_begins() {
    let first = WebAdapter::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = first.local_addr().unwrap();
    let second = WebAdapter::bind(addr).unwrap_err();
    assert!(matches!(second, BindError::InUse(taken) if taken == addr), "{second}");
}

#[tokio::test]
async fn a_stop_lets_open_requests_end_and_takes_no_new_ones() {
    let mut running = start();
    let mut client = running.ask("POST /api/execute", r#"{"instructions":"x"}"#).await;
    let Some(ThreadRequest::Deliver { event, reply }) = running.requests.recv().await else {
        panic!("no message")
    };
    let correlation = "run_1".parse().unwrap();
    reply.send(crate::ports::Acceptance::Accepted { message: event.message.clone(), correlation }).unwrap();
    let Some(ThreadRequest::Await { reply, .. }) = running.requests.recv().await else {
        panic!("nobody waits")
    };

    running.stop.cancel();
    let refused = async {
        // The listener closes as soon as the adapter sees the stop.
        while TcpStream::connect(("127.0.0.1", running.port)).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), refused).await.unwrap();
    reply.send(super::test_server::outcome(crate::uimessage::RunStatus::Done, Vec::new())).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"status\":\"done\""), "{answer}");
    assert!(running.tasks.join_next().await.unwrap().unwrap().is_ok());
}

#[tokio::test]
async fn a_client_that_goes_away_only_stops_listening() {
    let mut running = start();
    let client = running.ask("POST /api/execute", r#"{"instructions":"x"}"#).await;
    let Some(ThreadRequest::Deliver { event, reply }) = running.requests.recv().await else {
        panic!("no message")
    };
    let correlation = "run_1".parse().unwrap();
    reply.send(crate::ports::Acceptance::Accepted { message: event.message.clone(), correlation }).unwrap();
    let Some(ThreadRequest::Await { mut reply, .. }) = running.requests.recv().await else {
        panic!("nobody waits")
    };
    drop(client);
    tokio::time::timeout(Duration::from_secs(5), reply.closed()).await.unwrap();
    assert!(running.requests.try_recv().is_err(), "no stop, no other message");
    running.stop.cancel();
    assert!(running.tasks.join_next().await.unwrap().unwrap().is_ok());
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let running = start();
    let mut client = TcpStream::connect(("127.0.0.1", running.port)).await.unwrap();
    let huge = format!("GET / HTTP/1.1\r\nx: {}\r\n", "x".repeat(100 * 1024));
    // The server may close before all of it is written.
    let _cut = client.write_all(huge.as_bytes()).await.is_err();
    let mut answer = Vec::new();
    let _reset = client.read_to_end(&mut answer).await.is_err();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_says_what_it_wants_is_cut_off() {
    let running = start();
    let mut client = TcpStream::connect(("127.0.0.1", running.port)).await.unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: 127").await.unwrap();
    let began = tokio::time::Instant::now();
    let mut answer = Vec::new();
    let _reset = client.read_to_end(&mut answer).await.is_err();
    assert!(began.elapsed() >= Duration::from_secs(30), "time is paused: only the deadline can have passed");
}

#[tokio::test]
async fn whoever_finds_no_place_is_told_and_probes_are_answered() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stage, _threads) = super::test_server::TestServer::new();
    let service = Service { router: stage.router.clone(), crowded: crowded(stage.web.clone()), places: 1 };
    let stop = CancellationToken::new();
    let (ask, stopping) = (
        async |path: &str| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        },
        stop.clone(),
    );
    let asking = async {
        let first = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let answer = ask("/api/threads").await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after"), "{answer}");
        let answer = ask("/healthz").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        drop(first);
        stopping.cancel();
    };
    let (served, ()) = tokio::join!(serve(listener, service, &stop, Duration::from_secs(5)), asking);
    served.unwrap();
}
