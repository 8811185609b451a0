//! The daemon inside this process, for a chat where none runs. It holds the project's lock for as long as the chat
//! lasts, serves HTTP on a loopback port that is announced nowhere, and logs to files only.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use crate::adapters::web::WebAdapter;
use crate::app::{App, BoundListener};
use crate::commands::daemon_client::{DaemonClient, DaemonError};
use crate::commands::setup::start_logging;
use crate::config::{Env, Settings};
use crate::environment::Environment;
use crate::ports::ThreadStore;
use crate::store::State;
use crate::telemetry::{Console, Guard};

#[derive(Debug)]
pub(super) struct EmbeddedDaemon {
    app: App,
    store: Arc<dyn ThreadStore>,
    address: SocketAddr,
    token: SecretString,
    _logs: Guard,
}

impl EmbeddedDaemon {
    /// Starts a daemon on a state whose lock this process holds. Its token is new for each start.
    pub(super) fn start(settings: &Settings, env: &Env, state: State) -> anyhow::Result<Self> {
        let listener = WebAdapter::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = listener.local_addr()?;
        let token: SecretString =
            format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple()).into();
        let (shell, logs) = start_logging(settings, env, Some(&token), Console::Silent)?;
        let store = state.threads.clone();
        let web = BoundListener { listener, address, token: token.clone(), onboarding: None };
        let app = App::start(settings, state, Environment::real(&settings.model, shell), Some(web))?;
        Ok(Self { app, store, address, token, _logs: logs })
    }

    pub(super) fn client(&self) -> Result<DaemonClient, DaemonError> {
        DaemonClient::new(self.address, self.token.clone())
    }

    /// Stops the daemon; a running turn gets until `grace` is over.
    pub(super) async fn stop(self, grace: Duration) {
        self.app.stop(grace).await;
        self.store.close().await;
    }
}
