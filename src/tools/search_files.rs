//! `search_files`: the lines of the project's files that match.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bounds::{OUTPUT_BYTES, OutputBudget};
use super::confine::{Confinement, Inside};
use super::glob::Glob;
use super::lines::LineContent;
use super::open::OpenedPath;
use super::schema::schema_of;
use super::secret_search::{SecretFileId, id_of, is_secret, shared_secrets};
use super::walk::walk;
use super::{arguments, job};
use crate::domain::{Effects, ToolSpec};
use crate::ports::{BoxFuture, Tool, ToolContext, ToolFailure, ToolOutcome};

/// The default and the largest number of matches.
const DEFAULT_RESULTS: u64 = 100;
const MAX_RESULTS: u64 = 500;

/// How many bytes of one line are searched.
const LINE_BYTES: usize = 1024 * 1024;

/// Characters shown before and after the start of a match.
const BEFORE: usize = 80;
const AFTER: usize = 200;

/// Time limit of one search.
const TIME: Duration = Duration::from_secs(10);

/// Largest compiled expression in memory.
const EXPRESSION_BYTES: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct SearchFiles;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// What to look for inside single lines: plain text, case-sensitive.
    query: String,
    /// The directory or file to search, relative to the project directory. Default: the whole project.
    path: Option<String>,
    /// Read `query` as a regular expression; (?i) at its beginning ignores case. Default: false.
    regex: Option<bool>,
    /// Only files that match this pattern, as in .gitignore: *.rs, src/**/*.md.
    glob: Option<String>,
    /// How many matching lines to return. Default: 100, at most 500.
    max_results: Option<u64>,
}

impl Tool for SearchFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search_files",
            description: "Finds lines in the project's text files that contain a text or match a regular \
                          expression. Ignored and binary files, .git, target, node_modules and files that may hold secrets \
                          are left out."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::ReadOnly,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        arguments::read::<Arguments>(arguments.clone()).map(drop)
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        job::call(arguments, context, |arguments: &Arguments, context, cancel| {
            search(arguments, context, cancel, Instant::now() + TIME)
        })
    }
}

fn search(
    arguments: &Arguments,
    context: &ToolContext,
    cancel: &CancellationToken,
    deadline: Instant,
) -> ToolOutcome {
    let confinement = Confinement::new(context);
    let root = confinement.resolve(arguments.path.as_deref().unwrap_or("."))?;
    if !confinement.absolute(&root).exists() {
        let shown = root.shown();
        return Err(ToolFailure::Failed(format!("{shown} does not exist; use list_files to see what does")));
    }
    let glob = Glob::read(arguments.glob.as_deref())?;
    let mut search = TextSearch {
        pattern: pattern(&arguments.query, arguments.regex.unwrap_or(false))?,
        wanted: arguments.max_results.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS),
        budget: OutputBudget::new(OUTPUT_BYTES),
        deadline,
        matches: Vec::new(),
        files: 0,
        shared_secrets: OnceCell::new(),
    };
    let root_is_secret = is_secret(root.relative());
    let mut end = SearchEnd::Everywhere;
    for found in walk(&confinement, &root, usize::MAX) {
        if cancel.is_cancelled() {
            return Err(job::stopped());
        }
        let relative = found.path().strip_prefix(confinement.project()).unwrap_or(found.path());
        if !found.file_type().is_some_and(|kind| kind.is_file()) || !glob.matches(relative, false) {
            continue;
        }
        // A person who approved a search of a secret folder approved its contents.
        if is_secret(relative) && !root_is_secret {
            continue;
        }
        let Ok(inside) = confinement.within_reach(relative) else { continue };
        end = search.file(&confinement, &inside, cancel);
        if end != SearchEnd::Everywhere {
            break;
        }
    }
    Ok(search.into_output(end))
}

