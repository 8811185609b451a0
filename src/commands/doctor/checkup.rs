//! The checks with the models, platforms and sandbox of this machine, for the command line and the console.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::fact::{Fact, Severity};
use super::fact_text::say;
use super::report::{DoctorInput, examine, print};
use crate::cli::{Exit, Output};
use crate::config::{Endpoint, Env, ModelSettings, Settings};
use crate::domain::Language;
use crate::http_client::Http;
use crate::model::list_models;
use crate::model_setup::model_of;
use crate::ports::{AdapterTable, BoxFuture, Checkup, Finding, SystemClock};
use crate::reload::ConfigSource;
use crate::sandbox;
use crate::voice_setup::speech_providers;

/// Runs the checks and prints their findings.
pub async fn doctor_here(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    output: Output,
    out: &mut dyn Write,
) -> std::io::Result<Exit> {
    let (facts, language) = examine_here(project, env, adapters).await;
    print(&facts, language, output, out)
}

/// Asks the models and platforms that the daemon itself would ask.
async fn examine_here(project: &Path, env: &Env, adapters: &AdapterTable) -> (Vec<Fact>, Language) {
    let model = |settings: &ModelSettings| Ok(model_of(settings));
    let sandbox = || sandbox::probe(&sandbox::own_binary());
    let connections = Http::new();
    let models = |endpoint: Endpoint| -> BoxFuture<'_, _> {
        let connections = &connections;
        Box::pin(async move { list_models(connections, &endpoint.base_url, endpoint.api_key.as_ref()).await })
    };
    let http = || connections.far().map_err(|error| error.to_string());
    let speech = |settings: &Settings| {
        speech_providers(settings, &connections, &env.all(), &sandbox).map_err(|error| error.to_string())
    };
    let input = DoctorInput {
        project,
        env,
        adapters,
        clock: Arc::new(SystemClock),
        model: &model,
        models: &models,
        http: &http,
        speech: &speech,
        sandbox: &sandbox,
    };
    examine(input).await
}

/// The checks of a running daemon.
#[derive(Debug)]
pub struct DaemonCheckup {
    source: ConfigSource,
}

impl DaemonCheckup {
    pub fn new(source: ConfigSource) -> Self {
        Self { source }
    }
}

impl Checkup for DaemonCheckup {
    fn run(&self, language: Language) -> BoxFuture<'_, Vec<Finding>> {
        let source = self.source.clone();
        Box::pin(async move {
            // The checks block on disks and processes, so they get a thread and a runtime of their own.
            let checks = tokio::task::spawn_blocking(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let (facts, _) =
                    runtime.block_on(examine_here(&source.project, &source.env, &source.adapters));
                Ok::<_, std::io::Error>(facts.iter().map(|fact| finding(fact, language)).collect())
            });
            match checks.await {
                Ok(Ok(findings)) => findings,
                Ok(Err(error)) => vec![failed(&error.to_string())],
                Err(error) => vec![failed(&error.to_string())],
            }
        })
    }
}

fn finding(fact: &Fact, language: Language) -> Finding {
    let (message, fix) = say(fact, language);
    let status = match fact.severity() {
        Severity::Ok => "ok",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    Finding { check: fact.check().to_owned(), status: status.to_owned(), message, fix }
}

/// The checks could not be run at all.
fn failed(why: &str) -> Finding {
    Finding { check: "doctor".to_owned(), status: "error".to_owned(), message: why.to_owned(), fix: None }
}
