//! `shipagent grants`: lists and revokes grants, with or without a running daemon.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{Exit, GrantsCommand, Output};
use crate::commands::cli_context::{CliContext, VIA, operator};
use crate::commands::daemon_client::{DaemonClient, DaemonError};
use crate::commands::setup::load_or_say;
use crate::commands::terminal::{moment, one_line};
use crate::commands::text_table::table;
use crate::config::{Env, Settings};
use crate::domain::{GrantNumber, GrantSummary, Language, Reach, Timestamp};
use crate::phrases::commands as words;
use crate::ports::{AdapterTable, Clock, Revoker, SystemClock};

/// Runs a subcommand. Results go to `out`, errors to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    command: GrantsCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    match command {
        GrantsCommand::List(output) => match context.change(context.store.grants.list(SystemClock.now())) {
            Ok(grants) => {
                let mut grants = grants.unwrap_or_default();
                grants.extend(caps(&context, (project, env, adapters)));
                list(&context, &grants, output, out)
            }
            Err(error) => {
                writeln!(err, "{}", context.trouble(&error))?;
                Ok(Exit::Failed)
            }
        },
        GrantsCommand::Revoke { grant } => {
            let Ok(number) = grant.parse::<GrantNumber>() else {
                writeln!(err, "{}", words::unknown_grant(&grant, context.language))?;
                return Ok(Exit::Usage);
            };
            if number.budget().is_some() {
                return revoke_cap(&context, (project, env, adapters), number, out, err);
            }
            let by = Revoker { author: operator()?, via: VIA.to_owned() };
            let refusal = match context.change(context.store.grants.revoke(number, by, SystemClock.now())) {
                Ok(Some(Some(gone))) => {
                    writeln!(out, "{}", words::grant_revoked(gone.number, context.language))?;
                    return Ok(Exit::Ok);
                }
                Ok(Some(None) | None) => words::unknown_grant(&grant, context.language),
                Err(error) => context.trouble(&error),
            };
            writeln!(err, "{refusal}")?;
            Ok(Exit::Failed)
        }
    }
}

/// The grants that raise spend caps, which a running daemon knows; none without one.
fn caps(context: &CliContext, (project, env, adapters): (&Path, &Env, &AdapterTable)) -> Vec<GrantSummary> {
    let Ok(settings) = Settings::load(project, env, adapters) else { return Vec::new() };
    let asked =
        context.wait(async { DaemonClient::of_project(&settings)?.get::<Value>("/api/grants").await });
    let listed = asked.ok().and_then(|answer| answer.get("grants")?.as_array().cloned()).unwrap_or_default();
    listed.iter().filter_map(cap_grant).collect()
}

fn cap_grant(listed: &Value) -> Option<GrantSummary> {
    let text = |key: &str| listed.get(key).and_then(Value::as_str);
    let number: GrantNumber = text("id")?.parse().ok()?;
    number.budget()?;
    Some(GrantSummary {
        number,
        tool: text("tool")?.to_owned(),
        commands: Vec::new(),
        reach: Reach::Cap { until: Timestamp::parse_rfc3339(text("expiresAt")?)? },
        requested_by: None,
        by: text("grantedBy").and_then(|by| by.parse().ok()),
        at: text("grantedAt").unwrap_or_default().to_owned(),
        summary: text("summary").unwrap_or_default().to_owned(),
    })
}

/// Revokes a grant that raises a spend cap. Only the daemon can: it holds the sums.
fn revoke_cap(
    context: &CliContext,
    (project, env, adapters): (&Path, &Env, &AdapterTable),
    number: GrantNumber,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(settings) = load_or_say(project, env, adapters, err)? else { return Ok(Exit::Configuration) };
    let path = format!("/api/grants/{number}");
    let asked = context.wait(async { DaemonClient::of_project(&settings)?.delete::<Value>(&path).await });
    let refusal = match asked {
        Ok(_) => {
            writeln!(out, "{}", words::grant_revoked(number, context.language))?;
            return Ok(Exit::Ok);
        }
        Err(DaemonError::NotRunning) => words::no_daemon_revokes(context.language).to_owned(),
        Err(DaemonError::Refused(_)) => words::unknown_grant(&number.to_string(), context.language),
        Err(DaemonError::Broken(why)) => words::decision_unclear(&why, context.language),
    };
    writeln!(err, "{refusal}")?;
    Ok(Exit::Failed)
}

