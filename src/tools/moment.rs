//! Days and times in the arguments of a call.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::domain::Timestamp;
use crate::ports::ToolFailure;

/// Which end of a period a day stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The beginning of the day.
    Begin,
    /// The end of the day.
    End,
}

/// The milliseconds of an argument that is a day or a time; nothing where it is not given.
pub(super) fn moment(name: &str, text: Option<&str>, edge: Edge) -> Result<Option<i64>, ToolFailure> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    if let Some(time) = Timestamp::parse_rfc3339(text) {
        return Ok(Some(time.as_millis()));
    }
    let day = text.parse::<Date>().ok().filter(|_| !text.contains(['T', 't', ' ']));
    let day = match edge {
        Edge::Begin => day,
        Edge::End => day.and_then(|day| day.tomorrow().ok()),
    };
    let begin = day.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    begin.map(|begin| Some(begin.timestamp().as_millisecond())).ok_or_else(|| {
        let text = format!("`{name}` {text:?} is no day or time: write 2026-05-02 or 2026-05-02T08:00:00Z");
        ToolFailure::BadArguments(text)
    })
}
