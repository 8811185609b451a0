//! The connection to the gateway: keeps one open, submits events, and resumes the session of the last connection, also
//! after a restart.
//!
//! The sequence number is stored only after the threads have accepted the event, so a resumed session repeats every
//! event that was not stored.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{Instant, Interval, MissedTickBehavior, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

use super::api::QqApi;
use super::call_failure::{CallFailure, FailureKind};
use super::event::Dispatch;
use super::gateway::{
    Gateway, GatewayAction, GatewayFrame, GatewaySession, INTENTS, NextConnection, after_close, close_words,
    intent_names,
};
use super::inbound::RawEvent;
use super::phrases::{bad_credentials, no_intents};
use super::sequence_tracker::SequenceTracker;
use super::session::SessionStore;
use crate::adapters::chat::inbound::{InFlight, Pipeline};
use crate::domain::Language;
use crate::ports::{AdapterError, AdapterIo, ChatParts};

/// Deadline of connecting and of the handshake.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// A connection that lasted this long resets the back-off.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// Waits between connections that failed or did not last, in seconds.
const WAITS: [u64; 7] = [0, 1, 2, 5, 10, 30, 60];
/// The wait after a refused session.
const REFUSED: Duration = Duration::from_secs(3);
/// The wait after the platform's rate limit.
const TOO_FAST: Duration = Duration::from_secs(60);
/// How long running event jobs get at shutdown.
const SHUTDOWN_WAIT: Duration = Duration::from_millis(500);

type GatewaySocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The session and sequence number of an event job.
#[derive(Debug)]
struct Label {
    session: String,
    seq: u64,
}

pub(super) struct GatewayConnection {
    pub(super) api: QqApi,
    pub(super) sessions: SessionStore,
    pub(super) parts: ChatParts,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) io: AdapterIo,
    pub(super) stop: CancellationToken,
}

/// State kept between connections.
#[derive(Default)]
struct SessionState {
    tracker: Option<SequenceTracker>,
    /// Events that are being accepted.
    jobs: InFlight<Label>,
    intents: usize,
    /// How many connections in a row failed or did not last.
    failures: usize,
    /// When the platform accepted the current session.
    since: Option<Instant>,
    /// An expired session is being retried once.
    resumed_expired: bool,
}

struct Ended {
    next: NextConnection,
    why: String,
    /// Whether the platform accepted the session.
    live: bool,
}

