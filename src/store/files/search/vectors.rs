//! Vectors of texts in the index, by the digest of the text and the model. Small enough to be compared one by one.

use rusqlite::{Connection, OptionalExtension, params};

use super::database::DatabaseError;
use super::sources::RowRange;
use super::writing::in_transaction;
use crate::ports::{SearchRequest, Unembedded};

/// So many of the newest texts of an area are compared with a query.
const COMPARED: i64 = 20_000;
/// Longest text that is embedded, in characters.
const EMBEDDED_CHARS: usize = 2_000;
/// Texts that are less alike than this have nothing to do with each other.
const LEAST_ALIKE: f32 = 0.2;

/// Texts of these rows without a vector, each once.
pub(super) fn lacking(
    connection: &Connection,
    areas: &[RowRange],
    model: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Unembedded>> {
    let sql = "SELECT DISTINCT doc.digest, doc.text FROM doc \
               LEFT JOIN vector ON vector.digest = doc.digest AND vector.model = ?1 \
               WHERE doc.row BETWEEN ?2 AND ?3 AND vector.digest IS NULL LIMIT ?4";
    let mut statement = connection.prepare(sql)?;
    let mut found: Vec<Unembedded> = Vec::new();
    for rows in areas {
        let left = i64::try_from(limit.saturating_sub(found.len())).unwrap_or(i64::MAX);
        let some = statement.query_map(params![model, rows.first, rows.last, left], |row| {
            let text: String = row.get(1)?;
            Ok(Unembedded { digest: row.get(0)?, text: text.chars().take(EMBEDDED_CHARS).collect() })
        })?;
        for one in some {
            let one = one?;
            if found.iter().all(|known| known.digest != one.digest) {
                found.push(one);
            }
        }
    }
    Ok(found)
}

pub(super) fn put(
    connection: &Connection,
    model: &str,
    vectors: &[(i64, Vec<f32>)],
) -> Result<(), DatabaseError> {
    in_transaction(connection, || {
        let mut statement =
            connection.prepare("INSERT OR REPLACE INTO vector(digest, model, value) VALUES (?1, ?2, ?3)")?;
        for (digest, vector) in vectors {
            let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
            statement.execute(params![digest, model, bytes])?;
        }
        Ok(())
    })
}

/// The rows whose vectors are nearest to this one, nearest first.
pub(super) fn nearest(
    connection: &Connection,
    areas: &[RowRange],
    request: &SearchRequest,
    model: &str,
    vector: &[f32],
) -> rusqlite::Result<Vec<(i64, f32)>> {
    let sql = "SELECT doc.row, vector.value FROM doc \
               JOIN vector ON vector.digest = doc.digest AND vector.model = ?1 \
               WHERE doc.row BETWEEN ?2 AND ?3 AND doc.at >= ?4 AND doc.at < ?5 ORDER BY doc.row DESC LIMIT ?6";
    let mut statement = connection.prepare(sql)?;
    let (since, until) = (request.since.unwrap_or(i64::MIN), request.until.unwrap_or(i64::MAX));
    let mut found: Vec<(i64, f32)> = Vec::new();
    for rows in areas {
        let values = params![model, rows.first, rows.last, since, until, COMPARED];
        let mut some = statement.query(values)?;
        while let Some(row) = some.next()? {
            let alike = likeness(row.get_ref(1)?.as_blob().unwrap_or_default(), vector);
            if alike >= LEAST_ALIKE {
                found.push((row.get(0)?, alike));
            }
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(request.limit);
    Ok(found)
}

/// The cosine of two vectors of length 1; 0 where one is of another dimension.
fn likeness(stored: &[u8], vector: &[f32]) -> f32 {
    let (numbers, rest) = stored.as_chunks::<4>();
    if !rest.is_empty() || numbers.len() != vector.len() {
        return 0.0;
    }
    numbers.iter().zip(vector).map(|(bytes, value)| f32::from_le_bytes(*bytes) * value).sum()
}

/// Removes vectors of texts that the index has no more: they tell what was forgotten.
pub(super) fn remove_orphans(connection: &Connection) -> rusqlite::Result<()> {
    let any: Option<i64> =
        connection.query_row("SELECT 1 FROM vector LIMIT 1", [], |row| row.get(0)).optional()?;
    if any.is_some() {
        connection.execute("DELETE FROM vector WHERE digest NOT IN (SELECT digest FROM doc)", [])?;
    }
    Ok(())
}
