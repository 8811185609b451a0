//! Lists messages of a thread by time, place and words, without reading those in between.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::finding::{TEXT_COLUMNS, read_text};
use super::sources::{RowRange, base_of, rows_of_thread};
use super::thread_texts::row_of;
use crate::domain::{MessageId, ThreadId};
use crate::ports::{FoundText, HistoryPage, HistoryPlace, HistoryRequest, TextSource};
use crate::search::keyword_expression;

/// Messages stand in the order in which they were accepted, and times are those of the platforms: so far apart may two
/// messages stand in the wrong order of their times.
const OUT_OF_ORDER: i64 = 64;

/// A row number with the text that has it.
type Numbered = (i64, FoundText);

pub(super) fn list(connection: &Connection, request: &HistoryRequest) -> rusqlite::Result<HistoryPage> {
    let expression = match &request.keyword {
        None => None,
        Some(keyword) => match keyword_expression(keyword) {
            Some(expression) => Some(expression),
            None => return Ok(HistoryPage::default()),
        },
    };
    let selection = Selection {
        expression: expression.as_deref(),
        since: request.since.unwrap_or(i64::MIN),
        until: request.until.unwrap_or(i64::MAX),
    };
    let ranges = rows_of_thread(connection, &request.thread)?;
    let middle = match &request.place {
        HistoryPlace::Newest => return older_page(connection, &ranges, &selection, None, request.limit),
        HistoryPlace::Before(id) | HistoryPlace::Around(id) => {
            match place_of(connection, &request.thread, id)? {
                Some(place) => place,
                None => return Ok(HistoryPage::default()),
            }
        }
    };
    if let HistoryPlace::Before(_) = request.place {
        return older_page(connection, &ranges, &selection, Some(middle), request.limit);
    }
    let older = request.limit.saturating_sub(1) / 2;
    let mut page = older_page(connection, &ranges, &selection, Some(middle), older)?;
    let rest = request.limit.saturating_sub(page.messages.len());
    page.messages.extend(newer_than(connection, &ranges, &selection, middle, rest)?);
    Ok(page)
}

/// The threads in which a message has all of these words.
pub(super) fn threads_with(connection: &Connection, words: &str) -> rusqlite::Result<BTreeSet<ThreadId>> {
    let Some(expression) = keyword_expression(words) else { return Ok(BTreeSet::new()) };
    let newest = newest_rows(connection, &expression)?;
    threads_of(connection, |base| newest.contains_key(&base))
}

/// The threads in which a person of this name said something, in upper or lower case.
pub(super) fn threads_by(connection: &Connection, author: &str) -> rusqlite::Result<BTreeSet<ThreadId>> {
    let mut said = connection.prepare("SELECT row FROM doc WHERE author = ?1 COLLATE NOCASE")?;
    let rows = said.query_map([author], |row| row.get::<_, i64>(0))?;
    let bases: HashSet<i64> = rows.map(|row| row.map(base_of)).collect::<Result<_, _>>()?;
    threads_of(connection, |base| bases.contains(&base))
}

/// The threads with texts at some of these places, in one pass over all files: a query for each takes far longer.
fn threads_of(
    connection: &Connection,
    is_wanted: impl Fn(i64) -> bool,
) -> rusqlite::Result<BTreeSet<ThreadId>> {
    let mut files = connection.prepare("SELECT base, name FROM file WHERE kind = ?1")?;
    let mut rows = files.query([TextSource::History.as_str()])?;
    let mut threads = BTreeSet::new();
    while let Some(row) = rows.next()? {
        if is_wanted(row.get(0)?) {
            threads.extend(row.get_ref(1)?.as_str().ok().and_then(|name| name.parse().ok()));
        }
    }
    Ok(threads)
}

/// The last row of each file that has all of these words, in one pass over the matches.
fn newest_rows(connection: &Connection, expression: &str) -> rusqlite::Result<HashMap<i64, i64>> {
    let mut matching = connection.prepare("SELECT rowid FROM fts WHERE fts MATCH ?1")?;
    let mut newest = HashMap::new();
    for row in matching.query_map([expression], |row| row.get::<_, i64>(0))? {
        let row = row?;
        let last = newest.entry(base_of(row)).or_insert(row);
        *last = row.max(*last);
    }
    Ok(newest)
}

/// The newest message that has all of these words, of each thread that has one.
pub(super) fn newest_with(
    connection: &Connection,
    words: &str,
    threads: &[ThreadId],
) -> rusqlite::Result<Vec<(ThreadId, FoundText)>> {
    let Some(expression) = keyword_expression(words) else { return Ok(Vec::new()) };
    let rows = newest_rows(connection, &expression)?;
    let mut read = connection.prepare(&format!("SELECT {TEXT_COLUMNS} FROM doc WHERE row = ?1"))?;
    let mut found = Vec::new();
    for thread in threads {
        let mut newest: Option<Numbered> = None;
        for range in rows_of_thread(connection, thread)? {
            let Some(row) = rows.get(&base_of(range.first)) else { continue };
            let here = read.query_row([row], read_text).optional()?;
            newest = [newest, here].into_iter().flatten().max_by_key(|(row, text)| (text.at, *row));
        }
        found.extend(newest.map(|(_, text)| (thread.clone(), text)));
    }
    Ok(found)
}

/// Which messages are listed.
#[derive(Debug)]
struct Selection<'a> {
    expression: Option<&'a str>,
    since: i64,
    until: i64,
}