impl GatewayConnection {
    /// Keeps a connection open until stopped.
    pub(super) async fn run(self) -> Result<(), AdapterError> {
        let mut state = SessionState {
            tracker: self.sessions.recall().await.map(SequenceTracker::new),
            ..SessionState::default()
        };
        loop {
            let ended = tokio::select! {
                ended = self.connect(&mut state) => ended?,
                () = self.stop.cancelled() => break,
            };
            let wait = self.prepare(&mut state, &ended)?;
            tracing::info!(why = ended.why, ?wait, live = ended.live, "gateway connection ended");
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.wait(&mut state, wait) => {}
            }
        }
        // The socket is dropped without a close frame: an orderly close ends the session as well.
        if !state.jobs.is_empty() {
            self.wait(&mut state, SHUTDOWN_WAIT).await;
        }
        Ok(())
    }

    fn language(&self) -> Language {
        self.parts.language.unwrap_or_default()
    }

    /// Runs one connection from its address to its end.
    async fn connect(&self, state: &mut SessionState) -> Result<Ended, AdapterError> {
        let resuming = state.tracker.is_some();
        let failed = |why: String| Ended { next: NextConnection::Resume, why, live: false };
        let (token, url) = match self.address().await {
            Ok(found) => found,
            Err(CallFailure { kind: FailureKind::Credentials, what, .. }) => {
                return Err(AdapterError::Fatal(bad_credentials(&what, self.language())));
            }
            Err(failure) => return Ok(failed(failure.what)),
        };
        let mut socket = match timeout(CONNECT_WITHIN, connect_async(&url)).await {
            Ok(Ok((socket, _))) => socket,
            Ok(Err(error)) => return Ok(failed(format!("cannot connect to the gateway: {error}"))),
            Err(_) => return Ok(failed("the gateway does not answer".to_owned())),
        };
        let session = session_of(state);
        let intents = INTENTS.get(state.intents).copied().unwrap_or_default();
        let mut gateway = Gateway::new(&token, intents, session);
        let (next, why) = self.serve(&mut socket, &mut gateway, state).await;
        // A session may be refused because of its token.
        if matches!(next, NextConnection::NewToken | NextConnection::IdentifyLater) {
            self.api.tokens().reject(&token);
        }
        tracing::debug!(resuming, why, "gateway disconnected");
        Ok(Ended { next, why, live: gateway.is_live() })
    }

    async fn address(&self) -> Result<(SecretString, String), CallFailure> {
        let answer = match self.api.call(Method::GET, "/gateway", None).await {
            // `/gateway/bot` returns the same with more fields; not every server has both.
            Err(failure) if failure.kind == FailureKind::Refused => {
                self.api.call(Method::GET, "/gateway/bot", None).await?
            }
            answer => answer?,
        };
        let url = answer.get("url").and_then(Value::as_str).map(str::to_owned);
        let url = url.ok_or_else(|| CallFailure::unreachable("the platform named no gateway".to_owned()))?;
        Ok((self.api.tokens().get().await?, url))
    }

    async fn serve(
        &self,
        socket: &mut GatewaySocket,
        gateway: &mut Gateway,
        state: &mut SessionState,
    ) -> (NextConnection, String) {
        let mut heartbeats: Option<Interval> = None;
        let deadline = tokio::time::sleep(CONNECT_WITHIN);
        let mut deadline = std::pin::pin!(deadline);
        loop {
            let actions = tokio::select! {
                received = socket.next() => match frame_of(received) {
                    Ok(Some(frame)) => {
                        if gateway.is_live() {
                            self.io.health.alive(self.io.clock.now());
                        }
                        gateway.receive(frame, accepted(state))
                    }
                    Ok(None) => continue,
                    Err(code) => return (after_close(code), close_words(code)),
                },
                () = heartbeat_due(&mut heartbeats), if heartbeats.is_some() => vec![gateway.beat(accepted(state))],
                label = state.jobs.next() => {
                    self.settle(&label, state).await;
                    continue;
                }
                () = &mut deadline, if !gateway.is_live() => {
                    return (NextConnection::Resume, "the platform did not accept the session in time".to_owned());
                }
            };
            for action in actions {
                match action {
                    GatewayAction::BeatEvery(every) => {
                        let mut interval = tokio::time::interval_at(Instant::now() + every, every);
                        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
                        heartbeats = Some(interval);
                    }
                    GatewayAction::Send(frame) => {
                        let sent =
                            timeout(CONNECT_WITHIN, socket.send(Message::text(frame.to_string()))).await;
                        if !matches!(sent, Ok(Ok(()))) {
                            return (NextConnection::Resume, "a frame could not be sent".to_owned());
                        }
                    }
                    GatewayAction::Disconnect(next, why) => return (next, why),
                    GatewayAction::Identified(_) | GatewayAction::Resumed | GatewayAction::Event(..) => {
                        self.perform(action, state).await
                    }
                }
            }
        }
    }

    /// Handles the actions on the session.
    async fn perform(&self, action: GatewayAction, state: &mut SessionState) {
        match action {
            GatewayAction::Identified(session) => {
                tracing::info!(
                    intents = intent_names(INTENTS.get(state.intents).copied().unwrap_or_default()),
                    "session started"
                );
                state.tracker = Some(SequenceTracker::new(session));
                self.session_accepted(state);
                self.sessions.store_session(session_of(state)).await;
            }
            GatewayAction::Resumed => {
                tracing::info!(seq = accepted(state), "session resumed");
                self.session_accepted(state);
            }
            GatewayAction::Event(seq, dispatch) => self.take(seq, dispatch, state),
            GatewayAction::Send(_) | GatewayAction::BeatEvery(_) | GatewayAction::Disconnect(..) => {}
        }
    }

    fn session_accepted(&self, state: &mut SessionState) {
        state.since = Some(Instant::now());
        state.resumed_expired = false;
        self.io.health.alive(self.io.clock.now());
    }

    /// Starts the job of an event. Its position in the order of its chat is taken here.
    fn take(&self, seq: u64, dispatch: Dispatch, state: &mut SessionState) {
        let Some(tracker) = state.tracker.as_mut() else { return };
        tracker.take(seq);
        let label = Label { session: tracker.session.id.clone(), seq };
        let event = RawEvent::value(dispatch, tracker.session.me.clone());
        state.jobs.receive(&self.pipeline, &event, label);
    }

    /// Records that an event is stored.
    async fn settle(&self, label: &Label, state: &mut SessionState) {
        let mine = state.tracker.as_mut().filter(|tracker| tracker.session.id == label.session);
        if mine.is_some_and(|tracker| tracker.settle(label.seq)) {
            self.sessions.store_sequence(session_of(state)).await;
        }
    }

    /// Waits, and records the jobs that finish meanwhile.
    async fn wait(&self, state: &mut SessionState, wait: Duration) {
        let end = Instant::now() + wait;
        while let Ok(label) = tokio::time::timeout_at(end, state.jobs.next()).await {
            self.settle(&label, state).await;
        }
    }

    /// Prepares the next connection and returns the wait before it.
    fn prepare(&self, state: &mut SessionState, ended: &Ended) -> Result<Duration, AdapterError> {
        let floor = match ended.next {
            NextConnection::Resume | NextConnection::NewToken => Duration::ZERO,
            NextConnection::ResumeOnce if state.resumed_expired && !ended.live => {
                state.tracker = None;
                Duration::ZERO
            }
            NextConnection::ResumeOnce => {
                state.resumed_expired = true;
                Duration::ZERO
            }
            NextConnection::Identify => {
                state.tracker = None;
                Duration::ZERO
            }
            NextConnection::IdentifyLater => {
                state.tracker = None;
                REFUSED
            }
            NextConnection::SlowDown => TOO_FAST,
            NextConnection::FewerIntents => {
                self.drop_intents(state)?;
                Duration::ZERO
            }
            NextConnection::Stop => return Err(AdapterError::Fatal(format!("QQ: {}", ended.why))),
        };
        // The platform limits sessions per day: a session that is accepted and soon closed must not reset the back-off.
        if state.since.take().is_some_and(|since| since.elapsed() >= STABLE_AFTER) {
            state.failures = 0;
        }
        let wait = WAITS.get(state.failures).or(WAITS.last()).copied().unwrap_or_default();
        state.failures += 1;
        // Up to a quarter less, so that clients that lost their connections together do not reconnect together.
        let spread = Duration::from_secs(wait).mul_f64(1.0 - 0.25 * self.parts.ids.chance());
        Ok(spread.max(floor))
    }

    fn drop_intents(&self, state: &mut SessionState) -> Result<(), AdapterError> {
        let before = INTENTS.get(state.intents).copied().unwrap_or_default();
        state.intents += 1;
        state.tracker = None;
        let Some(now) = INTENTS.get(state.intents).copied() else {
            let names = intent_names(INTENTS.first().copied().unwrap_or_default());
            return Err(AdapterError::Fatal(no_intents(&names, self.language())));
        };
        tracing::warn!(
            asked = intent_names(before),
            asking_now_for = intent_names(now),
            missing = intent_names(before & !now),
            "intents not granted: request the missing ones in the bot's console"
        );
        Ok(())
    }
}

