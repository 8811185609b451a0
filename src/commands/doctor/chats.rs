//! Probes each configured chat platform: who its bot is and what it lacks. All at once, in bounded time, and no message is
//! sent to people.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::fact::Fact;
use crate::adapters::chat::probe;
use crate::config::{AdapterSettings, Settings};
use crate::ports::{Clock, ProbeParts};

/// The longest a platform is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the client that talks to the platforms. Called only where there is one to talk to.
pub type HttpFactory<'a> = &'a (dyn Fn() -> Result<reqwest::Client, String> + Send + Sync);

/// Probes all that are configured.
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
        // Two calls that failed for one reason are one finding.
        found.dedup();
        found.into_iter().map(|probe| Fact::Chat { platform: def.name, probe }).collect::<Vec<_>>()
    });
    join_all(probes).await.into_iter().flatten().collect()
}
