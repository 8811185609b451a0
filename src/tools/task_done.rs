//! `task_done`: ends a scheduled run with a report, or says that there is nothing to report.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{Capabilities, Effects, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};

/// Says whether a scheduled run has something to report. The scheduler reads the call.
#[derive(Clone, Copy, Debug)]
pub struct TaskDone;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Whether people should be told of the result. `false`: nothing is sent.
    report: bool,
    /// The report, as Markdown. Left out: your final text.
    #[expect(dead_code, reason = "the scheduler reads it from the stored call")]
    text: Option<String>,
}

impl Tool for TaskDone {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "task_done",
            description: "Ends this scheduled run: says whether there is something to report.".into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn suits(&self, capabilities: &Capabilities) -> bool {
        capabilities.unattended
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<Arguments>(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, _: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Arguments { report, .. } = arguments::read(arguments)?;
            Ok(json!({ "noted": true, "report": report }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;

    #[tokio::test]
    async fn it_is_offered_to_unattended_runs_only_and_needs_a_decision() {
        assert!(!TaskDone.suits(&Capabilities::pull()));
        assert!(TaskDone.suits(&Capabilities { unattended: true, ..Capabilities::pull() }));
        assert!(TaskDone.check(&json!({})).is_err());
        let project = Project::new();
        let outcome = TaskDone.call(json!({ "report": false }), project.context()).await;
        assert_eq!(outcome, Ok(json!({ "noted": true, "report": false })));
    }
}
