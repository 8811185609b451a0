//! `shipagent usage`: what calls of models used and cost, from the ledger, with or without a running daemon. Writes nothing.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use super::cli_context::CliContext;
use super::terminal::{moment, one_line};
use super::text_table::table;
use crate::cli::{Exit, UsageArgs};
use crate::config::{Env, Settings};
use crate::domain::{Currency, Language, Timestamp};
use crate::phrases::usage as words;
use crate::ports::{AdapterTable, Clock as _, SystemClock};
use crate::render::Spent;
use crate::usage::{Dimension, Report, Sums, TimeRange, UnknownDimension, UsageReport, read_reports};

/// Most columns of a thread, a person or a model.
const KEY_COLUMNS: usize = 48;

/// Prints the sums. Errors go to `err`.
///
/// # Errors
/// When nothing can be written to the terminal.
pub(super) fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    args: &UsageArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(mut context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let mut currency = Currency::default();
    // Days are those of the project, as in the daemon; a mistake in the settings does not hide the numbers.
    if let Ok(settings) = Settings::load(project, env, adapters) {
        context.zone = settings.budget.zone;
        currency = settings.budget.rules.currency;
    }
    let language = context.language;
    let parsed: Result<Vec<Dimension>, UnknownDimension> =
        args.by.iter().map(|name| name.trim().parse()).collect();
    let by: Vec<Dimension> = match parsed {
        Ok(by) => by,
        Err(UnknownDimension(name)) => {
            writeln!(err, "{}", words::bad_dimension(&name, language))?;
            return Ok(Exit::Usage);
        }
    };
    let (since, until) = (args.since.as_deref(), args.until.as_deref());
    let range = match TimeRange::read(since, until, &by, SystemClock.now(), &context.zone) {
        Ok(range) => range,
        Err(wrong) => {
            writeln!(err, "{}", words::bad_time(&wrong.0, language))?;
            return Ok(Exit::Usage);
        }
    };
    let read = read_reports(&*context.store.usage, &by, range, (&context.zone, &currency));
    let report = match context.wait(read) {
        Ok(report) => report,
        Err(error) => {
            writeln!(err, "{}", context.trouble(&error))?;
            return Ok(Exit::Failed);
        }
    };
    if args.json {
        writeln!(out, "{:#}", json!(report))?;
    } else if args.csv {
        for one in &report.reports {
            write!(out, "{}", one.csv())?;
        }
    } else {
        print(&context, &report, out)?;
    }
    if report.unreadable > 0 {
        writeln!(err, "{}", words::unreadable(report.unreadable, language))?;
    }
    Ok(Exit::Ok)
}

fn print(context: &CliContext, report: &UsageReport, out: &mut dyn Write) -> std::io::Result<()> {
    let language = context.language;
    let at =
        |text: &str| Timestamp::parse_rfc3339(text).map(|at| moment(at, &context.zone)).unwrap_or_default();
    let until = report.until.as_deref().map_or_else(|| words::now(language).to_owned(), at);
    let since = report.since.as_deref().map(at).unwrap_or_default();
    writeln!(out, "{}", words::range(&since, &until, language))?;
    for one in &report.reports {
        writeln!(out)?;
        if one.rows.is_empty() {
            writeln!(out, "{}", words::empty(language))?;
            continue;
        }
        let rows = rows(one, &report.currency, language);
        write!(out, "{}", table(context.surface, words::usage_columns(language), &rows))?;
    }
    let (open, suspect) = report.reports.first().map_or((0, 0), |one| (one.open, one.total.suspect));
    if open > 0 {
        writeln!(out, "{}", words::open_calls(open, language))?;
    }
    if suspect > 0 {
        writeln!(out, "{}", words::suspect_calls(suspect, language))?;
    }
    Ok(())
}

fn rows(report: &Report, currency: &Currency, language: Language) -> Vec<[String; 7]> {
    let row = |key: &str, sums: &Sums| {
        let cached = sums.cached_percent().map(|percent| format!("{percent}%")).unwrap_or_default();
        [
            one_line(key, KEY_COLUMNS),
            sums.calls.to_string(),
            sums.input.to_string(),
            cached,
            sums.output.to_string(),
            sums.failed.to_string(),
            Spent::from(sums).cost(currency, language),
        ]
    };
    let named = |key: &str| if key.is_empty() { words::no_key(language).to_owned() } else { key.to_owned() };
    let mut rows: Vec<_> = report.rows.iter().map(|one| row(&named(&one.key), &one.sums)).collect();
    rows.push(row(words::total(language), &report.total));
    rows
}
