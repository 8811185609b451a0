//! The daemon's health: for probes, for Prometheus, for the console.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::problem::Problem;
use super::server::Web;
use crate::blocking::PoolProbe;
use crate::domain::{Language, Platform, SandboxReport};
use crate::ports::{ConfigurationState, Finding, OnboardingMode, StoreTotals};

/// The process is alive and its pool of blocking threads responds: permission checks, tools and the store need it.
pub(super) async fn healthz(pool: PoolProbe) -> Response {
    if pool.answers().await {
        "ok\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "pool exhausted\n").into_response()
    }
}

/// The threads are recovered and every adapter has passed its first check.
pub(super) async fn readyz(State(web): State<Arc<Web>>) -> Response {
    if *web.parts.recovered.borrow() && web.parts.healths.ready() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting\n").into_response()
    }
}

pub(super) async fn metrics(State(web): State<Arc<Web>>) -> Response {
    let mut text = web.parts.metrics.render();
    text.push_str(&store_totals(&web.parts.store.totals()));
    text.push_str(&web.parts.spending.gauges());
    text.push_str(
        "# HELP shipagent_adapter_up Whether an adapter works.\n# TYPE shipagent_adapter_up gauge\n",
    );
    for report in web.parts.healths.reports(web.clock.now()) {
        let up = u8::from(report.health.word() == "up");
        text.push_str(&format!("shipagent_adapter_up{{adapter=\"{}\"}} {up}\n", report.platform));
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// The store's counters in Prometheus format.
fn store_totals(totals: &StoreTotals) -> String {
    let StoreTotals { commits, failures, syncs, sync_time } = totals;
    let seconds = sync_time.as_secs_f64();
    format!(
        "# HELP shipagent_commits_total Writes to threads, by what became of them.\n\
         # TYPE shipagent_commits_total counter\n\
         shipagent_commits_total{{result=\"written\"}} {commits}\n\
         shipagent_commits_total{{result=\"refused\"}} {failures}\n\
         # HELP shipagent_journal_syncs_total Waits for the disk.\n\
         # TYPE shipagent_journal_syncs_total counter\n\
         shipagent_journal_syncs_total {syncs}\n\
         # HELP shipagent_journal_sync_seconds_total How long the waits for the disk took.\n\
         # TYPE shipagent_journal_sync_seconds_total counter\n\
         shipagent_journal_sync_seconds_total {seconds}\n"
    )
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Info {
    name: String,
    version: String,
    /// `auto`, `en` or `zh`.
    #[schemars(with = "String")]
    language: &'static str,
    model: ModelInfo,
    /// What of the configuration needs a restart, and what is wrong with its files.
    configuration: ConfigurationState,
    adapters: Vec<AdapterInfo>,
    /// `null` where the project has a `ship.json`.
    onboarding: Option<OnboardingMode>,
    /// `null` until it is known.
    sandbox: Option<SandboxReport>,
    voice: VoiceInfo,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct ModelInfo {
    provider: String,
    name: String,
    /// Whether a conversation can be given another model.
    selectable: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct AdapterInfo {
    name: Platform,
    #[schemars(with = "String")]
    state: &'static str,
    detail: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
struct VoiceInfo {
    /// Whether recordings are transcribed.
    listens: bool,
    /// Whether answers are spoken.
    speaks: bool,
}

/// What the checks of `shipagent doctor` found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CheckupResult {
    checks: Vec<Finding>,
}

/// How long the checks may take; each has a shorter deadline of its own.
const CHECKUP: Duration = Duration::from_secs(90);

/// Runs the checks of `shipagent doctor`.
pub(super) async fn checkup(
    State(web): State<Arc<Web>>,
    headers: HeaderMap,
) -> Result<Json<CheckupResult>, Problem> {
    let Some(checkup) = &web.parts.checkup else { return Err(Problem::not_found("check")) };
    match tokio::time::timeout(CHECKUP, checkup.run(web.words(&headers))).await {
        Ok(checks) => Ok(Json(CheckupResult { checks })),
        Err(_) => Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "the checks took too long")),
    }
}

/// The identity and health of the daemon.
pub(super) async fn info(State(web): State<Arc<Web>>) -> Json<Info> {
    Json(info_of(&web))
}

pub(super) fn info_of(web: &Web) -> Info {
    let options = &web.options;
    let reports = web.parts.healths.reports(web.clock.now());
    let adapters = reports.iter().map(|report| AdapterInfo {
        name: report.platform.clone(),
        state: report.health.word(),
        detail: report.health.detail(),
    });
    Info {
        name: options.name.clone(),
        version: options.version.clone(),
        language: options.language.map_or("auto", Language::code),
        model: ModelInfo {
            provider: options.provider.clone(),
            name: web.parts.configuration.model(),
            selectable: !web.parts.models.named().is_empty(),
        },
        configuration: web.parts.configuration.state(),
        adapters: adapters.collect(),
        onboarding: web.parts.onboarding.as_ref().map(|onboarding| onboarding.mode()),
        sandbox: web.parts.sandbox.borrow().clone(),
        voice: VoiceInfo { listens: options.listens, speaks: web.parts.speech.is_some() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_fails_while_the_blocking_pool_is_exhausted() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let pool = PoolProbe::default();
            assert_eq!(healthz(pool.clone()).await.status(), StatusCode::OK);
            let (release, released) = std::sync::mpsc::channel::<()>();
            let stuck = tokio::task::spawn_blocking(move || released.recv().is_ok());
            assert_eq!(healthz(pool.clone()).await.status(), StatusCode::SERVICE_UNAVAILABLE);
            drop(release);
            stuck.await.unwrap();
            assert_eq!(healthz(pool).await.status(), StatusCode::OK);
        });
    }
}
