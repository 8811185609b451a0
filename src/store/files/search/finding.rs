//! Answers a search from the index: candidates by the full-text query, their neighbours, and the order of `search::rank`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rusqlite::{Connection, params};

use super::sources::{Area, RowRange, base_of, passages_in, rows_of_area, rows_of_thread};
use super::vectors::nearest;
use super::writing::BY_AGENT;
use crate::domain::ThreadId;
use crate::ports::{
    Coverage, FoundText, Freshness, SearchArea, SearchHit, SearchPage, SearchRequest, TextSource,
};
use crate::search::{Frequencies, Passage, Query, WINDOW, rank};

/// With fewer candidates than this, single CJK characters are looked for as well.
const FEW_CANDIDATES: usize = 50;
/// Terms are told apart by how common they are only among more texts than this.
const FEW_PASSAGES: u64 = 1000;
/// Terms that more than one in so many texts have count alike: to count them takes a walk over all of those texts.
const COUNTED: u64 = 5;
/// Among more texts than this, rarer terms find candidates alone: each that is ranked costs time.
const MANY_PASSAGES: u64 = 20_000;
const COMMON_AMONG_MANY: u64 = 20;
/// Among so many texts, the rarest terms that together have no more matches than this find the candidates: the full-text
/// index looks up the length of each match.
const MATCHES_AMONG_MANY: u64 = 6_000;
/// The same for a search that a turn waits for.
const MATCHES_QUICKLY: u64 = 2_000;

/// How much work a search may do.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// So many texts are ranked by more than the full-text index.
    candidates: usize,
    /// Candidates beyond this many bytes of text are not ranked: long texts take longer to compare.
    ranked_bytes: usize,
    /// A term that more than one in so many texts have finds too many of them; rarer terms find candidates alone.
    common: u64,
    /// Whether a query of common terms alone finds nothing, and the counting of a term ends early.
    bounded: bool,
}

impl Effort {
    /// A search that a person or the model asked for.
    const FULL: Self = Self { candidates: 200, ranked_bytes: 1024 * 1024, common: 5, bounded: false };
    /// A search that a turn waits for.
    const QUICK: Self = Self { candidates: 40, ranked_bytes: 128 * 1024, common: 50, bounded: true };

    const fn of(freshness: Freshness) -> Self {
        match freshness {
            Freshness::CatchUp => Self::FULL,
            Freshness::AsIndexed => Self::QUICK,
        }
    }

    const fn is_common(&self, with_term: u64, passages: u64) -> bool {
        with_term.saturating_mul(self.common_among(passages)) > passages && passages > FEW_PASSAGES
    }

    const fn common_among(&self, passages: u64) -> u64 {
        if passages > MANY_PASSAGES && self.common < COMMON_AMONG_MANY {
            COMMON_AMONG_MANY
        } else {
            self.common
        }
    }

    /// How many matches the terms that find candidates may have together.
    const fn most_matches(&self, passages: u64) -> u64 {
        if self.bounded {
            MATCHES_QUICKLY
        } else if passages > MANY_PASSAGES {
            MATCHES_AMONG_MANY
        } else {
            u64::MAX
        }
    }

    /// How far a term is counted: no further than to see that it is common.
    fn counts_to(&self, passages: u64) -> u64 {
        let of_all = if self.bounded { self.common_among(passages) } else { COUNTED };
        (passages / of_all).max(FEW_PASSAGES).saturating_add(1)
    }
}

/// The texts that are ranked, in the order of their rows, and what the index has beside each.
#[derive(Debug, Default)]
struct Passages {
    texts: Vec<Passage>,
    ids: Vec<String>,
    flags: Vec<i64>,
}

impl Passages {
    fn found(&self, index: usize) -> Option<FoundText> {
        let Passage { at, author, text, .. } = self.texts.get(index)?.clone();
        Some(text_of(self.ids.get(index)?.clone(), at, author, text, *self.flags.get(index)?))
    }
}

