//! Answers a search from the index: candidates by the full-text query, their neighbours, and the order of `search::rank`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rusqlite::{Connection, params};

use super::indexing::BY_AGENT;
use super::sources::{Area, Rows, base_of, rows_of_area, rows_of_thread};
use crate::domain::ThreadId;
use crate::ports::{Coverage, FoundText, SearchArea, SearchHit, SearchPage, SearchRequest, TextSource};
use crate::search::{Frequencies, Passage, Query, WINDOW, rank};

/// So many texts are ranked by more than the full-text index.
const CANDIDATES: usize = 200;
/// With fewer candidates than this, single CJK characters are looked for as well.
const FEW_CANDIDATES: usize = 50;
/// A term that more than a fifth of the texts have finds too many of them; rarer terms find candidates alone.
const COMMON: u64 = 5;
/// Candidates beyond this many bytes of text are not ranked: long texts take longer to compare.
const RANKED_BYTES: usize = 1024 * 1024;

/// What the index has for a row.
#[derive(Clone, Debug)]
struct Doc {
    id: String,
    passage: Passage,
    flags: i64,
}

/// The best texts in the areas of the request.
pub(super) fn find(connection: &Connection, request: &SearchRequest) -> rusqlite::Result<SearchPage> {
    let query = Query::read(&request.query);
    let areas = rows_of(connection, &request.areas)?;
    let frequencies = frequencies(connection, &query, &areas)?;
    let candidates = candidates(connection, &query, &frequencies, &areas, request)?;
    let docs = with_neighbours(connection, &candidates)?;
    let passages: Vec<Passage> = docs.iter().map(|doc| doc.passage.clone()).collect();
    let wanted = |passage: &Passage| {
        request.since.is_none_or(|since| passage.at >= since)
            && request.until.is_none_or(|until| passage.at < until)
    };
    let ranked: Vec<_> = rank(&query, &passages, &frequencies)
        .into_iter()
        .filter(|ranked| passages.get(ranked.index).is_some_and(wanted))
        .collect();
    let mut hits = Vec::new();
    for ranked in ranked.iter().take(request.limit) {
        let Some(doc) = docs.get(ranked.index) else { continue };
        let key = doc.passage.key;
        let (source, thread) = source_of(connection, key)?;
        hits.push(SearchHit {
            found: found(doc),
            source,
            thread,
            score: (ranked.score * 1000.0).round() / 1000.0,
            coverage: Coverage { share: ranked.own_share, weight: ranked.own_weight },
            before: neighbour(connection, key, "row < ?1 AND row >= ?2 ORDER BY row DESC")?,
            after: neighbour(connection, key, "row > ?1 AND row >= ?2 ORDER BY row")?,
        });
    }
    Ok(SearchPage { has_more: ranked.len() > hits.len(), hits })
}

fn rows_of(connection: &Connection, areas: &[SearchArea]) -> rusqlite::Result<Vec<Rows>> {
    let mut rows = Vec::new();
    for area in areas {
        match area {
            SearchArea::Memory(scope) => rows.extend(rows_of_area(connection, &Area::Memory(scope.clone()))?),
            SearchArea::Thread(thread) => rows.extend(rows_of_thread(connection, thread)?),
            SearchArea::History(scope) => {
                rows.extend(rows_of_area(connection, &Area::History(Some(scope.clone())))?);
            }
        }
    }
    rows.sort_by_key(|rows| (rows.first, std::cmp::Reverse(rows.last)));
    // A thread of a scope whose history is searched as well.
    rows.dedup_by(|inner, outer| inner.first >= outer.first && inner.last <= outer.last);
    Ok(rows)
}

fn frequencies(connection: &Connection, query: &Query, areas: &[Rows]) -> rusqlite::Result<Frequencies> {
    let mut all = connection.prepare("SELECT count(*) FROM doc WHERE row BETWEEN ?1 AND ?2")?;
    let mut matching =
        connection.prepare("SELECT count(*) FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3")?;
    let mut frequencies = Frequencies::default();
    for rows in areas {
        let count: i64 = all.query_row([rows.first, rows.last], |row| row.get(0))?;
        frequencies.passages = frequencies.passages.saturating_add(count.unsigned_abs());
    }
    for term in query.terms() {
        let mut with_term = 0_u64;
        for rows in areas {
            let count: i64 =
                matching.query_row(params![term.expression(), rows.first, rows.last], |row| row.get(0))?;
            with_term = with_term.saturating_add(count.unsigned_abs());
        }
        frequencies.with_term.push(with_term);
    }
    Ok(frequencies)
}

