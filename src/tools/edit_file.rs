//! `edit_file`: replaces an exact text in a file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, check_size, current_text};
use super::confine::Confinement;
use super::schema::schema_of;
use super::{arguments, job};
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, CallSite, TextChange, Tool, ToolContext, ToolFailure, ToolOutcome};

#[derive(Clone, Copy, Debug)]
pub struct EditFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The file, relative to the project directory.
    path: String,
    /// The text to replace, exactly as it stands in the file, with enough of its surroundings to be found once.
    old: String,
    /// The text to put in its place; may be empty.
    new: String,
    /// Replace every occurrence. Default: false.
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_file",
            description:
                "Replaces an exact text in a file of the project. Read the file first: `old` must match it \
                          letter by letter, white space included, and only once unless `replaceAll` is true."
                    .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        parsed(arguments.clone()).map(drop)
    }

    fn preview(&self, arguments: &Value, site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        let planned = plan_edit(arguments.clone(), &Confinement::of(site.project, site.thread));
        Some(planned.map(|(change, _)| change.into()))
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(job::run(context, move |context, _| {
            let confinement = Confinement::new(context);
            let (change, replacements) = plan_edit(arguments, &confinement)?;
            let mut output = change.make(&confinement)?;
            if let Some(fields) = output.as_object_mut() {
                fields.remove("created");
                fields.insert("replacements".into(), replacements.into());
            }
            Ok(output)
        }))
    }
}

fn parsed(arguments: Value) -> Result<Arguments, ToolFailure> {
    let parsed: Arguments = arguments::read(arguments)?;
    arguments::check_path(&parsed.path)?;
    if parsed.old.is_empty() {
        return Err(ToolFailure::BadArguments("`old` is empty; to make a file use write_file".to_owned()));
    }
    if parsed.old == parsed.new {
        return Err(ToolFailure::BadArguments(
            "`old` and `new` are the same; nothing would change".to_owned(),
        ));
    }
    Ok(parsed)
}

/// Computes the change of a call, and the number of replacements. Requiring the old text ensures that the file is as
/// the model has read it.
fn plan_edit(arguments: Value, confinement: &Confinement) -> Result<(FileChange, usize), ToolFailure> {
    let Arguments { path, old, new, replace_all } = parsed(arguments)?;
    let inside = confinement.resolve(&path)?;
    let shown = inside.shown();
    let before = current_text(confinement, &inside)?;
    let text = before.as_deref().ok_or_else(|| {
        ToolFailure::Failed(format!("{shown} does not exist; use list_files to see what does, or write_file"))
    })?;
    let found = text.matches(&old).count();
    match (found, replace_all.unwrap_or_default()) {
        (0, _) if text.contains("\r\n") && text.replace("\r\n", "\n").contains(&old) => {
            return Err(ToolFailure::Failed(format!(
                "`old` does not stand in {shown}: its lines end with \\r\\n, write them so"
            )));
        }
        (0, _) => {
            return Err(ToolFailure::Failed(format!(
                "`old` does not stand in {shown}; read the file again and copy the text exactly"
            )));
        }
        (2.., false) => {
            return Err(ToolFailure::Failed(format!(
                "`old` stands {found} times in {shown}; give more of its surroundings, or set `replaceAll`"
            )));
        }
        _ => {}
    }
    // Checked before replacing: many replacements can turn a small file into a huge one.
    let grown = found.saturating_mul(new.len()).saturating_add(text.len() - found * old.len());
    check_size(grown)?;
    let after = text.replace(&old, &new);
    Ok((FileChange { inside, before, after }, found))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::file_change::version_of;
    use crate::tools::testing::Project;

    async fn edit(project: &Project, arguments: Value) -> ToolOutcome {
        EditFile.call(arguments, project.context()).await
    }

    #[tokio::test]
    async fn a_text_that_stands_once_is_replaced() {
        let project = Project::new();
        project.file("a.txt", "fn 甲() {}\nfn b() {}\n");
        let done = edit(&project, json!({"path": "a.txt", "old": "fn b", "new": "fn 乙"})).await.unwrap();
        let expected = "fn 甲() {}\nfn 乙() {}\n";
        assert_eq!(std::fs::read_to_string(project.path("a.txt")).unwrap(), expected);
        let version = version_of(expected.as_bytes());
        let size = expected.len();
        assert_eq!(done, json!({"path": "a.txt", "size": size, "version": version, "replacements": 1}));
    }

    #[tokio::test]
    async fn every_occurrence_is_replaced_only_when_it_is_asked_for() {
        let project = Project::new();
        project.file("a.txt", "x x x");
        let call = |all| json!({"path": "a.txt", "old": "x", "new": "", "replaceAll": all});
        assert!(edit(&project, call(false)).await.unwrap_err().to_string().contains("3 times"));
        assert_eq!(std::fs::read(project.path("a.txt")).unwrap(), b"x x x");
        assert_eq!(edit(&project, call(true)).await.unwrap()["replacements"], 3);
        assert_eq!(std::fs::read(project.path("a.txt")).unwrap(), b"  ");
    }

    #[tokio::test]
    async fn mistakes_are_answered_with_the_way_to_mend_them() {
        let project = Project::new();
        project.file("a.txt", "one\r\ntwo\r\n");
        project.file(".env", "one");
        for (path, old, new, expected) in [
            ("a.txt", "", "x", "use write_file"),
            ("a.txt", "one", "one", "nothing would change"),
            ("a.txt", "three", "x", "copy the text exactly"),
            ("a.txt", "one\ntwo", "x", "end with \\r\\n"),
            ("gone.txt", "one", "x", "does not exist"),
            (".env", "one", "x", "out of reach"),
            ("../a.txt", "one", "x", "leads out of the project"),
        ] {
            let failure = edit(&project, json!({"path": path, "old": old, "new": new})).await.unwrap_err();
            assert!(failure.to_string().contains(expected), "{path} {old:?}: {failure}");
        }
    }

    #[tokio::test]
    async fn an_edit_cannot_blow_a_file_up() {
        let project = Project::new();
        project.file("a.txt", "x".repeat(1_000_000));
        let call = json!({"path": "a.txt", "old": "x", "new": "y".repeat(1_000), "replaceAll": true});
        assert!(edit(&project, call).await.is_err());
        assert_eq!(std::fs::metadata(project.path("a.txt")).unwrap().len(), 1_000_000);
    }
}
