//! `task_list`: the scheduled tasks that the conversation may know of.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{Effects, Origin, ScopeKey, ToolSpec};
use crate::ports::{BoxFuture, TaskSummary, TaskViewer, Tool, ToolContext, ToolFailure, ToolOutcome};

/// Most tasks in an answer.
const MOST: usize = 50;

#[derive(Clone, Copy, Debug)]
pub struct TaskList;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Shows one task with its file and its last results. Left out: lists all.
    id: Option<String>,
}

impl Tool for TaskList {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "task_list",
            description: "Lists the scheduled tasks and reminders, with their next times and last results."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<Arguments>(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Arguments { id } = arguments::read(arguments)?;
            let unavailable = |error: crate::ports::TaskRefusal| ToolFailure::Failed(error.to_string());
            let tasks = context.tasks.list(context.language).await.map_err(unavailable)?;
            let viewer = TaskViewer {
                author: context.requester.clone(),
                owner: context.origin == Origin::Owner,
                thread: context.thread.clone(),
                group: matches!(context.scope.write(), Some(ScopeKey::Group(_))),
            };
            // What runs cost is told to owners in private only.
            let costs_shown = viewer.owner && !viewer.group;
            let mut shown: Vec<TaskSummary> = tasks.into_iter().filter(|task| viewer.may_see(task)).collect();
            if !costs_shown {
                shown.iter_mut().for_each(TaskSummary::leave_out_costs);
            }
            let Some(id) = id.as_deref().map(str::trim).filter(|id| !id.is_empty()) else {
                let more = shown.len().saturating_sub(MOST);
                shown.truncate(MOST);
                return Ok(json!({ "tasks": shown, "more": more }));
            };
            if !shown.iter().any(|task| task.id == id) {
                return Err(ToolFailure::BadArguments(format!(
                    "there is no task `{id}`; leave `id` out to list all"
                )));
            }
            let mut task = context.tasks.show(id, context.language).await.map_err(unavailable)?;
            task.history.truncate(5);
            if !costs_shown {
                task.summary.leave_out_costs();
                task.history.iter_mut().for_each(|run| run.cost_micros = None);
            }
            Ok(json!(task))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ChatKind, Language, MemoryScope, ScopeSettings};
    use crate::tools::testing::Project;

    async fn ids(context: ToolContext) -> Vec<String> {
        let listed = TaskList.call(json!({}), context).await.unwrap();
        let tasks = listed["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn everybody_sees_what_concerns_them_and_owners_see_all_in_private() {
        let project = Project::new();
        for (id, deliver, author) in [
            ("here", "web:chat:t1", "fake:user:8"),
            ("mine", "web:chat:t2", "fake:user:7"),
            ("other", "web:chat:t2", "fake:user:8"),
        ] {
            let file = format!("---\nevery: 1h\ndeliver: {deliver}\nauthor: {author}\n---\n{id}");
            project.context().tasks.write(id, None, file, Language::En).await.unwrap();
        }
        assert_eq!(ids(project.context()).await, ["here", "mine"]);
        let owner = || ToolContext { origin: Origin::Owner, ..project.context() };
        assert_eq!(ids(owner()).await, ["here", "mine", "other"]);
        let author = "fake:user:7".parse().unwrap();
        let scope =
            MemoryScope::resolve(&author, ChatKind::Group, &project.thread(), &ScopeSettings::default());
        assert_eq!(ids(ToolContext { scope, ..owner() }).await, ["here"]);

        let shown = TaskList.call(json!({ "id": "mine" }), project.context()).await.unwrap();
        assert!(shown["file"].as_str().unwrap().ends_with("mine") && shown["next"].is_array());
        let hidden = TaskList.call(json!({ "id": "other" }), project.context()).await.unwrap_err();
        assert!(hidden.to_string().contains("no task"), "{hidden}");
    }
}