/// The rows that the full-text index likes best, best first.
fn candidates(
    connection: &Connection,
    query: &Query,
    frequencies: &Frequencies,
    areas: &[Rows],
    request: &SearchRequest,
) -> rusqlite::Result<Vec<i64>> {
    let bounded = request.since.is_some() || request.until.is_some();
    let time = (request.since.unwrap_or(i64::MIN), request.until.unwrap_or(i64::MAX));
    let is_common =
        |with: &u64| with.saturating_mul(COMMON) > frequencies.passages && frequencies.passages > 1000;
    let rare: Vec<String> = query
        .terms()
        .iter()
        .zip(&frequencies.with_term)
        .filter(|(_, with)| **with > 0 && !is_common(with))
        .map(|(term, _)| term.expression())
        .collect();
    let expression = if rare.is_empty() { query.expression() } else { Some(rare.join(" OR ")) };
    let Some(expression) = expression else { return Ok(Vec::new()) };
    let mut found = matching(connection, &expression, areas, bounded.then_some(time))?;
    if found.len() < FEW_CANDIDATES
        && let Some(wider) = query.character_expression()
    {
        for row in matching(connection, &wider, areas, bounded.then_some(time))? {
            if !found.contains(&row) && found.len() < CANDIDATES {
                found.push(row);
            }
        }
    }
    Ok(found)
}

/// The best rows of an expression in the areas, best first.
fn matching(
    connection: &Connection,
    expression: &str,
    areas: &[Rows],
    time: Option<(i64, i64)>,
) -> rusqlite::Result<Vec<i64>> {
    let sql = match time {
        None => {
            "SELECT rowid, rank FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rank LIMIT ?4"
        }
        Some(_) => {
            "SELECT rowid, rank FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 \
             AND (SELECT at >= ?5 AND at < ?6 FROM doc WHERE doc.row = fts.rowid) ORDER BY rank LIMIT ?4"
        }
    };
    let mut statement = connection.prepare(sql)?;
    let mut found: Vec<(i64, f64)> = Vec::new();
    for rows in areas {
        let limit = i64::try_from(CANDIDATES).unwrap_or(i64::MAX);
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let some = match time {
            None => statement.query_map(params![expression, rows.first, rows.last, limit], read)?,
            Some((since, until)) => {
                statement.query_map(params![expression, rows.first, rows.last, limit, since, until], read)?
            }
        };
        for one in some {
            found.push(one?);
        }
    }
    found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    found.truncate(CANDIDATES);
    Ok(found.into_iter().map(|(row, _)| row).collect())
}

/// The texts of the candidates and of the rows around them, in the order of their rows. Where they are many or long, those
/// of the worst candidates are left out.
fn with_neighbours(connection: &Connection, candidates: &[i64]) -> rusqlite::Result<Vec<Doc>> {
    let mut statement = connection.prepare(
        "SELECT row, id, at, author, text, flags FROM doc WHERE row BETWEEN ?1 AND ?2 ORDER BY row",
    )?;
    let mut docs = BTreeMap::new();
    let mut bytes = 0_usize;
    for row in candidates {
        if bytes > RANKED_BYTES {
            break;
        }
        let around = [row.saturating_sub(WINDOW), row.saturating_add(WINDOW)];
        let read = |row: &rusqlite::Row<'_>| {
            let passage =
                Passage { key: row.get(0)?, at: row.get(2)?, author: row.get(3)?, text: row.get(4)? };
            Ok(Doc { id: row.get(1)?, passage, flags: row.get(5)? })
        };
        for doc in statement.query_map(around, read)? {
            let doc = doc?;
            if let Entry::Vacant(place) = docs.entry(doc.passage.key) {
                bytes = bytes.saturating_add(doc.passage.text.len());
                place.insert(doc);
            }
        }
    }
    Ok(docs.into_values().collect())
}

fn neighbour(connection: &Connection, row: i64, place: &str) -> rusqlite::Result<Option<FoundText>> {
    use rusqlite::OptionalExtension as _;
    let sql = format!("SELECT {TEXT_COLUMNS} FROM doc WHERE {place} LIMIT 1");
    let found = connection.query_row(&sql, [row, base_of(row)], read_text).optional()?;
    Ok(found.filter(|(there, _)| base_of(*there) == base_of(row)).map(|(_, found)| found))
}

fn source_of(connection: &Connection, row: i64) -> rusqlite::Result<(TextSource, Option<ThreadId>)> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let (kind, name) =
        connection.query_row("SELECT kind, name FROM file WHERE base = ?1", [base_of(row)], read)?;
    Ok(match kind.as_str() {
        "core" => (TextSource::Core, None),
        "notes" => (TextSource::Notes, None),
        _ => (TextSource::History, name.parse().ok()),
    })
}

fn found(doc: &Doc) -> FoundText {
    let Passage { at, author, text, .. } = doc.passage.clone();
    text_of(doc.id.clone(), at, author, text, doc.flags)
}

/// The columns that [`read_text`] reads.
pub(super) const TEXT_COLUMNS: &str = "row, id, at, author, text, flags";

/// A text and its row.
pub(super) fn read_text(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, FoundText)> {
    Ok((row.get(0)?, text_of(row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))
}

fn text_of(id: String, at: i64, author: String, text: String, flags: i64) -> FoundText {
    FoundText { id, at, author, text, by_agent: flags & BY_AGENT != 0 }
}
