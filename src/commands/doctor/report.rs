//! Runs all checks in order and prints the report.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join;
use serde_json::json;

use super::fact::{Fact, Severity};
use super::fact_text::say;
use super::groups::groups;
use super::model::{ListModels, ModelFactory, ask_all, old_prices};
use super::platforms::{HttpFactory, probe_platforms};
use super::probes;
use super::voice::{SpeechFactory, probe_voice};
use crate::cli::{Exit, Output};
use crate::commands::terminal::pad;
use crate::config::{Env, Provider, Settings, read_agent_md};
use crate::distil::{AgentRules, DistilEvery};
use crate::domain::Language;
use crate::phrases::doctor as words;
use crate::policy_setup::sandbox_mode;
use crate::ports::{AdapterTable, Clock};
use crate::sandbox::{SandboxMode, SandboxStatus};

/// Width of the check names.
const CHECK_COLUMNS: usize = 11;

/// Dependencies of the checks; tests replace them.
#[expect(missing_debug_implementations, reason = "holds a function; lives for one call")]
#[derive(Clone)]
pub struct DoctorInput<'a> {
    pub project: &'a Path,
    pub env: &'a Env,
    /// The platforms there are.
    pub adapters: &'a AdapterTable,
    pub clock: Arc<dyn Clock>,
    /// Builds a model from its settings.
    pub model: ModelFactory<'a>,
    /// Lists the models of a server.
    pub models: ListModels<'a>,
    /// Builds the HTTP client for chat platforms.
    pub http: HttpFactory<'a>,
    /// Builds the speech providers of the settings.
    pub speech: SpeechFactory<'a>,
    /// Probes the sandbox of this machine.
    pub sandbox: &'a (dyn Fn() -> SandboxStatus + Sync),
}

/// Runs all checks and prints their findings. Fails when something must be repaired.
pub async fn doctor(surgery: DoctorInput<'_>, output: Output, out: &mut dyn Write) -> io::Result<Exit> {
    let (facts, language) = examine(surgery).await;
    print(&facts, language, output, out)
}

/// Prints findings; the exit code says whether something must be repaired.
pub(super) fn print(
    facts: &[Fact],
    language: Language,
    output: Output,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    if output.json {
        let checks: Vec<_> = facts.iter().map(|fact| as_json(fact, language)).collect();
        let ok = facts.iter().all(|fact| fact.severity() != Severity::Error);
        writeln!(out, "{:#}", json!({ "ok": ok, "checks": checks }))?;
    } else {
        for fact in facts {
            write_line(fact, language, out)?;
        }
        writeln!(out, "\n{}", summary(facts, language))?;
    }
    let worst = facts.iter().map(Fact::severity).max().unwrap_or(Severity::Ok);
    Ok(if worst == Severity::Error { Exit::Failed } else { Exit::Ok })
}

pub(super) async fn examine(surgery: DoctorInput<'_>) -> (Vec<Fact>, Language) {
    let DoctorInput { project, env, adapters, clock, model, models, http, speech, sandbox } = surgery;
    let settings = Settings::load(project, env, adapters);
    let mut facts = Vec::new();
    let language = match &settings {
        Ok(settings) => settings.operator_language,
        Err(errors) => errors.language,
    };
    let state = project.canonicalize().unwrap_or_else(|_| project.to_owned()).join(".ship");
    let lock = probes::lock(&state);
    let wanted = settings.as_ref().map_or(SandboxMode::Auto, sandbox_mode);
    let sockets = settings.as_ref().ok().map(|settings| settings.permissions.exec_shell.sockets.clone());
    let memory = settings.as_ref().ok().map(|settings| settings.limits.command_memory_mb);
    match settings {
        Ok(settings) => {
            facts.push(Fact::AgentMd { characters: settings.agent_md.chars().count() });
            facts.push(Fact::Config { has_file: project.join("ship.json").exists() });
            facts.extend(settings.warnings.iter().cloned().map(Fact::ConfigWarning));
            let rules = AgentRules::read(&settings.agent_md);
            let every = DistilEvery::of(settings.memory.distil_every, &rules);
            facts.push(Fact::Learning { auto: settings.memory.auto, every });
            facts.push(Fact::Scopes {
                dm_scope: settings.memory.scopes.dm_scope,
                linked: settings.memory.scopes.identities.len(),
                history: settings.memory.history,
            });
            facts.extend(groups(&settings, &clock).await);
            facts.extend(settings.idle_adapters.iter().cloned().map(Fact::IdleAdapter));
            if matches!(settings.model.provider, Provider::Offline) {
                facts.push(Fact::Offline { key_unused: env.filled("OPENAI_API_KEY").is_some() });
            }
            if matches!(settings.model.provider, Provider::OpenAi(_)) {
                facts.extend(old_prices(clock.now()));
            }
            let models = ask_all(&settings.model, model, models, &*clock);
            let (models, platforms) = join(models, probe_platforms(&settings, http, &clock)).await;
            facts.extend(models.into_iter().chain(platforms));
            facts.extend(probe_voice(&settings, speech, &*clock).await);
            if let Some(web) = &settings.web {
                facts.push(probes::port(web.listen, web.listen_chosen, &lock));
                if !web.listen.ip().is_loopback() {
                    facts.push(Fact::OpenListen(web.listen));
                }
                facts.push(probes::token(web.token.as_ref(), web.listen));
            }
        }
        Err(errors) => {
            match errors.agent_md {
                Some(error) => facts.push(Fact::NoAgentMd(error)),
                None => {
                    let text = read_agent_md(project).unwrap_or_default();
                    facts.push(Fact::AgentMd { characters: text.chars().count() });
                }
            }
            facts.extend(errors.problems.into_iter().map(Fact::ConfigProblem));
        }
    }
    facts.push(probes::writable(&state));
    facts.extend(probes::private(&state));
    facts.extend(probes::tracked(project));
    facts.extend(probes::disk(project));
    let memory = memory.map(|command_mb| probes::memory(command_mb, &lock));
    facts.push(lock);
    facts.extend(probes::sandbox(wanted, sockets.unwrap_or_default(), sandbox));
    facts.extend(memory);
    let zone = jiff::tz::TimeZone::system().iana_name().map(str::to_owned);
    facts.push(probes::clock(clock.now(), zone));
    (facts, language)
}

