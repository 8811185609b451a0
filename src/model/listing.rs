//! The models that a server offers (`GET /models`), with their shutdown dates where the server reports them.

use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::civil::Date;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::http_client::{Http, whole_story};

/// Deadline of the request.
const DEADLINE: Duration = Duration::from_secs(10);
const MAX_BYTES: usize = 4 << 20;
/// Most alternatives in a hint.
const ALTERNATIVES: usize = 5;
/// A model with fewer days left is no alternative.
const LASTING_DAYS: i64 = 180;
/// Parts of names of models that are no chat models.
const OTHER_PURPOSES: &[&str] = &[
    "audio",
    "dall-e",
    "embed",
    "image",
    "moderation",
    "realtime",
    "rerank",
    "search",
    "speech",
    "transcribe",
    "tts",
    "video",
    "whisper",
];

/// A model in a server's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// The name in requests.
    pub id: String,
    /// The day on which the server stops serving it.
    pub shutdown: Option<Date>,
}

/// Requests a server's models.
///
/// # Errors
/// A text, when the server cannot be reached, refuses, or sends an unexpected answer.
pub async fn list_models(
    http: &Http,
    base_url: &str,
    key: Option<&SecretString>,
) -> Result<Vec<ListedModel>, String> {
    tokio::time::timeout(DEADLINE, fetch(http, base_url, key))
        .await
        .map_err(|_| format!("no list of models within {} seconds", DEADLINE.as_secs()))?
}

async fn fetch(http: &Http, base_url: &str, key: Option<&SecretString>) -> Result<Vec<ListedModel>, String> {
    let client = http.client(base_url).map_err(|error| whole_story(&error))?;
    let base = base_url.trim().trim_end_matches('/');
    let base = base.strip_suffix("/chat/completions").unwrap_or(base);
    let mut request = client.get(format!("{base}/models"));
    if let Some(key) = key {
        request = request.bearer_auth(key.expose_secret());
    }
    let answer = request.send().await.map_err(|error| whole_story(&error))?;
    if !answer.status().is_success() {
        return Err(format!("status {}", answer.status().as_u16()));
    }
    let mut body = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| whole_story(&error))?);
        if body.len() > MAX_BYTES {
            return Err("the list of models is too long".to_owned());
        }
    }
    parse(&body).ok_or_else(|| "the answer is not a list of models".to_owned())
}

/// Parses `{"data": [{"id", "shutdown_date"?}]}`. Some servers omit the outer object.
fn parse(body: &[u8]) -> Option<Vec<ListedModel>> {
    let whole: Value = serde_json::from_slice(body).ok()?;
    let rows = whole.get("data").unwrap_or(&whole).as_array()?;
    let model = |row: &Value| {
        let id = row.get("id")?.as_str()?.to_owned();
        Some(ListedModel { id, shutdown: row.get("shutdown_date").and_then(date) })
    };
    Some(rows.iter().filter_map(model).collect())
}

/// Parses a date: `2026-12-11`, a timestamp, or seconds since 1970.
fn date(value: &Value) -> Option<Date> {
    let of = |at: jiff::Timestamp| at.to_zoned(jiff::tz::TimeZone::UTC).date();
    match value {
        Value::String(text) => {
            let text = text.trim();
            text.parse::<jiff::Timestamp>().map(of).or_else(|_| text.parse::<Date>()).ok()
        }
        Value::Number(seconds) => jiff::Timestamp::from_second(seconds.as_i64()?).map(of).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The days until a date; negative when it has passed.
pub fn days_until(day: Date, today: Date) -> i64 {
    i64::from(day.since(today).map_or(0, |span| span.get_days()))
}

/// The names of the chat models of a list, sorted; at most `most` of them.
pub fn chat_models(listed: &[ListedModel], most: usize) -> Vec<String> {
    let mut ids: Vec<String> = listed.iter().filter(|one| chats(one)).map(|one| one.id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(most);
    ids
}

fn chats(one: &ListedModel) -> bool {
    let id = one.id.to_lowercase();
    !OTHER_PURPOSES.iter().any(|purpose| id.contains(purpose))
}

/// Chat models of the list without a near shutdown, the most similar names first.
pub fn alternatives(model: &str, listed: &[ListedModel], today: Date) -> Vec<String> {
    let lasting = |one: &&ListedModel| one.shutdown.is_none_or(|day| days_until(day, today) > LASTING_DAYS);
    let chats = |one: &&ListedModel| one.id.to_lowercase() != model.to_lowercase() && chats(one);
    let mut ids: Vec<&str> = listed.iter().filter(lasting).filter(chats).map(|one| one.id.as_str()).collect();
    ids.sort_by(|one, other| {
        let alike = |id: &str| strsim::jaro_winkler(model, id);
        alike(other).total_cmp(&alike(one)).then_with(|| one.cmp(other))
    });
    ids.into_iter().take(ALTERNATIVES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn a_list_is_read_in_every_form_that_servers_write() {
        let body = r#"{"object":"list","data":[
            {"id":"a","object":"model","shutdown_date":"2026-12-11"},
            {"id":"b","shutdown_date":"2027-01-14T00:00:00Z"},
            {"id":"c","shutdown_date":1796947200},
            {"id":"d","shutdown_date":null}, {"id":"e"}, {"id":"f","shutdown_date":"soon"}, {"no":"id"}, 7]}"#;
        let read: Vec<_> = parse(body.as_bytes()).unwrap().into_iter().map(|m| (m.id, m.shutdown)).collect();
        let expected = [
            ("a", Some(day("2026-12-11"))),
            ("b", Some(day("2027-01-14"))),
            ("c", Some(day("2026-12-11"))),
            ("d", None),
            ("e", None),
            ("f", None),
        ];
        assert_eq!(read, expected.map(|(id, day)| (id.to_owned(), day)));
        assert_eq!(parse(br#"[{"id":"x"}]"#).unwrap().len(), 1);
        for body in ["", "null", "{}", "<html>", r#"{"data":"x"}"#] {
            assert_eq!(parse(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn alternatives_chat_last_and_resemble_the_model() {
        let listed: Vec<ListedModel> = [
            ("gpt-5-mini", Some("2026-12-11")),
            ("gpt-4o-mini", Some("2027-01-14")),
            ("gpt-5.4-mini", None),
            ("gpt-6-luna", Some("2028-01-01")),
            ("text-embedding-3", None),
            ("gpt-transcribe", None),
        ]
        .map(|(id, shutdown)| ListedModel { id: id.to_owned(), shutdown: shutdown.map(day) })
        .to_vec();
        assert_eq!(alternatives("gpt-5-mini", &listed, day("2026-11-18")), ["gpt-5.4-mini", "gpt-6-luna"]);
        let chat = ["gpt-4o-mini", "gpt-5-mini", "gpt-5.4-mini", "gpt-6-luna"];
        assert_eq!(chat_models(&listed, 10), chat);
        assert_eq!(chat_models(&listed, 2), chat[..2]);
        assert_eq!(days_until(day("2026-12-11"), day("2026-11-18")), 23);
        assert_eq!(days_until(day("2026-11-01"), day("2026-11-18")), -17);
    }
}