fn session_of(state: &SessionState) -> Option<GatewaySession> {
    // A session without an id cannot be resumed.
    state.tracker.as_ref().map(|tracker| tracker.session.clone()).filter(|session| !session.id.is_empty())
}

fn accepted(state: &SessionState) -> Option<u64> {
    state.tracker.as_ref().map(|tracker| tracker.session.seq)
}

async fn heartbeat_due(heartbeats: &mut Option<Interval>) {
    match heartbeats {
        Some(heartbeats) => {
            heartbeats.tick().await;
        }
        None => std::future::pending().await,
    }
}

/// The frame of a socket message, `None` where it holds none, or the close code.
fn frame_of(
    received: Option<Result<Message, tokio_tungstenite::tungstenite::Error>>,
) -> Result<Option<GatewayFrame>, Option<u16>> {
    match received {
        Some(Ok(Message::Close(close))) => Err(close.map(|close| u16::from(close.code))),
        Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
            let frame = GatewayFrame::read(&message.into_data());
            if frame.is_none() {
                tracing::warn!("gateway frame not readable");
            }
            Ok(frame)
        }
        Some(Ok(_)) => Ok(None),
        Some(Err(error)) => {
            tracing::debug!(%error, "gateway connection failed");
            Err(None)
        }
        None => Err(None),
    }
}