/// The best texts in the areas of the request.
pub(super) fn find(connection: &Connection, request: &SearchRequest) -> rusqlite::Result<SearchPage> {
    let query = Query::read(&request.query);
    let effort = Effort::of(request.freshness);
    let areas = rows_of(connection, &request.areas)?;
    let frequencies = frequencies(connection, &query, &areas, effort)?;
    let candidates = candidates(connection, &query, &frequencies, &areas, request)?;
    let passages = with_neighbours(connection, &candidates, effort)?;
    let wanted = |passage: &Passage| {
        request.since.is_none_or(|since| passage.at >= since)
            && request.until.is_none_or(|until| passage.at < until)
    };
    let ranked: Vec<_> = rank(&query, &passages.texts, &frequencies)
        .into_iter()
        .filter(|ranked| passages.texts.get(ranked.index).is_some_and(wanted))
        .collect();
    let mut hits = Vec::new();
    for ranked in ranked.iter().take(request.limit) {
        let row = passages.texts.get(ranked.index).map(|passage| passage.key);
        let Some((row, found)) = row.zip(passages.found(ranked.index)) else { continue };
        let coverage = Coverage { share: ranked.own_share, weight: ranked.own_weight };
        hits.push(hit(connection, row, found, ranked.score, coverage)?);
    }
    Ok(SearchPage { has_more: ranked.len() > hits.len(), hits })
}

/// The texts of the areas whose vectors are nearest to this one, nearest first.
pub(super) fn find_nearest(
    connection: &Connection,
    request: &SearchRequest,
    model: &str,
    vector: &[f32],
) -> rusqlite::Result<SearchPage> {
    let areas = rows_of(connection, &request.areas)?;
    let sql = format!("SELECT {TEXT_COLUMNS} FROM doc WHERE row = ?1");
    let mut hits = Vec::new();
    for (row, alike) in nearest(connection, &areas, request, model, vector)? {
        let (row, found) = connection.query_row(&sql, [row], read_text)?;
        hits.push(hit(connection, row, found, f64::from(alike), Coverage::default())?);
    }
    Ok(SearchPage { hits, has_more: false })
}

/// A text with what stands around it.
fn hit(
    connection: &Connection,
    row: i64,
    found: FoundText,
    score: f64,
    coverage: Coverage,
) -> rusqlite::Result<SearchHit> {
    let (source, thread) = source_of(connection, row)?;
    Ok(SearchHit {
        found,
        source,
        thread,
        score: (score * 1000.0).round() / 1000.0,
        coverage,
        before: neighbour(connection, row, "row < ?1 AND row >= ?2 ORDER BY row DESC")?,
        after: neighbour(connection, row, "row > ?1 AND row >= ?2 ORDER BY row")?,
    })
}

