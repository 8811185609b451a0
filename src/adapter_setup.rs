//! Builds the adapters of a daemon from its settings. Names no chat platform: each is built by its line in the adapter
//! table.

use std::sync::Arc;

use crate::adapters::web::{WebAdapter, WebOptions, WebParts};
use crate::adapters::{AdapterSet, ReloadableAdapter};
use crate::app::BoundListener;
use crate::config::{AdapterSettings, Approver, Provider, Settings};
use crate::daemon_parts::DaemonParts;
use crate::domain::Platform;
use crate::http_client::Http;
use crate::metrics::Metrics;
use crate::policy_setup::rights;
use crate::ports::{AdapterParts, AnswerRights, BuiltAdapter, ChatParts, Clock, EnrichStep, Ids};
use crate::store::State;

/// The inputs that all chat adapters share.
#[derive(Debug)]
pub(crate) struct AdapterInput<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) state: State,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) http: Http,
    /// The steps between an accepted message and its turn, in this order.
    pub(crate) enrich: Arc<[Arc<dyn EnrichStep>]>,
}

/// Builds every chat adapter that the settings enable, inside the runtime. Opens no connections.
pub(crate) fn build_adapters(
    input: &AdapterInput<'_>,
) -> Result<Vec<(&'static str, BuiltAdapter)>, reqwest::Error> {
    let mut built = Vec::new();
    for adapter in &input.settings.adapters {
        match build_adapter(input, adapter)? {
            Some(one) => built.push((adapter.def.name, one)),
            None => {
                let adapter = adapter.def.name;
                tracing::error!(adapter, "adapter left out: its name cannot begin the id of a thread");
            }
        }
    }
    Ok(built)
}

/// Builds one of them; `None` where its name cannot begin the id of a thread.
pub(crate) fn build_adapter(
    input: &AdapterInput<'_>,
    AdapterSettings { def, section }: &AdapterSettings,
) -> Result<Option<BuiltAdapter>, reqwest::Error> {
    let Ok(platform) = def.name.parse::<Platform>() else { return Ok(None) };
    Ok(Some(section.build(input.parts(platform, section.server())?)))
}

impl AdapterInput<'_> {
    /// The parts for the adapter of a platform whose server is at this address.
    fn parts(&self, platform: Platform, server: &str) -> Result<AdapterParts, reqwest::Error> {
        let Settings { owners, approvals, language, .. } = self.settings;
        let rights = rights(self.settings);
        let approvers = approvals.approvers.iter().filter_map(|approver| match approver {
            Approver::Person(person) => Some(person),
            Approver::Requester | Approver::Owners | Approver::Admins => None,
        });
        Ok(AdapterParts {
            owners: owners.iter().filter(|owner| owner.platform() == platform).cloned().collect(),
            approvers: approvers.filter(|person| person.platform() == platform).cloned().collect(),
            admins_decide: approvals.approvers.contains(&Approver::Admins),
            metrics: self.metrics.clone(),
            chat: ChatParts {
                approvals: self.state.approvals.clone(),
                access: self.state.access.clone(),
                answer_rights: AnswerRights::new(move |asked, by, role| rights.may_decide(asked, by, role)),
                notes: self.state.notes.nested(platform.as_str()),
                http: self.http.client(server)?,
                files: self.state.files.clone(),
                clock: self.clock.clone(),
                ids: self.ids.clone(),
                language: *language,
                enrich: self.enrich.clone(),
            },
            platform,
        })
    }
}

/// The chat adapters of a daemon; changed settings may replace each.
pub(crate) fn chat_adapters(
    parts: &DaemonParts<'_>,
) -> Result<Vec<(&'static str, Arc<ReloadableAdapter>)>, reqwest::Error> {
    let built = build_adapters(&AdapterInput {
        settings: parts.settings,
        state: parts.state.clone(),
        metrics: parts.metrics.clone(),
        clock: parts.environment.clock.clone(),
        ids: parts.environment.ids.clone(),
        http: parts.environment.http.clone(),
        enrich: parts.voice.enrich.clone(),
    })?;
    Ok(built.into_iter().map(|(name, built)| (name, ReloadableAdapter::new(built))).collect())
}

/// The platforms where the agent may only answer.
pub(crate) fn reply_only(built: &[(&'static str, Arc<ReloadableAdapter>)]) -> Vec<Platform> {
    let adapters = built.iter().map(|(_, adapter)| adapter.built().adapter);
    let reply_only = adapters.filter(|adapter| adapter.capabilities().replies_per_message.is_some());
    reply_only.map(|adapter| adapter.platform()).collect()
}

/// The platform of the threads in which tasks run.
pub(crate) fn task_platform() -> Option<Platform> {
    platform("task")
}

fn platform(name: &str) -> Option<Platform> {
    name.parse().ok()
}

/// All adapters of this daemon: chat platforms, and the web listener.
pub(crate) fn adapter_set(
    settings: &Settings,
    web: Option<BoundListener>,
    parts: WebParts,
    built: Vec<BuiltAdapter>,
) -> AdapterSet {
    let mut set =
        built.into_iter().map(|built| built.adapter).fold(AdapterSet::default(), AdapterSet::with_adapter);
    for name in ["api", "cli", "web"] {
        set = platform(name).into_iter().fold(set, AdapterSet::with_surface);
    }
    set = task_platform().into_iter().fold(set, AdapterSet::with_unattended);
    let (Some(web), Some(name)) = (web, platform("web")) else { return set };
    let options = WebOptions {
        listen: web.address,
        token: web.token,
        allowed_hosts: settings.web.as_ref().map(|web| web.allowed_hosts.clone()).unwrap_or_default(),
        allowed_origins: settings.web.as_ref().map(|web| web.allowed_origins.clone()).unwrap_or_default(),
        name: settings.name.clone(),
        language: settings.language,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: match settings.model.provider {
            Provider::Offline => "offline".to_owned(),
            Provider::OpenAi(_) => "openai".to_owned(),
        },
        operator_name: None,
        listens: settings.voice.stt.is_some(),
        // The console distinguishes the logins stored in a browser by this path.
        project: settings.state.join("files"),
        stop_grace: settings.limits.stop,
    };
    set.with_adapter(Arc::new(WebAdapter::new(name, options, parts, web.listener)))
}
