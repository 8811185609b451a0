//! `write_file`: creates a file, or replaces one that was read before.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, check_size, current_text};
use super::confine::Confinement;
use super::file_change::version_of;
use super::schema::schema_of;
use super::{arguments, job};
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, CallSite, TextChange, Tool, ToolContext, ToolFailure, ToolOutcome};

#[derive(Clone, Copy, Debug)]
pub struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The file, relative to the project directory. Folders that are missing are made.
    path: String,
    /// The whole content that the file is to have.
    content: String,
    /// Needed where the file exists: the `version` that read_file, write_file or edit_file gave for it.
    version: Option<String>,
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file",
            description:
                "Writes a text file of the project, whole. To replace a file that exists, read it first and \
                          give its `version`; to change a part of one, use edit_file."
                    .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        parsed(arguments.clone()).map(drop)
    }

    fn preview(&self, arguments: &Value, site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        let planned = plan_write(arguments.clone(), &Confinement::of(site.project, site.thread));
        Some(planned.map(TextChange::from))
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(job::run(context, move |context, _| {
            let confinement = Confinement::new(context);
            plan_write(arguments, &confinement)?.make(&confinement)
        }))
    }
}

fn parsed(arguments: Value) -> Result<Arguments, ToolFailure> {
    let parsed: Arguments = arguments::read(arguments)?;
    arguments::check_path(&parsed.path)?;
    check_size(parsed.content.len())?;
    Ok(parsed)
}

/// Computes what a call would change. The given version must match the current content, so that no unseen change
/// is overwritten.
fn plan_write(arguments: Value, confinement: &Confinement) -> Result<FileChange, ToolFailure> {
    let Arguments { path, content, version } = parsed(arguments)?;
    let inside = confinement.resolve(&path)?;
    let before = current_text(confinement, &inside)?;
    let shown = inside.shown();
    let mend = match (&before, version.as_deref().map(str::trim)) {
        (None, None) => None,
        (None, Some(_)) => Some(format!("{shown} does not exist any more; leave `version` out to make it")),
        (Some(_), None) => Some(format!(
            "{shown} exists already; read it with read_file and give its `version` to replace it"
        )),
        (Some(text), Some(version)) if version_of(text.as_bytes()) != version => Some(format!(
            "{shown} is not as it was when it was read; read it again and give its new `version`"
        )),
        (Some(_), Some(_)) => None,
    };
    match mend {
        Some(mend) => Err(ToolFailure::Refused(mend)),
        None => Ok(FileChange { inside, before, after: content }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::ReadFile;
    use crate::tools::testing::Project;

    async fn write(project: &Project, arguments: Value) -> ToolOutcome {
        WriteFile.call(arguments, project.context()).await
    }

    #[tokio::test]
    async fn a_new_file_is_made_and_what_was_written_can_be_replaced() {
        let project = Project::new();
        let made = write(&project, json!({"path": "src/新.txt", "content": "one"})).await.unwrap();
        let version = version_of(b"one");
        assert_eq!(made, json!({"path": "src/新.txt", "created": true, "size": 3, "version": version}));
        let again = json!({"path": "src/新.txt", "content": "two", "version": version});
        assert_eq!(write(&project, again).await.unwrap()["created"], false);
        assert_eq!(std::fs::read(project.path("src/新.txt")).unwrap(), b"two");
    }

    #[tokio::test]
    async fn nothing_is_overwritten_that_was_not_seen() {
        let project = Project::new();
        project.file("a.txt", "first");
        let failure = write(&project, json!({"path": "a.txt", "content": "x"})).await.unwrap_err();
        assert!(failure.to_string().contains("read it with read_file"), "{failure}");

        let read = ReadFile.call(json!({"path": "a.txt"}), project.context()).await.unwrap();
        let call = json!({"path": "a.txt", "content": "mine", "version": read["version"]});
        project.file("a.txt", "changed by somebody");
        let failure = write(&project, call.clone()).await.unwrap_err();
        assert!(failure.to_string().contains("read it again"), "{failure}");
        std::fs::remove_file(project.path("a.txt")).unwrap();
        assert!(
            write(&project, call.clone()).await.unwrap_err().to_string().contains("does not exist any more")
        );
        project.file("a.txt", "first");
        assert_eq!(write(&project, call).await.unwrap()["size"], 4);
    }

    #[tokio::test]
    async fn what_is_out_of_reach_or_no_text_is_refused() {
        let project = Project::new();
        project.file("a.png", b"\x89PNG\r\n\x1a\n....");
        project.file("latin.txt", b"caf\xe9");
        project.file("dir/x", "");
        for path in
            [".env", "ship.json", ".ship/grants.json", "../x", "/etc/motd", "a.png", "latin.txt", "dir", "."]
        {
            let outcome = write(&project, json!({"path": path, "content": "x", "version": "0"})).await;
            assert!(outcome.is_err(), "{path}: {outcome:?}");
        }
        let large = "x".repeat(super::super::change::FILE_BYTES + 1);
        let outcome = write(&project, json!({"path": "large", "content": large})).await;
        assert!(matches!(outcome, Err(ToolFailure::BadArguments(_))));
        assert_eq!(std::fs::read_dir(project.root()).unwrap().count(), 3);
    }
}