pub(super) fn rows_of(connection: &Connection, areas: &[SearchArea]) -> rusqlite::Result<Vec<RowRange>> {
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

fn frequencies(
    connection: &Connection,
    query: &Query,
    areas: &[RowRange],
    effort: Effort,
) -> rusqlite::Result<Frequencies> {
    let mut frequencies = Frequencies::default();
    for rows in areas {
        frequencies.passages = frequencies.passages.saturating_add(passages_in(connection, *rows)?);
    }
    let counted = effort.counts_to(frequencies.passages);
    let most = i64::try_from(counted).unwrap_or(i64::MAX);
    let mut matching = connection.prepare(
        "SELECT count(*) FROM (SELECT 1 FROM fts WHERE fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4)",
    )?;
    for term in query.terms() {
        let mut with_term = 0_u64;
        for rows in areas {
            let values = params![term.expression(), rows.first, rows.last, most];
            let count: i64 = matching.query_row(values, |row| row.get(0))?;
            with_term = with_term.saturating_add(count.unsigned_abs());
        }
        if with_term >= counted {
            with_term = with_term.max(frequencies.passages / COUNTED);
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
    areas: &[RowRange],
    request: &SearchRequest,
) -> rusqlite::Result<Vec<i64>> {
    let effort = Effort::of(request.freshness);
    let bounded = request.since.is_some() || request.until.is_some();
    let time = (request.since.unwrap_or(i64::MIN), request.until.unwrap_or(i64::MAX));
    let time = bounded.then_some(time);
    let is_common = |with: &u64| effort.is_common(*with, frequencies.passages);
    let mut rare: Vec<(u64, String)> = query
        .terms()
        .iter()
        .zip(&frequencies.with_term)
        .filter(|(_, with)| **with > 0 && !is_common(with))
        .map(|(term, with)| (*with, term.expression()))
        .collect();
    rare.sort_by_key(|(with, _)| *with);
    let mut left = effort.most_matches(frequencies.passages);
    let rare: Vec<String> = rare
        .into_iter()
        .enumerate()
        .take_while(|(at, (with, _))| {
            let fits = *at == 0 || *with <= left;
            left = left.saturating_sub(*with);
            fits
        })
        .map(|(_, (_, expression))| expression)
        .collect();
    let too_many = effort.bounded && frequencies.passages > FEW_PASSAGES;
    let expression = match rare.is_empty() {
        true if too_many => None,
        true => query.expression(),
        false => Some(rare.join(" OR ")),
    };
    let Some(expression) = expression else { return Ok(Vec::new()) };
    let mut found = matching(connection, &expression, areas, time, effort.candidates)?;
    if found.len() < FEW_CANDIDATES
        && !too_many
        && let Some(wider) = query.character_expression()
    {
        for row in matching(connection, &wider, areas, time, effort.candidates)? {
            if !found.contains(&row) && found.len() < effort.candidates {
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
    areas: &[RowRange],
    time: Option<(i64, i64)>,
    most: usize,
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
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
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
    found.truncate(most);
    Ok(found.into_iter().map(|(row, _)| row).collect())
}

/// The texts of the candidates and of the rows around them, in the order of their rows. Where they are many or long, those
/// of the worst candidates are left out.
fn with_neighbours(
    connection: &Connection,
    candidates: &[i64],
    effort: Effort,
) -> rusqlite::Result<Passages> {
    let mut statement = connection.prepare(
        "SELECT row, id, at, author, text, flags FROM doc WHERE row BETWEEN ?1 AND ?2 ORDER BY row",
    )?;
    let mut found = BTreeMap::new();
    let mut bytes = 0_usize;
    for row in candidates {
        if bytes > effort.ranked_bytes {
            break;
        }
        let around = [row.saturating_sub(WINDOW), row.saturating_add(WINDOW)];
        let mut rows = statement.query(around)?;
        while let Some(row) = rows.next()? {
            let key: i64 = row.get(0)?;
            if let Entry::Vacant(place) = found.entry(key) {
                let passage = Passage { key, at: row.get(2)?, author: row.get(3)?, text: row.get(4)? };
                bytes = bytes.saturating_add(passage.text.len());
                place.insert((passage, row.get::<_, String>(1)?, row.get::<_, i64>(5)?));
            }
        }
    }
    let mut passages = Passages::default();
    for (passage, id, flags) in found.into_values() {
        passages.texts.push(passage);
        passages.ids.push(id);
        passages.flags.push(flags);
    }
    Ok(passages)
}

fn neighbour(connection: &Connection, row: i64, place: &str) -> rusqlite::Result<Option<FoundText>> {
    use rusqlite::OptionalExtension as _;
    let sql = format!("SELECT {TEXT_COLUMNS} FROM doc WHERE {place} LIMIT 1");
    let mut statement = connection.prepare(&sql)?;
    let found = statement.query_row([row, base_of(row)], read_text).optional()?;
    Ok(found.filter(|(there, _)| base_of(*there) == base_of(row)).map(|(_, found)| found))
}

fn source_of(connection: &Connection, row: i64) -> rusqlite::Result<(TextSource, Option<ThreadId>)> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let mut statement = connection.prepare("SELECT kind, name FROM file WHERE base = ?1")?;
    let (kind, name) = statement.query_row([base_of(row)], read)?;
    Ok(match kind.as_str() {
        "core" => (TextSource::Core, None),
        "notes" => (TextSource::Notes, None),
        _ => (TextSource::History, name.parse().ok()),
    })
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
