//! The agent inside this process. It has the project's lock for as long as the conversation lasts, and logs to
//! files only: the terminal belongs to the conversation.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::sync::broadcast::error::RecvError;

use super::line::{LineError, Taken, ThreadEvent, fresh_id};
use crate::app::{App, Environment, ShellWorld};
use crate::config::{Env, Settings};
use crate::domain::{
    Author, AuthorId, AuthorRole, ChatKind, CommandInvocation, IngressEvent, IngressKind, Intent, Language,
    MessageId, Said, ThreadId,
};
use crate::http_client::install_tls;
use crate::ports::{Acceptance, Clock, Subscription, SystemClock, ThreadStore};
use crate::render::Phrase;
use crate::store::{State, daemon_log};
use crate::telemetry::{self, Console, Guard, Options, Redactor};
use crate::uimessage::{Cursor, UiMessage};

/// Whoever sits at the terminal.
const OPERATOR: &str = "operator";

/// The agent inside this process.
#[derive(Debug)]
pub(super) struct Local {
    app: App,
    store: Arc<dyn ThreadStore>,
    thread: ThreadId,
    author: Author,
    language: Language,
    watching: Option<Subscription>,
    /// The live answer, as far as it was told.
    told: Option<Cursor>,
    heard: VecDeque<ThreadEvent>,
    _logs: Guard,
}

impl Local {
    /// Starts the agent on a state whose lock is ours.
    pub(super) async fn start(
        settings: &Settings,
        env: &Env,
        state: State,
        thread: ThreadId,
    ) -> anyhow::Result<Self> {
        let secrets = settings.secrets.iter().map(|secret| secret.expose_secret().to_owned());
        let redactor = Redactor::new(secrets)?;
        let shell = ShellWorld { environment: env.all(), redactor: redactor.clone() };
        let logs = telemetry::init(Options {
            filter: env.get("SHIPAGENT_LOG").unwrap_or_default().to_owned(),
            console: Console::Silent,
            logs: Some(Box::new(daemon_log(&settings.state)?)),
            redactor,
        })?;
        install_tls();
        let author =
            Author { id: AuthorId::new(thread.platform(), OPERATOR)?, name: None, role: AuthorRole::Person };
        let store = state.threads.clone();
        let app = App::start(settings, state, Environment::real(&settings.model, shell), None)?;
        let watching = watch(&app, &thread).await;
        Ok(Self {
            app,
            store,
            thread,
            author,
            language: settings.operator_language,
            watching,
            told: None,
            heard: VecDeque::new(),
            _logs: logs,
        })
    }

    pub(super) async fn say(&self, text: &str) -> Result<Taken, LineError> {
        let message: MessageId = fresh_id().parse().map_err(refused)?;
        let kind = match CommandInvocation::parse(text) {
            Some(order) => IngressKind::Command(order),
            None => IngressKind::Said(Said { text: text.to_owned(), ..Said::default() }),
        };
        let event = IngressEvent {
            thread: self.thread.clone(),
            author: self.author.clone(),
            platform_message: message.as_str().to_owned(),
            message,
            at: SystemClock.now(),
            chat: ChatKind::Direct,
            kind,
        };
        let phrase = match self.app.threads.deliver(event).await {
            Acceptance::Accepted { message, correlation } => return Ok(Taken { message, correlation }),
            Acceptance::Duplicate { message } => return Err(refused(format!("{message} was said before"))),
            Acceptance::Refused(why) => return Err(LineError::Refused(why)),
            Acceptance::StorageFailed(why) => {
                let words = Phrase::StorageFailed.say(self.language);
                return Err(LineError::Refused(format!("{words} ({why})")));
            }
            Acceptance::Busy => Phrase::Busy,
            Acceptance::Stopping => Phrase::Stopping,
        };
        Err(LineError::Refused(phrase.say(self.language)))
    }

    pub(super) async fn next(&mut self) -> ThreadEvent {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            let Some(watching) = &mut self.watching else {
                self.watching = watch(&self.app, &self.thread).await;
                return if self.watching.is_some() { ThreadEvent::Reload } else { ThreadEvent::Gone };
            };
            tokio::select! {
                biased;
                message = watching.messages.recv() => match message {
                    Ok(message) => return ThreadEvent::Written(message),
                    Err(RecvError::Lagged(_)) => return ThreadEvent::Reload,
                    Err(RecvError::Closed) => self.watching = None,
                },
                Ok(notice) = watching.notices.recv() => self.heard.extend(passing(notice)),
                changed = watching.view.changed() => match changed {
                    Ok(()) => {
                        let live = watching.view.borrow_and_update().live.clone();
                        self.tell(live.as_deref());
                    }
                    Err(_) => self.watching = None,
                },
            }
        }
    }

    /// Tells what is new in the live answer.
    fn tell(&mut self, live: Option<&UiMessage>) {
        let Some(live) = live else {
            self.told = None;
            return;
        };
        // Another answer, or the same one begun anew, is told from its beginning.
        let mut told = self.told.take().filter(|told| told.fits(live)).unwrap_or_default();
        let chunks = told.advance(live).into_iter();
        self.heard.extend(chunks.map(|chunk| ThreadEvent::Chunk { message: live.id.clone(), chunk }));
        self.told = Some(told);
    }

    pub(super) async fn recent(&self, limit: usize) -> Result<Vec<UiMessage>, LineError> {
        self.store.page(&self.thread, None, limit).await.map_err(refused)
    }

    pub(super) async fn hang_up(self, grace: Duration) {
        self.app.stop(grace).await;
        self.store.close().await;
    }
}

/// Watches the thread, beginning with the live answer as it stands.
async fn watch(app: &App, thread: &ThreadId) -> Option<Subscription> {
    let mut watching = app.threads.watch(thread.clone()).await?;
    watching.view.mark_changed();
    Some(watching)
}

fn refused(error: impl std::fmt::Display) -> LineError {
    LineError::Refused(error.to_string())
}

fn passing(intent: Intent) -> Option<ThreadEvent> {
    match intent {
        Intent::Progress { text, .. } => Some(ThreadEvent::Progress(text)),
        Intent::Error { text, .. } => Some(ThreadEvent::Trouble(text)),
        Intent::AssistantText { .. }
        | Intent::AssistantDelta { .. }
        | Intent::Typing
        | Intent::ApprovalRequest { .. }
        | Intent::ApprovalAskBack { .. }
        | Intent::ApprovalResolved { .. }
        | Intent::Attachment { .. } => None,
    }
}
