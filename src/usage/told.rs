//! What was spent: in words from the sums in memory, and as tables from the ledger.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::Value;

use super::{Dimension, Report, Reporter, Sums, TimeRange, UsageMeter};
use crate::domain::{CapScope, CapUnit, Currency, Language, Payer, Timestamp};
use crate::phrases::usage as words;
use crate::ports::{
    BoxFuture, Budget, LedgerMark, LineVisitor, StoreError, UsageLedger, UsageReports, UsageRequest,
    UsageRequestError, UsageViewer,
};
use crate::render::{Spent, amount, cap_line};

/// Most models in an answer.
const MODELS: usize = 8;

impl From<&Sums> for Spent {
    fn from(sums: &Sums) -> Self {
        Self {
            calls: sums.calls,
            input: sums.input,
            cached: sums.cached,
            output: sums.output,
            cost: sums.cost,
            about: sums.is_about(),
            unpriced: sums.unknown_price > 0,
        }
    }
}

/// Usage of a range by one or more dimensions.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// RFC 3339.
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    pub timezone: String,
    /// In which people are shown amounts; those of the reports are in US dollars.
    pub currency: Currency,
    pub reports: Vec<Report>,
    /// Lines of the ledger that could not be read.
    pub unreadable: u64,
}

/// Reads the reports of a range from a ledger.
///
/// # Errors
/// When the ledger cannot be read.
pub async fn read_reports(
    ledger: &dyn UsageLedger,
    by: &[Dimension],
    range: TimeRange,
    (zone, currency): (&TimeZone, &Currency),
) -> Result<UsageReport, StoreError> {
    ledger.flush().await;
    let reporter = Arc::new(Mutex::new(Reporter::new(by, zone.clone(), range)));
    let reading = reporter.clone();
    let visit: LineVisitor =
        Box::new(move |line| reading.lock().unwrap_or_else(PoisonError::into_inner).line(line));
    // Files are named by the month in UTC.
    let month = range.since.map(|since| since.rfc3339().chars().take("2026-11".len()).collect());
    let month: Option<String> = month;
    let (_, read) = ledger.read(LedgerMark::from_month(month.unwrap_or_default()), visit).await?;
    let empty = Reporter::new(by, zone.clone(), range);
    let filled = std::mem::replace(&mut *reporter.lock().unwrap_or_else(PoisonError::into_inner), empty);
    Ok(UsageReport {
        since: range.since.map(Timestamp::rfc3339),
        until: range.until.map(Timestamp::rfc3339),
        timezone: zone.iana_name().unwrap_or("UTC").to_owned(),
        currency: currency.clone(),
        reports: filled.finish(),
        unreadable: read.unreadable,
    })
}

/// The sums that one person may see in one thread.
#[derive(Debug, Default)]
struct Seen {
    today: Sums,
    month: Sums,
    thread_today: Sums,
    thread_month: Sums,
    person_today: Sums,
    /// This month, the dearest first.
    models: Vec<(Arc<str>, Sums)>,
}

impl UsageMeter {
    fn seen(&self, viewer: &UsageViewer) -> Seen {
        let now = self.now();
        self.with_book(|book| {
            let date = book.day_of(now);
            let mut seen = Seen::default();
            if let Some(day) = book.day(date) {
                seen.today = day.all;
                seen.thread_today = day.threads.get(viewer.thread.as_str()).copied().unwrap_or_default();
                seen.person_today = day.authors.get(viewer.author.as_str()).copied().unwrap_or_default();
            }
            if let Some(month) = book.month(date) {
                seen.month = month.all;
                seen.thread_month = month.threads.get(viewer.thread.as_str()).copied().unwrap_or_default();
                seen.models = month.models.iter().map(|(name, sums)| (name.clone(), *sums)).collect();
            }
            // Calls in flight count in full, as in the reports.
            for entry in
                book.open().filter(|entry| book.day_of(entry.at).first_of_month() == date.first_of_month())
            {
                let add = |month: &mut Sums, day: &mut Sums| {
                    month.add(entry);
                    if book.day_of(entry.at) == date {
                        day.add(entry);
                    }
                };
                add(&mut seen.month, &mut seen.today);
                if entry.thread.as_deref() == Some(viewer.thread.as_str()) {
                    add(&mut seen.thread_month, &mut seen.thread_today);
                }
                if entry.author.as_deref() == Some(viewer.author.as_str()) {
                    add(&mut Sums::default(), &mut seen.person_today);
                }
                match seen.models.iter_mut().find(|(name, _)| *name == entry.model) {
                    Some((_, sums)) => sums.add(entry),
                    None => {
                        let mut sums = Sums::default();
                        sums.add(entry);
                        seen.models.push((entry.model.clone(), sums));
                    }
                }
            }
            seen.models.sort_by_key(|(_, sums)| std::cmp::Reverse((sums.cost, sums.tokens())));
            seen
        })
    }
}