fn pattern(query: &str, is_regex: bool) -> Result<Regex, ToolFailure> {
    if query.is_empty() {
        return Err(ToolFailure::BadArguments("`query` is empty: give a text to look for".into()));
    }
    if query.contains('\n') {
        return Err(ToolFailure::BadArguments(
            "`query` spans several lines, but lines are searched one by one: look for one of them".into(),
        ));
    }
    let source = if is_regex { query.to_owned() } else { regex::escape(query) };
    RegexBuilder::new(&source).size_limit(EXPRESSION_BYTES).dfa_size_limit(EXPRESSION_BYTES).build().map_err(
        |error| {
            ToolFailure::BadArguments(format!(
                "`query` is not a regular expression that can be used ({error}); mend it, or leave `regex` out to \
                 look for it as plain text"
            ))
        },
    )
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchEnd {
    /// All files were searched.
    Everywhere,
    /// There may be more matches.
    Full,
    /// The time limit was reached.
    Late,
}

#[derive(Debug)]
struct TextSearch {
    pattern: Regex,
    wanted: u64,
    budget: OutputBudget,
    deadline: Instant,
    matches: Vec<Value>,
    files: u64,
    /// Secret files that may have other names; `None` inside where that is unknown.
    shared_secrets: OnceCell<Option<HashSet<SecretFileId>>>,
}

impl TextSearch {
    /// Searches one file. One that cannot be read is skipped: it may have been removed meanwhile.
    fn file(&mut self, confinement: &Confinement, inside: &Inside, cancel: &CancellationToken) -> SearchEnd {
        if Instant::now() >= self.deadline {
            return SearchEnd::Late;
        }
        let Ok(opened) = confinement.open(inside) else { return SearchEnd::Everywhere };
        if self.may_be_secret(confinement, &opened) {
            return SearchEnd::Everywhere;
        }
        let Ok(LineContent::Text(mut lines)) = LineContent::of(opened, cancel.clone()) else {
            return SearchEnd::Everywhere;
        };
        self.files += 1;
        while let Ok(Some(line)) = lines.next(LINE_BYTES) {
            if let Some(hit) = self.pattern.find(line.bytes) {
                let text = excerpt(line.bytes, hit.range());
                let entry = json!({"path": inside.shown(), "line": line.number, "text": text});
                let room = (self.matches.len() as u64) < self.wanted && self.budget.take(&entry.to_string());
                if !room {
                    return SearchEnd::Full;
                }
                self.matches.push(entry);
            }
            // Reading the clock is more expensive than a line.
            if line.number.is_multiple_of(4096) && Instant::now() >= self.deadline {
                return SearchEnd::Late;
            }
        }
        SearchEnd::Everywhere
    }

    /// Whether a file with an ordinary name has another one that is secret.
    fn may_be_secret(&self, confinement: &Confinement, opened: &OpenedPath) -> bool {
        let Ok(facts) = opened.file.metadata() else { return true };
        facts.nlink() > 1
            && self
                .shared_secrets
                .get_or_init(|| shared_secrets(confinement.project()))
                .as_ref()
                .is_none_or(|secrets| secrets.contains(&id_of(&facts)))
    }

    fn into_output(self, end: SearchEnd) -> Value {
        let mut output = json!({"matches": self.matches, "filesSearched": self.files, "truncated": end != SearchEnd::Everywhere});
        let note = match end {
            SearchEnd::Everywhere => None,
            SearchEnd::Full => Some("there are more matches: narrow the query, the path or the glob"),
            SearchEnd::Late => {
                Some("the time was up before everything was searched: narrow the path or the glob")
            }
        };
        if let (Some(note), Some(fields)) = (note, output.as_object_mut()) {
            fields.insert("note".into(), note.into());
        }
        output
    }
}

/// The line around a match, shortened where it is long.
fn excerpt(line: &[u8], hit: Range<usize>) -> String {
    let (before, rest) = line.split_at_checked(hit.start).unwrap_or((line, &[]));
    let near = before.get(before.len().saturating_sub(4 * (BEFORE + 1))..).unwrap_or_default();
    let before_text = String::from_utf8_lossy(before_clean(near, before.len()));
    let far = rest.get(..rest.len().min(4 * (AFTER + 1))).unwrap_or_default();
    let after_text = String::from_utf8_lossy(far);
    let after_text = after_text.trim_end();
    let skipped = before_text.chars().count().saturating_sub(BEFORE);
    let mut text = String::new();
    if skipped > 0 || near.len() < before.len() {
        text.push('…');
    }
    text.extend(before_text.chars().skip(skipped));
    text.extend(after_text.chars().take(AFTER));
    if after_text.chars().count() > AFTER {
        text.push('…');
    }
    text
}

/// Drops the rest of a character that was cut at the left end.
fn before_clean(near: &[u8], whole: usize) -> &[u8] {
    if near.len() == whole {
        return near;
    }
    let start = near.iter().take(4).position(|byte| byte & 0b1100_0000 != 0b1000_0000).unwrap_or(0);
    near.get(start..).unwrap_or(near)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::arguments;
    use crate::tools::testing::Project;

    async fn call(project: &Project, arguments: Value) -> ToolOutcome {
        SearchFiles.call(arguments, project.context()).await
    }

    fn sample() -> Project {
        let project = Project::new();
        project.file("src/a.rs", "fn main() {}\n// a.b\n");
        project.file("src/b.md", "nothing\r\n中文 axb 说明\r\n");
        project.file("bin.dat", b"a.b\0a.b");
        project.file(".env", "SECRET=a.b");
        project.file("ignored.log", "a.b");
        project.file(".gitignore", "*.log");
        symlink("/etc/hostname", project.path("host")).unwrap();
        project
    }

    #[tokio::test]
    async fn the_query_is_plain_text_unless_it_is_said_to_be_a_regex() {
        let project = sample();
        let first = json!({"path": "src/a.rs", "line": 2, "text": "// a.b"});
        let second = json!({"path": "src/b.md", "line": 2, "text": "中文 axb 说明"});
        assert_eq!(
            call(&project, json!({"query": "a.b"})).await,
            Ok(json!({"matches": [first], "filesSearched": 3, "truncated": false}))
        );
        assert_eq!(
            call(&project, json!({"query": "a.b", "regex": "true", "path": "src"})).await,
            Ok(json!({"matches": [first, second], "filesSearched": 2, "truncated": false}))
        );
        assert_eq!(
            call(&project, json!({"query": "(?i)MAIN", "regex": true, "glob": "*.md"})).await,
            Ok(json!({"matches": [], "filesSearched": 1, "truncated": false}))
        );
        assert_eq!(
            call(&project, json!({"query": "b", "path": "src/a.rs"})).await.unwrap()["filesSearched"],
            1
        );
    }

    #[tokio::test]
    async fn matches_are_bounded_in_number_and_size() {
        let project = Project::new();
        project.file("many.txt", "hit\n".repeat(1_000));
        let output = call(&project, json!({"query": "hit", "maxResults": 7})).await.unwrap();
        assert_eq!((output["matches"].as_array().unwrap().len(), &output["truncated"]), (7, &json!(true)));
        project.file("wide.txt", format!("{}\n", "\u{1}中".repeat(3_000)).repeat(500));
        let output = call(&project, json!({"query": "中", "maxResults": 500})).await.unwrap();
        assert!(output.to_string().len() < OUTPUT_BYTES + 500);
        assert!(output["note"].as_str().unwrap().contains("more matches"));
    }

    #[test]
    fn a_long_line_is_shown_around_its_match() {
        let line = format!("{}needle{}", "中".repeat(1_000), "文".repeat(1_000));
        let text = excerpt(line.as_bytes(), 3_000..3_006);
        assert_eq!(text, format!("…{}needle{}…", "中".repeat(BEFORE), "文".repeat(AFTER - 6)));
        assert_eq!(excerpt(b"short needle\r\n", 6..12), "short needle");
    }

    #[tokio::test]
    async fn a_query_that_cannot_be_used_is_explained() {
        let project = sample();
        for (arguments, expected) in [
            (json!({"query": ""}), "is empty"),
            (json!({"query": "a\nb"}), "several lines"),
            (json!({"query": "a(", "regex": true}), "leave `regex` out"),
            (json!({"query": "((a{100}){100}){100}", "regex": true}), "leave `regex` out"),
            (json!({"query": "a", "glob": "{a"}), "`glob`"),
            (json!({"query": "a", "path": "gone"}), "does not exist"),
            (json!({"query": "a", "path": "host"}), "out of the project"),
            (json!({"query": "a", "path": ".env"}), "out of reach"),
        ] {
            let failure = call(&project, arguments.clone()).await.unwrap_err().to_string();
            assert!(failure.contains(expected), "{arguments}: {failure}");
        }
    }

    #[tokio::test]
    async fn a_search_ends_when_it_is_cancelled_or_late() {
        let project = sample();
        let arguments: Arguments = arguments::read(json!({"query": "a"})).unwrap();
        let late = search(&arguments, &project.context(), &CancellationToken::new(), Instant::now()).unwrap();
        assert_eq!((&late["filesSearched"], &late["truncated"]), (&json!(0), &json!(true)));
        project.cancel();
        assert_eq!(call(&project, json!({"query": "a"})).await, Err(job::stopped()));
    }

    #[tokio::test]
    async fn files_that_may_hold_secrets_are_left_out_under_any_name_and_at_any_depth() {
        let project = Project::new();
        for path in [
            ".env",
            "deploy/server.pem",
            "a/b/c/d/e/f/g/h/id_rsa",
            "a/.ssh/known",
            "vendor/x/.npmrc",
            "src/secrets/token.txt",
        ] {
            project.file(path, "TOKEN=needle");
        }
        project.file("src/main.rs", "// needle");
        for (file, name) in [("deploy/server.pem", "plain.txt"), ("src/secrets/token.txt", "src/other.txt")] {
            std::fs::hard_link(project.path(file), project.path(name)).unwrap();
        }
        std::fs::hard_link(project.path("src/main.rs"), project.path("src/same.rs")).unwrap();
        symlink("deploy/server.pem", project.path("link.txt")).unwrap();
        for arguments in [json!({"query": "needle"}), json!({"query": "needle", "path": "src"})] {
            let output = call(&project, arguments).await.unwrap();
            let paths: Vec<&str> = output["matches"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hit| hit["path"].as_str().unwrap())
                .collect();
            assert_eq!(paths, ["src/main.rs", "src/same.rs"], "{output}");
        }
    }
}
