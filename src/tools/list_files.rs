//! `list_files`: the entries of a directory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::bounds::{OUTPUT_BYTES, OutputBudget};
use super::confine::Confinement;
use super::glob::Glob;
use super::open::must_be_directory;
use super::schema::schema_of;
use super::walk::walk;
use super::{arguments, job};
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};

/// The default depth; with a pattern, all levels.
const DEFAULT_DEPTH: u64 = 2;

const MAX_DEPTH: u64 = 32;

/// Most entries in an output.
const MAX_ENTRIES: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub struct ListFiles;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// The directory, relative to the project directory. Default: the project directory itself.
    path: Option<String>,
    /// How many levels to go down. Default: 2, or all with a glob.
    depth: Option<u64>,
    /// Only paths that match this pattern, as in .gitignore: *.rs, src/**/*.md.
    glob: Option<String>,
}

impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_files",
            description: "Lists files and directories of the project, sorted, with sizes in bytes. Ignored \
                          files, .git, target and node_modules are left out unless asked for as `path`."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<Arguments>(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        job::call(arguments, context, list)
    }
}

fn list(arguments: &Arguments, context: &ToolContext, cancel: &CancellationToken) -> ToolOutcome {
    let confinement = Confinement::new(context);
    let root = confinement.resolve(arguments.path.as_deref().unwrap_or("."))?;
    let glob = Glob::read(arguments.glob.as_deref())?;
    let directory = confinement.absolute(&root);
    must_be_directory(&root, &directory)?;
    let default = if glob.is_everything() { DEFAULT_DEPTH } else { MAX_DEPTH };
    let depth = arguments.depth.unwrap_or(default).clamp(1, MAX_DEPTH);

    let mut entries = Vec::new();
    let mut truncated = false;
    let mut budget = OutputBudget::new(OUTPUT_BYTES);
    for found in walk(&confinement, &root, usize::try_from(depth).unwrap_or(1)).skip(1) {
        if cancel.is_cancelled() {
            return Err(job::stopped());
        }
        let relative = found.path().strip_prefix(confinement.project()).unwrap_or(found.path());
        let kind = found.file_type();
        let is_directory = kind.is_some_and(|kind| kind.is_dir());
        if !glob.matches(relative, is_directory) {
            continue;
        }
        let mut entry = Map::new();
        entry.insert("path".into(), relative.to_string_lossy().into());
        let (name, size) = match kind {
            Some(kind) if kind.is_dir() => ("directory", None),
            Some(kind) if kind.is_symlink() => ("link", None),
            Some(kind) if kind.is_file() => ("file", found.metadata().ok().map(|metadata| metadata.len())),
            _ => ("other", None),
        };
        entry.insert("type".into(), name.into());
        if let Some(size) = size {
            entry.insert("size".into(), size.into());
        }
        let entry = Value::Object(entry);
        if entries.len() == MAX_ENTRIES || !budget.take(&entry.to_string()) {
            truncated = true;
            break;
        }
        entries.push(entry);
    }
    let mut output = json!({"path": root.shown(), "entries": entries, "truncated": truncated});
    if truncated && let Some(fields) = output.as_object_mut() {
        let note = "there is more: list a subdirectory, a smaller depth, or use a glob";
        fields.insert("note".into(), note.into());
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::testing::Project;

    async fn call(project: &Project, arguments: Value) -> ToolOutcome {
        ListFiles.call(arguments, project.context()).await
    }

    #[tokio::test]
    async fn a_directory_is_listed_in_order_with_types_and_sizes() {
        let project = Project::new();
        project.file("b.txt", "12345");
        project.file("a/deep/er/x.rs", "");
        project.file(".env", "KEY=1");
        symlink("/etc", project.path("etc")).unwrap();
        assert_eq!(
            call(&project, json!({})).await,
            Ok(json!({"path": ".", "truncated": false, "entries": [
                {"path": "a", "type": "directory"},
                {"path": "a/deep", "type": "directory"},
                {"path": "b.txt", "type": "file", "size": 5},
                {"path": "etc", "type": "link"},
            ]}))
        );
        assert_eq!(
            call(&project, json!({"path": "a", "glob": "*.rs"})).await,
            Ok(json!({"path": "a", "truncated": false, "entries": [
                {"path": "a/deep/er/x.rs", "type": "file", "size": 0},
            ]}))
        );
    }

    #[tokio::test]
    async fn an_empty_directory_is_an_empty_list() {
        let project = Project::new();
        std::fs::create_dir(project.path("empty")).unwrap();
        let expected = json!({"path": "empty", "entries": [], "truncated": false});
        assert_eq!(call(&project, json!({"path": "empty/"})).await, Ok(expected));
    }

    #[tokio::test]
    async fn a_long_list_is_cut_and_says_so() {
        let project = Project::new();
        for n in 0..1_200 {
            project.file(&format!("{n:04}-{}.txt", "x".repeat(40)), "");
        }
        let output = call(&project, json!({})).await.unwrap();
        assert_eq!(output["truncated"], true);
        assert!(output["note"].as_str().unwrap().contains("glob"));
        assert!(output.to_string().len() < OUTPUT_BYTES + 500);
    }

    #[tokio::test]
    async fn what_is_no_directory_is_said_so() {
        let project = Project::new();
        project.file("a.txt", "");
        for (path, expected) in
            [("a.txt", "not a directory"), ("gone", "does not exist"), (".ship", "out of reach")]
        {
            let failure = call(&project, json!({"path": path})).await.unwrap_err().to_string();
            assert!(failure.contains(expected), "{failure}");
        }
    }
}