fn write_line(fact: &Fact, language: Language, out: &mut dyn Write) -> io::Result<()> {
    let (message, advice) = say(fact, language);
    let mark = match fact.severity() {
        Severity::Ok => '✓',
        Severity::Warning => '!',
        Severity::Error => '✗',
    };
    let check = words::check(fact.check(), language).unwrap_or(fact.check());
    writeln!(out, "{mark} {} {message}", pad(check, CHECK_COLUMNS))?;
    match advice {
        Some(advice) => writeln!(out, "  {} → {advice}", pad("", CHECK_COLUMNS)),
        None => Ok(()),
    }
}

fn as_json(fact: &Fact, language: Language) -> serde_json::Value {
    let (message, fix) = say(fact, language);
    json!({ "check": fact.check(), "status": fact.severity(), "message": message, "fix": fix })
}

fn summary(facts: &[Fact], language: Language) -> String {
    let count = |severity| facts.iter().filter(|fact| fact.severity() == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    match (errors, warnings) {
        (0, 0) => words::all_is_well(language).to_owned(),
        _ => words::summary(errors, warnings, language),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::config::ModelSettings;
    use crate::domain::Timestamp;
    use crate::ports::Model;
    use crate::sandbox::{Isolation, IsolationLevel};

    #[derive(Debug)]
    struct FixedClock;

    impl Clock for FixedClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(1_790_000_000_000)
        }
    }

    fn no_model(_: &ModelSettings) -> Result<Arc<dyn Model>, String> {
        Err("no network here".to_owned())
    }

    fn kept_in() -> SandboxStatus {
        SandboxStatus {
            level: IsolationLevel::Full,
            isolation: Isolation::Namespaces,
            landlock: 7,
            reasons: Vec::new(),
        }
    }

    async fn run(files: &[(&str, &str)], env: Env, output: Output) -> (String, Exit) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            File::create(dir.path().join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let surgery = DoctorInput {
            project: dir.path(),
            env: &env,
            adapters: &crate::adapters::builtin(),
            clock: Arc::new(FixedClock),
            model: &no_model,
            models: &|_| Box::pin(async { Err("no network here".to_owned()) }),
            http: &|| Err("no network here".to_owned()),
            speech: &|_| Err("no network here".to_owned()),
            sandbox: &kept_in,
        };
        let mut out = Vec::new();
        let exit = doctor(surgery, output, &mut out).await.unwrap();
        (String::from_utf8(out).unwrap(), exit)
    }

    const FREE_PORT: (&str, &str) =
        ("ship.json", r#"{ "adapters": { "web": { "listen": "127.0.0.1:0" } } }"#);

    #[tokio::test]
    async fn a_sound_project_has_nothing_to_mend() {
        let (text, exit) =
            run(&[("Agent.md", "Be kind."), FREE_PORT], Env::default(), Output::default()).await;
        assert_eq!(exit, Exit::Ok, "{text}");
        assert!(
            text.starts_with("✓ agent       Agent.md has 8 characters\n✓ config      ship.json is valid\n"),
            "{text}"
        );
        for line in [
            "✓ model       the built-in",
            "✓ port        127.0.0.1:0",
            "✓ lock        no daemon",
            "✓ sandbox     on (Landlock 7, namespaces)",
            "✓ memory      a command may use ",
            "✓ clock       it is 2026",
            "✓ scopes      direct chats use memory per-channel-peer (0 identities linked); history is searched per thread",
            "✓ learning    notes are taken from conversations; core memory changes only when a person agrees, distilled every 30 \
             turns (the default)",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[tokio::test]
    async fn the_rule_for_memory_in_agent_md_is_told_as_it_was_understood() {
        for (agent, ship, told) in [
            ("每 12 轮提炼一次", r#"{}"#, "distilled every 12 turns (Agent.md: “每 12 轮提炼一次”)"),
            ("- Never distil.", r#"{}"#, "never distilled (Agent.md: “Never distil.”)"),
            (
                "Distil every 7 turns.",
                r#"{ "memory": { "distilEvery": 9, "auto": "write" } }"#,
                "core memory is written without asking, distilled every 9 turns (ship.json: memory.distilEvery)",
            ),
            (
                "x",
                r#"{ "memory": { "auto": "off" } }"#,
                "✓ learning    nothing is learned from conversations",
            ),
        ] {
            let (text, _) =
                run(&[("Agent.md", agent), ("ship.json", ship)], Env::default(), Output::default()).await;
            assert!(text.contains(told), "{told} in {text}");
        }
    }

    #[tokio::test]
    async fn a_socket_that_commands_may_reach_is_pointed_out() {
        let ship = r#"{ "permissions": { "exec_shell": { "sockets": ["/run/docker.sock"] } },
                        "limits": { "commandMemoryMb": 300 }, "adapters": { "web": { "listen": "127.0.0.1:0" } } }"#;
        let (text, exit) =
            run(&[("Agent.md", "x"), ("ship.json", ship)], Env::default(), Output::default()).await;
        assert_eq!(exit, Exit::Ok, "{text}");
        assert!(
            text.contains("! sockets     approved commands can have") && text.contains("/run/docker.sock"),
            "{text}"
        );
        assert!(text.contains("✓ memory      a command may use 300 MB"), "{text}");
    }

    #[tokio::test]
    async fn a_broken_project_is_told_whole_and_fails() {
        let (text, exit) = run(&[("ship.json", r#"{ "nmae": 1 }"#)], Env::default(), Output::default()).await;
        assert_eq!(exit, Exit::Failed);
        assert!(text.contains("Agent.md is missing; run `shipagent init`"), "{text}");
        assert!(
            text.contains("✗ config      ship.json:1:3: nmae: unknown key; did you mean \"name\"?"),
            "{text}"
        );
        assert!(text.contains("✓ state "), "what can be checked is checked: {text}");
    }

    #[tokio::test]
    async fn a_rule_for_a_tool_that_is_not_there_is_pointed_out() {
        let ship =
            r#"{ "permissions": { "shell": {} }, "adapters": { "web": { "listen": "127.0.0.1:0" } } }"#;
        let (text, exit) =
            run(&[("Agent.md", "x"), ("ship.json", ship)], Env::default(), Output::default()).await;
        assert_eq!(exit, Exit::Ok, "{text}");
        let line = "! config      ship.json:1:20: permissions.shell: shipagent has no tool of this name";
        assert!(text.contains(line), "{text}");
    }

    #[tokio::test]
    async fn a_model_that_cannot_be_asked_is_an_error_with_advice() {
        let ship = r#"{ "llm": { "apiKey": "k" }, "adapters": { "web": { "listen": "127.0.0.1:0" } } }"#;
        let files = [("Agent.md", "x"), ("ship.json", ship)];
        let (text, exit) = run(&files, Env::of([("LANG", "zh_CN")]), Output { json: true }).await;
        assert_eq!(exit, Exit::Failed);
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let model = checks.iter().find(|check| check["check"] == "model").unwrap();
        assert_eq!(
            *model,
            json!({
                "check": "model", "status": "error", "message": "gpt-6-luna 无法调用：no network here",
                "fix": "请检查 ship.json 的 llm 部分"
            })
        );
        assert_eq!(report["ok"], false);
    }

    #[tokio::test]
    async fn a_key_that_nothing_uses_is_pointed_out() {
        let files = [("Agent.md", "x"), FREE_PORT];
        let (text, _) = run(&files, Env::of([("OPENAI_API_KEY", "canary")]), Output::default()).await;
        assert!(text.contains("! model") && text.contains("set llm.apiKey to ${OPENAI_API_KEY}"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
}