impl UsageMeter {
    /// The caps that limit a conversation; those of the project for owners alone.
    fn caps_seen(&self, viewer: &UsageViewer, language: Language) -> Option<String> {
        let payer = Payer {
            thread: Some(viewer.thread.clone()),
            author: Some(viewer.author.clone()),
            owner: viewer.owner,
            ..Payer::default()
        };
        let seen = self.remaining(&payer).into_iter().filter(|cap| viewer.owner || cap.key.of.is_some());
        let lines: Vec<String> = seen.map(|cap| cap_line(&cap, &self.rules().currency, language)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl UsageReports for UsageMeter {
    fn tell(&self, viewer: UsageViewer, language: Language) -> BoxFuture<'_, String> {
        Box::pin(async move {
            self.ready().await;
            let seen = self.seen(&viewer);
            let say = |sums: &Sums| Spent::from(sums).say(&self.rules().currency, language);
            let cost = |sums: &Sums| Spent::from(sums).cost(&self.rules().currency, language);
            let thread = words::thread(&cost(&seen.thread_today), &cost(&seen.thread_month), language);
            let caps = self.caps_seen(&viewer, language);
            if !viewer.owner {
                let person = words::person(&say(&seen.person_today), language);
                return [thread, person].into_iter().chain(caps).collect::<Vec<_>>().join("\n\n");
            }
            let mut parts = vec![
                words::today(&say(&seen.today), language),
                words::month(&say(&seen.month), language),
                thread,
            ];
            if !seen.models.is_empty() {
                let mut lines = vec![words::by_model(language).to_owned(), String::new()];
                let shown = seen.models.iter().take(MODELS);
                lines.extend(shown.map(|(name, sums)| format!("- {name}: {}", say(sums))));
                let more = seen.models.len().saturating_sub(MODELS);
                lines.extend((more > 0).then(|| format!("- {}", words::more_models(more, language))));
                parts.push(lines.join("\n"));
            }
            parts.extend(caps);
            parts.join("\n\n")
        })
    }

    fn line(&self, viewer: &UsageViewer, language: Language) -> Option<String> {
        let seen = self.seen(viewer);
        let currency = &self.rules().currency;
        let cost = |sums: &Sums| Spent::from(sums).cost(currency, language);
        if viewer.owner {
            let caps = self.remaining(&Payer::default());
            let day =
                caps.iter().find(|cap| cap.key.scope == CapScope::Day && cap.key.unit == CapUnit::Money);
            let limit =
                day.and_then(|cap| cap.limit).map(|limit| amount(CapUnit::Money, limit, currency, language));
            let today = match limit {
                Some(limit) => words::of_cap(&cost(&seen.today), &limit, language),
                None => cost(&seen.today),
            };
            let line = || words::line(&today, &cost(&seen.thread_today), language);
            return (seen.today.calls > 0).then(line);
        }
        (seen.thread_today.calls > 0).then(|| words::line_of_thread(&cost(&seen.thread_today), language))
    }

    fn gauges(&self) -> String {
        let mut out = String::from(
            "# HELP shipagent_budget_remaining What is left of the caps of the project: millionths of a US dollar, or tokens.\n\
             # TYPE shipagent_budget_remaining gauge\n",
        );
        for state in self.remaining(&Payer::default()) {
            let (scope, unit) = (state.key.scope.as_str(), state.key.unit.as_str());
            // A cap that a grant lifts has no number.
            let Some(left) = state.left() else { continue };
            out.push_str(&format!(
                "shipagent_budget_remaining{{scope=\"{scope}\",unit=\"{unit}\"}} {left}\n"
            ));
        }
        out.push_str(
            "# HELP shipagent_usage_syncs_total Waits for the disk on account of the usage ledger.\n\
             # TYPE shipagent_usage_syncs_total counter\n",
        );
        out.push_str(&format!("shipagent_usage_syncs_total {}\n", self.ledger().syncs()));
        out
    }

    fn report(&self, request: UsageRequest) -> BoxFuture<'_, Result<Value, UsageRequestError>> {
        Box::pin(async move {
            let bad = |text: String| UsageRequestError::Bad(text);
            let by: Result<Vec<Dimension>, _> = request.by.iter().map(|name| name.parse()).collect();
            let by = by.map_err(|unknown: super::UnknownDimension| bad(unknown.to_string()))?;
            let (since, until) = (request.since.as_deref(), request.until.as_deref());
            let range = TimeRange::read(since, until, &by, self.now(), self.zone())
                .map_err(|wrong| bad(wrong.to_string()))?;
            let report =
                read_reports(self.ledger(), &by, range, (self.zone(), &self.rules().currency)).await?;
            Ok(serde_json::to_value(report).unwrap_or_default())
        })
    }
}
