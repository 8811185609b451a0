//! Builds the chat adapters of a daemon from its settings. Names no platform: each is built by its line in the adapter
//! table.

use std::sync::Arc;

use crate::config::{AdapterSettings, Approver, Settings};
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
