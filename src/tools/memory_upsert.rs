//! `memory_upsert`: stores a memory for later conversations, about the project or about the person.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{Effects, MemoryScope, ToolSpec};
use crate::ports::{BoxFuture, CallSite, TextChange, Tool, ToolContext, ToolFailure, ToolOutcome};

/// Largest text of one call, and largest memory.
const TEXT_BYTES: usize = 4 * 1024;
const MEMORY_BYTES: usize = 12 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct MemoryUpsert;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// `project` for what everybody may know, `user` for what is about the person you speak with in private.
    scope: String,
    /// `add` puts the text at the end; `replace` puts it in the place of the whole section.
    action: String,
    /// What to remember, in CommonMark: short, and true for longer than today. Never a secret.
    text: String,
    /// The heading of the section it belongs to; made where it is missing. Needed to replace.
    section: Option<String>,
}

/// A proposed change of a memory.
#[derive(Debug)]
struct Change {
    scope: MemoryScope,
    before: Option<String>,
    after: String,
}

impl Change {
    /// The file to change.
    fn path(&self) -> String {
        format!(".ship/{}", self.scope.file())
    }
}

impl Tool for MemoryUpsert {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "memory_upsert",
            description: "Remembers something for later conversations, when somebody asks for it or will be glad of it. \
                          What is remembered stands in your instructions from then on."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn preview(&self, arguments: &Value, site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        // A preview runs on a blocking thread, which may block.
        let planned = tokio::runtime::Handle::current().block_on(plan(arguments.clone(), site));
        Some(planned.map(|change| TextChange {
            path: change.path(),
            before: change.before,
            after: change.after,
        }))
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let change = plan(arguments, context.site()).await?;
            let failed = |error| ToolFailure::Failed(format!("it could not be written down: {error}"));
            let before = change.before.as_deref().map(str::trim);
            if !context.memory.remember(&change.scope, before, &change.after).await.map_err(failed)? {
                return Err(ToolFailure::Failed(
                    "somebody else is changing it right now; try again".to_owned(),
                ));
            }
            Ok(json!({ "remembered": true, "file": change.path() }))
        })
    }
}

async fn plan(arguments: Value, site: CallSite<'_>) -> Result<Change, ToolFailure> {
    let Arguments { scope, action, text, section } = arguments::read(arguments)?;
    let bad = |words: &str| ToolFailure::BadArguments(words.to_owned());
    let scope = match (scope.trim(), site.person) {
        ("project", _) => MemoryScope::Project,
        ("user", Some(person)) => MemoryScope::Person(person.clone()),
        ("user", None) => {
            let words =
                "several people read here, so nothing is remembered about one of them; ask them in private";
            return Err(ToolFailure::Refused(words.to_owned()));
        }
        _ => return Err(bad("`scope` is `project` or `user`")),
    };
    let text = text.trim();
    if text.len() > TEXT_BYTES {
        return Err(bad("`text` is too long to be remembered; put down what matters of it"));
    }
    let section = section.as_deref().map(|name| name.trim().trim_start_matches('#').trim());
    let section = section.filter(|name| !name.is_empty());
    if section.is_some_and(|name| name.contains('\n')) {
        return Err(bad("`section` is one line"));
    }
    let recalled = site.memory.recall(&scope).await;
    let recalled =
        recalled.map_err(|error| ToolFailure::Failed(format!("memory cannot be read: {error}")))?;
    if recalled.as_ref().is_some_and(|found| found.cut) {
        return Err(ToolFailure::Refused(format!(
            ".ship/{} is too long already; somebody has to shorten it",
            scope.file()
        )));
    }
    let before = recalled.map(|found| format!("{}\n", found.text));
    let old = before.as_deref().unwrap_or_default();
    let after = match (action.trim(), section) {
        ("add", _) if text.is_empty() => return Err(bad("there is no `text` to add")),
        ("add", section) => with_added(old, section, text),
        ("replace", Some(section)) => with_section(old, section, text),
        ("replace", None) => return Err(bad("`section` says what to replace")),
        _ => return Err(bad("`action` is `add` or `replace`")),
    };
    if after.len() > MEMORY_BYTES {
        let words = "there is too much to remember; replace a section by something shorter first";
        return Err(ToolFailure::Refused(words.to_owned()));
    }
    Ok(Change { scope, before, after })
}

/// The memory with a text appended to it, or to a section.
fn with_added(old: &str, section: Option<&str>, text: &str) -> String {
    let Some(section) = section else { return joined(&[old, text]) };
    match parts(old, section) {
        Some((before, body, after)) => joined(&[before, &format!("{}\n{text}", body.trim_end()), after]),
        None => joined(&[old, &format!("## {section}\n\n{text}")]),
    }
}

/// The memory with a section replaced; with an empty text, without the section.
fn with_section(old: &str, section: &str, text: &str) -> String {
    let new = if text.is_empty() { String::new() } else { format!("## {section}\n\n{text}") };
    match parts(old, section) {
        Some((before, _, after)) => joined(&[before, &new, after]),
        None => joined(&[old, &new]),
    }
}

/// The text before a section, the section with its heading, and the text after it.
fn parts<'a>(text: &'a str, section: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let mut at = 0;
    let mut begin: Option<(usize, usize)> = None;
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        match (heading(line).filter(|_| !fenced), begin) {
            (Some((level, name)), None) if name.eq_ignore_ascii_case(section) => begin = Some((at, level)),
            (Some((level, _)), Some((from, own))) if level <= own => {
                return Some((text.get(..from)?, text.get(from..at)?, text.get(at..)?));
            }
            _ => {}
        }
        at += line.len();
    }
    let (from, _) = begin?;
    Some((text.get(..from)?, text.get(from..)?, ""))
}

