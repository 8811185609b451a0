//! Groups the lines of a ledger for people and programs. Pure: lines are passed in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::Sums;
use super::range::TimeRange;
use crate::domain::{EntryKind, Timestamp, UsageEntry};
use crate::render::dollars;

/// By what usage is grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    #[default]
    Day,
    Month,
    Model,
    Thread,
    Person,
    Task,
    Purpose,
}

impl Dimension {
    pub const ALL: [(&'static str, Self); 7] = [
        ("day", Self::Day),
        ("month", Self::Month),
        ("model", Self::Model),
        ("thread", Self::Thread),
        ("person", Self::Person),
        ("task", Self::Task),
        ("purpose", Self::Purpose),
    ];

    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, dimension)| *dimension == self).map_or("day", |(name, _)| name)
    }
}

/// There is no grouping of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot group by {0:?}: use day, month, model, thread, person, task or purpose")]
pub struct UnknownDimension(pub String);

impl FromStr for Dimension {
    type Err = UnknownDimension;

    fn from_str(text: &str) -> Result<Self, UnknownDimension> {
        let text = if text == "user" { "person" } else { text };
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, dimension)| *dimension).ok_or_else(|| UnknownDimension(text.to_owned()))
    }
}

/// The sums of one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportRow {
    /// The day, model, thread …; empty where a call belongs to none.
    pub key: String,
    #[serde(flatten)]
    pub sums: Sums,
}

/// Usage by one dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub by: Dimension,
    pub rows: Vec<ReportRow>,
    pub total: Sums,
    /// Calls in flight, or whose end is not known: they count in full.
    pub open: u64,
}

/// Reads lines and groups them.
#[derive(Debug)]
pub struct Reporter {
    groups: Vec<(Dimension, BTreeMap<String, Sums>)>,
    zone: TimeZone,
    range: TimeRange,
    open: BTreeMap<String, UsageEntry>,
    total: Sums,
}

impl Reporter {
    /// Groups the calls of a range by each of these dimensions; days are those of the zone.
    pub fn new(by: &[Dimension], zone: TimeZone, range: TimeRange) -> Self {
        let groups = by.iter().map(|by| (*by, BTreeMap::new())).collect();
        Self { groups, zone, range, open: BTreeMap::new(), total: Sums::default() }
    }

    /// Takes in a line; returns whether it could be read.
    pub fn line(&mut self, line: &[u8]) -> bool {
        match read_entry(line) {
            Ok(Some(entry)) => self.take(entry),
            Ok(None) => {}
            Err(_) => return false,
        }
        true
    }

    fn take(&mut self, entry: UsageEntry) {
        let inside = self.range.contains(entry.at);
        match entry.t {
            EntryKind::Reserve if inside => {
                self.open.insert(entry.id.clone(), entry);
            }
            EntryKind::Reserve => {}
            EntryKind::Settle => {
                self.open.remove(&entry.id);
                if inside {
                    self.count(&entry);
                }
            }
        }
    }

    fn count(&mut self, entry: &UsageEntry) {
        for (by, groups) in &mut self.groups {
            let key = key_of(*by, entry, &self.zone);
            groups.entry(key).or_default().add(entry);
        }
        self.total.add(entry);
    }

    /// One report for each dimension. Days and months are in their order, everything else by what it cost.
    pub fn finish(mut self) -> Vec<Report> {
        let open = std::mem::take(&mut self.open);
        for entry in open.values() {
            self.count(entry);
        }
        let open = u64::try_from(open.len()).unwrap_or(u64::MAX);
        let total = self.total;
        let report = |(by, groups): (Dimension, BTreeMap<String, Sums>)| {
            let mut rows: Vec<ReportRow> =
                groups.into_iter().map(|(key, sums)| ReportRow { key, sums }).collect();
            if !matches!(by, Dimension::Day | Dimension::Month) {
                let weight = |row: &ReportRow| (row.sums.cost, row.sums.tokens());
                rows.sort_by_key(|row| std::cmp::Reverse(weight(row)));
            }
            Report { by, rows, total, open }
        };
        self.groups.into_iter().map(report).collect()
    }
}

/// The group of a call.
fn key_of(by: Dimension, entry: &UsageEntry, zone: &TimeZone) -> String {
    let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
    match by {
        Dimension::Day => date_of(entry.at, zone),
        Dimension::Month => date_of(entry.at, zone).chars().take(7).collect(),
        Dimension::Model => entry.model.to_string(),
        Dimension::Thread => text(&entry.thread),
        Dimension::Person => text(&entry.author),
        Dimension::Task => text(&entry.task),
        Dimension::Purpose => entry.purpose.as_str().to_owned(),
    }
}

fn date_of(at: Timestamp, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    at.to_zoned(zone.clone()).date().to_string()
}