/// Where a message stands: its row and its time.
#[derive(Clone, Copy, Debug)]
struct MessagePosition {
    row: i64,
    at: i64,
}

fn place_of(
    connection: &Connection,
    thread: &ThreadId,
    id: &MessageId,
) -> rusqlite::Result<Option<MessagePosition>> {
    let Some(row) = row_of(connection, thread, id.as_str())? else { return Ok(None) };
    let at = connection.query_row("SELECT at FROM doc WHERE row = ?1", [row], |row| row.get(0)).optional()?;
    Ok(at.map(|at| MessagePosition { row, at }))
}

/// The newest messages before a place, oldest first.
fn older_page(
    connection: &Connection,
    ranges: &[RowRange],
    selection: &Selection<'_>,
    before: Option<MessagePosition>,
    limit: usize,
) -> rusqlite::Result<HistoryPage> {
    let mut found: Vec<Numbered> = Vec::new();
    for rows in ranges {
        let mut bounds = within_times(connection, *rows, selection)?;
        if let Some(before) = before {
            let end = match contains(*rows, before.row) {
                true => before.row,
                false => first_at(connection, *rows, before.at)?,
            };
            bounds.last = bounds.last.min(end.saturating_sub(1));
        }
        found.extend(select(connection, bounds, selection, "DESC", limit.saturating_add(1))?);
    }
    found.sort_by_key(|(row, text)| std::cmp::Reverse((text.at, *row)));
    // Within one range the order of the file counts, not the times.
    if ranges.len() == 1 {
        found.sort_by_key(|(row, _)| std::cmp::Reverse(*row));
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    found.reverse();
    Ok(HistoryPage { messages: found.into_iter().map(|(_, text)| text).collect(), has_more })
}

/// A message and those behind it.
fn newer_than(
    connection: &Connection,
    ranges: &[RowRange],
    selection: &Selection<'_>,
    from: MessagePosition,
    limit: usize,
) -> rusqlite::Result<Vec<FoundText>> {
    let mut found: Vec<Numbered> = Vec::new();
    for rows in ranges {
        let mut bounds = within_times(connection, *rows, selection)?;
        let start = match contains(*rows, from.row) {
            true => from.row,
            false => first_at(connection, *rows, from.at)?,
        };
        bounds.first = bounds.first.max(start);
        found.extend(select(connection, bounds, selection, "ASC", limit)?);
    }
    found.sort_by_key(|(row, text)| (text.at, *row));
    if ranges.len() == 1 {
        found.sort_by_key(|(row, _)| *row);
    }
    found.truncate(limit);
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

const fn contains(rows: RowRange, row: i64) -> bool {
    rows.first <= row && row <= rows.last
}

/// The rows of a range that can be of the times asked for.
fn within_times(
    connection: &Connection,
    rows: RowRange,
    selection: &Selection<'_>,
) -> rusqlite::Result<RowRange> {
    let first = match selection.since {
        i64::MIN => rows.first,
        since => first_at(connection, rows, since)?.saturating_sub(OUT_OF_ORDER).max(rows.first),
    };
    let last = match selection.until {
        i64::MAX => rows.last,
        until => first_at(connection, rows, until)?.saturating_add(OUT_OF_ORDER).min(rows.last),
    };
    Ok(RowRange { first, last })
}

/// The first row of a range whose message was said at this time or later; the end of the range where there is none.
fn first_at(connection: &Connection, rows: RowRange, at: i64) -> rusqlite::Result<i64> {
    let mut next =
        connection.prepare("SELECT row, at FROM doc WHERE row >= ?1 AND row <= ?2 ORDER BY row LIMIT 1")?;
    let newest: Option<i64> = connection.query_row(
        "SELECT max(row) FROM doc WHERE row BETWEEN ?1 AND ?2",
        [rows.first, rows.last],
        |row| row.get(0),
    )?;
    let Some(newest) = newest else { return Ok(rows.last) };
    let (mut low, mut high) = (rows.first, newest.saturating_add(1));
    while low < high {
        let middle = low.midpoint(high);
        let found: Option<(i64, i64)> =
            next.query_row([middle, newest], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        match found {
            Some((row, said)) if said < at => low = row.saturating_add(1),
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

fn select(
    connection: &Connection,
    rows: RowRange,
    selection: &Selection<'_>,
    order: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Numbered>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let Selection { expression, since, until } = selection;
    match expression {
        None => {
            let sql = format!(
                "SELECT {TEXT_COLUMNS} FROM doc WHERE row BETWEEN ?1 AND ?2 AND at >= ?3 AND at < ?4 \
                 ORDER BY row {order} LIMIT ?5"
            );
            let mut statement = connection.prepare(&sql)?;
            let found =
                statement.query_map(params![rows.first, rows.last, since, until, limit], read_text)?;
            found.collect()
        }
        Some(expression) => {
            let sql = format!(
                "SELECT {TEXT_COLUMNS} FROM fts JOIN doc ON doc.row = fts.rowid WHERE fts MATCH ?6 \
                 AND fts.rowid BETWEEN ?1 AND ?2 AND at >= ?3 AND at < ?4 ORDER BY fts.rowid {order} LIMIT ?5"
            );
            let mut statement = connection.prepare(&sql)?;
            let values = params![rows.first, rows.last, since, until, limit, expression];
            let found = statement.query_map(values, read_text)?;
            found.collect()
        }
    }
}