/// The level and the text of a heading. `#todo` is none, and the sign at the end of `C#` belongs to it.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let words = line.get(level..).filter(|words| level > 0 && words.starts_with(char::is_whitespace))?.trim();
    let closed = words.trim_end_matches('#');
    let ends_apart = closed.is_empty() || closed.ends_with(char::is_whitespace);
    Some((level, if ends_apart { closed.trim_end() } else { words }))
}

/// Non-empty parts with an empty line between them.
fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!("{}\n", parts.join("\n\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Project;
    use crate::tools::{Redact, redacted_diff};

    const OLD: &str =
        "# Notes\n\n- first\n\n## Deploys\n\n- on Fridays\n\n### How\n\nslowly\n\n## People\n\n- Ann\n";

    #[test]
    fn a_text_is_added_where_it_belongs_and_nothing_else_changes() {
        assert_eq!(with_added("", None, "- a"), "- a\n");
        assert_eq!(with_added("- a\n", None, "- b"), "- a\n\n- b\n");
        assert_eq!(with_added("- a\n", Some("New"), "- b"), "- a\n\n## New\n\n- b\n");
        let added = with_added(OLD, Some("deploys"), "- never at night");
        assert_eq!(added, OLD.replace("slowly\n", "slowly\n- never at night\n"));
    }

    #[test]
    fn headings_are_told_from_what_only_looks_like_one() {
        for (line, expected) in [
            ("## C#\n", Some((2, "C#"))),
            ("## Closed ##\n", Some((2, "Closed"))),
            ("# \n", Some((1, ""))),
            ("#todo\n", None),
            ("words\n", None),
        ] {
            assert_eq!(heading(line), expected, "{line:?}");
        }
        let fenced = "## A\n\n```\n# no heading\n```\n\n- a\n\n## B\n";
        assert_eq!(with_section(fenced, "A", "- new"), "## A\n\n- new\n\n## B\n");
        assert_eq!(with_added("## C#\n\n- a\n", Some("C#"), "- b"), "## C#\n\n- a\n- b\n");
    }

    #[test]
    fn a_section_is_replaced_with_what_is_below_it_or_taken_away() {
        let replaced = with_section(OLD, "Deploys", "- daily");
        assert_eq!(replaced, "# Notes\n\n- first\n\n## Deploys\n\n- daily\n\n## People\n\n- Ann\n");
        assert_eq!(with_section(OLD, "People", ""), OLD.replace("\n## People\n\n- Ann\n", ""));
        assert_eq!(with_section("", "New", "x"), "## New\n\nx\n");
    }

    #[tokio::test]
    async fn what_is_remembered_is_written_down_for_whom_it_is() {
        let project = Project::new();
        let call = |arguments: Value| MemoryUpsert.call(arguments, project.context());
        let note = json!({ "scope": "project", "action": "add", "text": "- ships on Fridays" });
        assert_eq!(call(note).await.unwrap()["file"], ".ship/memory/project.md");
        let own = json!({ "scope": "user", "action": "add", "text": "- likes tea" });
        let file = call(own.clone()).await.unwrap()["file"].clone();
        assert_eq!(file, ".ship/memory/users/fake%3Auser%3A7.md");
        let mut group = project.context();
        group.person = None;
        let refused = MemoryUpsert.call(own, group).await.unwrap_err();
        assert!(refused.to_string().contains("in private"), "{refused}");
    }

    #[tokio::test]
    async fn what_makes_no_sense_or_is_too_much_is_refused_and_a_preview_changes_nothing() {
        let project = Project::new();
        let context = project.context();
        for arguments in [
            json!({ "scope": "world", "action": "add", "text": "x" }),
            json!({ "scope": "project", "action": "forget", "text": "x" }),
            json!({ "scope": "project", "action": "add", "text": " " }),
            json!({ "scope": "project", "action": "replace", "text": "x" }),
            json!({ "scope": "project", "action": "add", "text": "x".repeat(TEXT_BYTES + 1) }),
            json!({ "scope": "project", "action": "add", "text": "x", "section": "a\nb" }),
        ] {
            let outcome = MemoryUpsert.call(arguments.clone(), project.context()).await;
            assert!(outcome.is_err(), "{arguments}");
        }
        let secret = json!({ "scope": "project", "action": "add", "text": "the word is hunter2" });
        let looked = context.clone();
        let planned = tokio::task::spawn_blocking(move || MemoryUpsert.preview(&secret, looked.site()));
        let planned = planned.await.unwrap().unwrap().unwrap();
        let redact = Redact::new(|text| text.replace("hunter2", "[redacted]"));
        let shown = redacted_diff(&planned, &redact);
        assert!(shown.ends_with("+the word is [redacted]\n"), "{shown}");
        assert_eq!(context.memory.recall(&MemoryScope::Project).await.unwrap(), None);
        for _ in 0..4 {
            let part = json!({ "scope": "project", "action": "add", "text": "y".repeat(TEXT_BYTES) });
            drop(MemoryUpsert.call(part, project.context()).await);
        }
        let kept = context.memory.recall(&MemoryScope::Project).await.unwrap().unwrap();
        assert!(kept.text.len() <= MEMORY_BYTES);
    }
}