/// The call of a line; `None` where the line records something else.
pub fn read_entry(line: &[u8]) -> Result<Option<UsageEntry>, serde_json::Error> {
    match serde_json::from_slice::<UsageEntry>(line) {
        Ok(entry) => Ok(Some(entry)),
        Err(error) => {
            #[derive(serde::Deserialize)]
            struct Tag {
                t: String,
            }
            let tag: Tag = serde_json::from_slice(line)?;
            if ["reserve", "settle"].contains(&tag.t.as_str()) { Err(error) } else { Ok(None) }
        }
    }
}

impl Report {
    /// A table for spreadsheets, with a header.
    pub fn csv(&self) -> String {
        let mut out = format!(
            "{},calls,failed,in,in_cached,in_cache_write,out,out_reasoning,sound_seconds,characters,cost_usd,uncertain_usd,\
             estimated_calls,unknown_price_calls,suspect_calls\n",
            self.by.as_str()
        );
        for row in &self.rows {
            let sums = &row.sums;
            // Writing into a string cannot fail.
            let _written = writeln!(
                out,
                "{},{},{},{},{},{},{},{},{}.{:03},{},{},{},{},{},{}",
                csv_field(&row.key),
                sums.calls,
                sums.failed,
                sums.input,
                sums.cached,
                sums.cache_write,
                sums.output,
                sums.reasoning,
                sums.sound_ms / 1000,
                sums.sound_ms % 1000,
                sums.chars,
                dollars(sums.cost),
                dollars(sums.uncertain),
                sums.estimated,
                sums.unknown_price,
                sums.suspect,
            );
        }
        out
    }
}

/// A field of a table. One that a spreadsheet would take for a formula is quoted as text.
fn csv_field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']);
    if formula || text.contains([',', '"', '\n', '\r']) {
        let text = text.replace('"', "\"\"");
        return if formula { format!("\"'{text}\"") } else { format!("\"{text}\"") };
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Payer, Purpose};
    use crate::ports::entry_line;

    fn entry(t: EntryKind, id: &str, when: &str, model: &str, cost: Option<u64>) -> UsageEntry {
        let payer = Payer { thread: "web:chat:a".parse().ok(), purpose: Purpose::Distil, ..Payer::default() };
        let at = Timestamp::parse_rfc3339(when).unwrap();
        let entry = UsageEntry::new(t, id.to_owned(), at, &payer);
        UsageEntry { model: model.into(), cost, input: 100, cached: 25, output: 10, ..entry }
    }

    fn report(by: Dimension) -> Report {
        let since = Timestamp::parse_rfc3339("2026-11-01T00:00:00Z");
        let zone = TimeZone::get("Asia/Shanghai").unwrap();
        let mut reporter = Reporter::new(&[by], zone, TimeRange { since, until: None });
        let settle = EntryKind::Settle;
        for entry in [
            entry(settle, "0", "2026-10-31T23:59:59Z", "old", Some(9)),
            entry(EntryKind::Reserve, "1", "2026-11-17T15:00:00Z", "dear", Some(500)),
            entry(settle, "1", "2026-11-17T15:00:01Z", "dear", Some(300)),
            entry(settle, "2", "2026-11-17T16:30:00Z", "cheap", Some(10)),
            entry(EntryKind::Reserve, "3", "2026-11-17T16:40:00Z", "cheap", Some(40)),
            entry(settle, "4", "2026-11-17T16:50:00Z", "strange", None),
        ] {
            assert!(reporter.line(entry_line(&entry).as_bytes()));
        }
        assert!(reporter.line(br#"{"t":"grant","id":"g"}"#), "other lines are passed over");
        assert!(!reporter.line(br#"{"t":"settle","#) && !reporter.line(br#"{"t":"settle"}"#));
        reporter.finish().remove(0)
    }

    #[test]
    fn each_dimension_has_its_groups_and_the_same_total() {
        for (by, expected) in [
            (Dimension::Day, vec![("2026-11-17", 300), ("2026-11-18", 50)]),
            (Dimension::Month, vec![("2026-11", 350)]),
            (Dimension::Model, vec![("dear", 300), ("cheap", 50), ("strange", 0)]),
            (Dimension::Thread, vec![("web:chat:a", 350)]),
            (Dimension::Person, vec![("", 350)]),
            (Dimension::Task, vec![("", 350)]),
            (Dimension::Purpose, vec![("distil", 350)]),
        ] {
            let report = report(by);
            let rows: Vec<_> = report.rows.iter().map(|row| (row.key.as_str(), row.sums.cost)).collect();
            assert_eq!(rows, expected, "{by:?}");
            assert_eq!((report.total.cost, report.total.calls, report.open), (350, 4, 1), "{by:?}");
            assert_eq!((report.total.uncertain, report.total.unknown_price), (40, 1));
        }
    }

    #[test]
    fn csv_has_a_header_and_dangerous_fields_are_text() {
        let report = report(Dimension::Model);
        let csv = report.csv();
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.contains("\ndear,1,0,100,25,0,10,0,0.000,0,0.000300,0.000000,0,0,0\n"), "{csv}");
        assert_eq!(csv_field("=1+1"), "\"'=1+1\"");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