/// Most columns of the commands.
const COMMAND_COLUMNS: usize = 60;

/// Lists the grants, the oldest first.
fn list(
    context: &CliContext,
    grants: &[GrantSummary],
    output: Output,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    if output.json {
        writeln!(out, "{:#}", json!({ "grants": grants }))?;
    } else if grants.is_empty() {
        writeln!(out, "{}", words::no_grants(context.language))?;
    } else {
        write!(out, "{}", rows(context, grants))?;
    }
    Ok(Exit::Ok)
}

fn rows(context: &CliContext, grants: &[GrantSummary]) -> String {
    let rows = grants.iter().map(|grant| {
        let calls = if matches!(grant.reach, Reach::Cap { .. }) {
            one_line(&grant.summary, COMMAND_COLUMNS)
        } else if grant.commands.is_empty() {
            words::every_call(context.language).to_owned()
        } else {
            one_line(&grant.commands.join(" · "), COMMAND_COLUMNS)
        };
        let until = grant.reach.until().map(|until| moment(until, &context.zone)).unwrap_or_default();
        let granted = Timestamp::parse_rfc3339(&grant.at).map(|at| moment(at, &context.zone));
        [
            grant.number.to_string(),
            grant.tool.clone(),
            calls,
            reach(&grant.reach, context.language),
            until,
            grant.by.as_ref().map(ToString::to_string).unwrap_or_default(),
            granted.unwrap_or_default(),
        ]
    });
    table(context.surface, words::grant_columns(context.language), &rows.collect::<Vec<_>>())
}

/// Where a grant holds.
fn reach(reach: &Reach, language: Language) -> String {
    match reach {
        Reach::Thread(thread) | Reach::Until { thread, .. } => thread.to_string(),
        Reach::Shape | Reach::Project | Reach::Cap { .. } => words::whole_project(language).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::commands::terminal::Surface;
    use crate::domain::{GrantNumber, Language, Reach};

    #[test]
    fn the_table_is_told_in_both_languages() {
        let grant = |number, commands: &[&str], reach| GrantSummary {
            number: GrantNumber(number),
            tool: "exec_shell".to_owned(),
            commands: commands.iter().map(|command| (*command).to_owned()).collect(),
            reach,
            requested_by: None,
            by: Some("web:user:ada".parse().unwrap()),
            at: "2023-11-14T22:13:20Z".to_owned(),
            summary: String::new(),
        };
        let thread = "web:chat:1".parse().unwrap();
        let until = Timestamp::from_millis(1_700_000_600_000);
        let grants = [
            grant(2, &["git add …", "git commit …"], Reach::Until { thread, until }),
            grant(10, &[], Reach::Project),
        ];
        let context = |language| {
            CliContext::with("/nonexistent".into(), language, TimeZone::UTC, Surface::Stream).unwrap()
        };
        insta::assert_snapshot!(rows(&context(Language::En), &grants), @r"
        NO.  TOOL        CALLS                     WHERE       UNTIL             BY            GRANTED
        G2   exec_shell  git add … · git commit …  web:chat:1  2023-11-14 22:23  web:user:ada  2023-11-14 22:13
        G10  exec_shell  every call                project                       web:user:ada  2023-11-14 22:13
        ");
        insta::assert_snapshot!(rows(&context(Language::Zh), &grants), @r"
        编号  工具        调用                      范围        有效至            授权人        授权时间
        G2    exec_shell  git add … · git commit …  web:chat:1  2023-11-14 22:23  web:user:ada  2023-11-14 22:13
        G10   exec_shell  所有调用                  整个项目                      web:user:ada  2023-11-14 22:13
        ");
    }
}
