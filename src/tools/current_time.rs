//! `current_time`: the time in a time zone.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};

#[derive(Clone, Copy, Debug)]
pub struct CurrentTime;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// An IANA time zone such as Asia/Shanghai or UTC. Default: the zone of the machine.
    timezone: Option<String>,
}

impl Tool for CurrentTime {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "current_time",
            description: "Tells the current date, time and weekday.".into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let arguments: Arguments = arguments::read(arguments)?;
            tell(arguments.timezone.as_deref(), &context)
        })
    }
}

fn tell(zone: Option<&str>, context: &ToolContext) -> ToolOutcome {
    let zone = match zone.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => TimeZone::get(name).map_err(|_| {
            ToolFailure::BadArguments(format!(
                "`timezone` {name:?} is not known; use an IANA name such as Asia/Shanghai, Europe/Berlin or UTC"
            ))
        })?,
        None => TimeZone::system(),
    };
    let now = context.clock.now();
    let there = Timestamp::from_millisecond(now.as_millis())
        .map_err(|error| ToolFailure::Failed(error.to_string()))?
        .to_zoned(zone);
    Ok(json!({
        "time": there.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        "timezone": there.time_zone().iana_name().unwrap_or("local"),
        "weekday": there.strftime("%A").to_string(),
        "utc": now.rfc3339(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    #[tokio::test]
    async fn the_time_is_told_for_a_zone() {
        let project = Project::new();
        let call = |arguments| CurrentTime.call(arguments, project.context());
        assert_eq!(
            call(json!({"timezone": "Asia/Shanghai"})).await,
            Ok(
                json!({"time": "2026-01-01T08:00:00+08:00", "timezone": "Asia/Shanghai", "weekday": "Thursday",
                      "utc": "2026-01-01T00:00:00Z"})
            )
        );
        assert_eq!(call(json!({"timezone": "UTC"})).await.unwrap()["time"], "2026-01-01T00:00:00+00:00");
        assert_eq!(call(json!(null)).await.unwrap()["utc"], "2026-01-01T00:00:00Z");
        let failure = call(json!({"timezone": "Mars/Olympus"})).await.unwrap_err();
        assert!(failure.to_string().contains("Asia/Shanghai"));
    }
}
