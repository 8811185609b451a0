//! Probes each configured chat platform: its bot, and its missing rights. Concurrent, with a deadline, and without
//! messages to people.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::fact::Fact;
use crate::adapters::chat::probe;
use crate::config::{AdapterSettings, Settings};
use crate::ports::{Clock, ProbeParts};

/// Deadline of one platform.
const PATIENCE: Duration = Duration::from_secs(30);

/// Builds the HTTP client; called only where a platform is configured.
pub type HttpFactory<'a> = &'a (dyn Fn() -> Result<reqwest::Client, String> + Send + Sync);

/// Probes all configured platforms.
pub(super) async fn probe_platforms(
    settings: &Settings,
    http: HttpFactory<'_>,
    clock: &Arc<dyn Clock>,
) -> Vec<Fact> {
    let language = settings.operator_language;
    let probes = settings.adapters.iter().map(async |AdapterSettings { def, section }| {
        let mut found = match http() {
            Ok(http) => {
                let with = ProbeParts { http, clock: clock.clone(), language };
                let probed = tokio::time::timeout(PATIENCE, section.probe(with)).await;
                probed.unwrap_or_else(|_| vec![probe::silent(def, PATIENCE.as_secs(), language)])
            }
            Err(detail) => vec![probe::unreachable(def, &detail, language)],
        };
        // Equal findings of several calls are reported once.
        found.dedup();
        found.into_iter().map(|probe| Fact::Chat { platform: def.name, probe }).collect::<Vec<_>>()
    });
    join_all(probes).await.into_iter().flatten().collect()
}
