//! `memory_upsert`: remembers, corrects or forgets something, about the project, the person or the group.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use super::schema::schema_of;
use crate::domain::{
    ChangeRefusal, Effects, MemoryChange, MemoryEdit, Provenance, ScopeKey, Tier, ToolSpec, edit_core,
    item_text,
};
use crate::ports::{
    BoxFuture, CallSite, ChangeError, TextChange, Tool, ToolContext, ToolFailure, ToolOutcome,
};

/// Largest text of one call.
const TEXT_BYTES: usize = 4 * 1024;
const LONGEST_SECTION: usize = 120;
/// Stands for the id of a new item where a change is only shown.
const NEW_ID: &str = "new";

#[derive(Clone, Copy, Debug)]
pub struct MemoryUpsert;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// `project` for what everybody may know; `user` for what is about the person you speak with in private; `group` for
    /// what is about the group you speak in.
    scope: String,
    /// `core` (the default) for what you should always know; `notes` for what only needs to be found again.
    tier: Option<String>,
    /// `add` a new item, `replace` the item with this `id` (or all of a `section`), or `forget` the item with this `id`.
    action: String,
    /// What to remember, in one or two sentences: true for longer than today. Never a secret.
    text: Option<String>,
    /// The id at the end of the item, such as k3f9a.
    id: Option<String>,
    /// The heading of the section that it belongs to; made where it is missing.
    section: Option<String>,
}

#[derive(Debug)]
struct Wanted {
    about: About,
    tier: Tier,
    edit: MemoryEdit,
}

#[derive(Clone, Copy, Debug)]
enum About {
    Project,
    Person,
    Group,
}

impl Tool for MemoryUpsert {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "memory_upsert",
            description: "Remembers something for later conversations, corrects it or forgets it: when somebody asks for \
                          it or will be glad of it. Core memory stands in your instructions from the next conversation on; \
                          notes are only found by search."
                .into(),
            parameters: schema_of::<Arguments>(),
            effects: Effects::SideEffects,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolFailure> {
        parsed(arguments.clone()).map(drop)
    }

    fn preview(&self, arguments: &Value, site: CallSite<'_>) -> Option<Result<TextChange, ToolFailure>> {
        // A preview runs on a blocking thread, which may block.
        Some(tokio::runtime::Handle::current().block_on(preview(arguments.clone(), site)))
    }

    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            let Wanted { about, tier, edit } = parsed(arguments)?;
            let scope = target(about, &context.site())?;
            let forgets = matches!(edit, MemoryEdit::Forget { .. });
            let provenance = Provenance {
                at: context.clock.now(),
                by: context.requester.clone(),
                via: context.approval.as_ref().map(ToString::to_string),
                thread: Some(context.thread.clone()),
                from: context.asked_in.clone(),
                origin: context.origin,
                reviewed: context.approval.is_some(),
            };
            let change = MemoryChange { scope: scope.clone(), tier, edit, expected: None, provenance };
            let line = context.memory.apply(change).await.map_err(failure)?;
            let file = match tier {
                Tier::Core => scope.core_file(),
                Tier::Notes => scope.notes_folder(),
            };
            let file = format!(".ship/{file}");
            Ok(match line {
                Some(line) if forgets => json!({ "forgotten": line.id, "file": file }),
                Some(line) => json!({ "remembered": true, "id": line.id, "file": file }),
                None => json!({ "remembered": true, "known": true, "file": file }),
            })
        })
    }
}

fn failure(error: ChangeError) -> ToolFailure {
    match error {
        ChangeError::Refused(refusal) => ToolFailure::Refused(refusal.to_string()),
        ChangeError::Store(error) => ToolFailure::Failed(format!("it could not be written down: {error}")),
    }
}

fn parsed(arguments: Value) -> Result<Wanted, ToolFailure> {
    let Arguments { scope, tier, action, text, id, section } = arguments::read(arguments)?;
    let bad = |words: &str| Err(ToolFailure::BadArguments(words.to_owned()));
    let about = match scope.trim() {
        "project" => About::Project,
        "user" => About::Person,
        "group" => About::Group,
        _ => return bad("`scope` is `project`, `user` or `group`"),
    };
    let tier = match tier.as_deref().map(str::trim) {
        None | Some("core" | "") => Tier::Core,
        Some("notes") => Tier::Notes,
        Some(_) => return bad("`tier` is `core` or `notes`"),
    };
    let text = text.unwrap_or_default().trim().to_owned();
    if text.len() > TEXT_BYTES {
        return bad("`text` is too long to be remembered; put down what matters of it");
    }
    let section = section.map(|name| name.trim().trim_start_matches('#').trim().to_owned());
    let section = section.filter(|name| !name.is_empty());
    if section.as_ref().is_some_and(|name| name.contains('\n') || name.chars().count() > LONGEST_SECTION) {
        return bad("`section` is one short line");
    }
    let id = id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let edit = match (action.trim(), id, section) {
        ("add", _, section) => {
            if item_text(&text).is_err() {
                return bad("there is no `text` to add");
            }
            MemoryEdit::Add { text, section }
        }
        ("replace", Some(id), _) => {
            if item_text(&text).is_err() {
                return bad("there is no `text` to put there; `forget` removes an item");
            }
            MemoryEdit::Replace { id, text }
        }
        ("replace", None, Some(section)) if tier == Tier::Core => {
            MemoryEdit::ReplaceSection { section, text }
        }
        ("replace", None, _) => return bad("`id` says which item to replace"),
        ("forget", Some(id), _) => MemoryEdit::Forget { id },
        ("forget", None, _) => return bad("`id` says which item to forget"),
        _ => return bad("`action` is `add`, `replace` or `forget`"),
    };
    Ok(Wanted { about, tier, edit })
}

/// The scope that the words of the model mean in this turn.
fn target(about: About, site: &CallSite<'_>) -> Result<ScopeKey, ToolFailure> {
    let own = site.scope.write();
    let refused = |words: &str| Err(ToolFailure::Refused(words.to_owned()));
    match (about, own) {
        (About::Project, _) if site.scope.may_read(&ScopeKey::Project) => Ok(ScopeKey::Project),
        (About::Person, Some(own)) if own.is_of_one_person() => Ok(own.clone()),
        (About::Group, Some(own @ ScopeKey::Group(_))) => Ok(own.clone()),
        (About::Person, _) => refused(
            "nothing is remembered about one person here, because others read along or nobody is known by an id; ask them in \
             private",
        ),
        (About::Group, _) => refused("this is not a group"),
        (About::Project, _) => refused("the memory of the project cannot be used here"),
    }
}

/// The change as it would be made now.
async fn preview(arguments: Value, site: CallSite<'_>) -> Result<TextChange, ToolFailure> {
    let Wanted { about, tier, edit } = parsed(arguments)?;
    let scope = target(about, &site)?;
    let refused = |refusal: ChangeRefusal| ToolFailure::Refused(refusal.to_string());
    let unreadable = |error| ToolFailure::Failed(format!("memory cannot be read: {error}"));
    if tier == Tier::Core && !site.origin.may_be_core() && !matches!(edit, MemoryEdit::Forget { .. }) {
        return Err(refused(ChangeRefusal::NotTrusted));
    }
    if tier == Tier::Notes {
        let path = format!(".ship/{}", scope.notes_folder());
        let note = async |id: &str| {
            let mut month = None;
            loop {
                let page = site.memory.notes(&scope, month).await.map_err(unreadable)?;
                if let Some(note) = page.notes.into_iter().find(|note| note.handle() == id) {
                    return Ok(Some(format!("- {}\n", note.text)));
                }
                let Some(earlier) = page.earlier else {
                    return Err(refused(ChangeRefusal::NoSuchItem(id.chars().take(40).collect())));
                };
                month = Some(earlier);
            }
        };
        let line = |text: &str| Ok::<_, ToolFailure>(format!("- {}\n", item_text(text).map_err(refused)?));
        // The approval is bound to the text that is replaced or forgotten.
        let (before, after) = match &edit {
            MemoryEdit::Add { text, .. } => (None, line(text)?),
            MemoryEdit::Replace { id, text } => (note(id).await?, line(text)?),
            MemoryEdit::Forget { id } => (note(id).await?, String::new()),
            MemoryEdit::ReplaceSection { .. } | MemoryEdit::Write { .. } => {
                return Err(refused(ChangeRefusal::NotForNotes));
            }
        };
        return Ok(TextChange { path, before, after, explanation: None });
    }
    let file = site.memory.core(&scope).await.map_err(unreadable)?;
    if file.cut {
        return Err(refused(ChangeRefusal::TooLong));
    }
    if !file.is_text {
        return Err(refused(ChangeRefusal::NotText));
    }
    let edited = edit_core(&file.text, &edit, &mut || NEW_ID.to_owned()).map_err(refused)?;
    let after = edited.map_or_else(|| file.text.clone(), |edited| edited.text);
    let before = Some(file.text).filter(|text| !text.is_empty());
    Ok(TextChange { path: format!(".ship/{}", scope.core_file()), before, after, explanation: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ChatKind, MemoryScope, Origin, ScopeSettings};
    use crate::tools::testing::Project;
    use crate::tools::{Redact, redacted_diff};

    fn group() -> MemoryScope {
        let (author, thread) = ("fake:user:7".parse().unwrap(), "fake:chat:-1".parse().unwrap());
        MemoryScope::resolve(&author, ChatKind::Group, &thread, &ScopeSettings::default())
    }

    #[tokio::test]
    async fn what_is_remembered_is_written_down_for_whom_it_is() {
        let project = Project::new();
        let call = |arguments: Value| MemoryUpsert.call(arguments, project.context());
        let note = json!({ "scope": "project", "action": "add", "text": "- ships on Fridays" });
        let told = call(note.clone()).await.unwrap();
        assert_eq!(told["file"], ".ship/memory/project.md");
        assert_eq!(call(note).await.unwrap()["known"], true);
        let own = json!({ "scope": "user", "action": "add", "text": "- likes tea" });
        let file = call(own.clone()).await.unwrap()["file"].clone();
        assert_eq!(file, ".ship/memory/users/fake%3Auser%3A7.md");
        let here = || ToolContext { scope: group(), ..project.context() };
        let refused = MemoryUpsert.call(own, here()).await.unwrap_err();
        assert!(refused.to_string().contains("in private"), "{refused}");
        let ours = json!({ "scope": "group", "action": "add", "text": "meets on Mondays", "tier": "notes" });
        assert!(call(ours.clone()).await.unwrap_err().to_string().contains("not a group"));
        let told = MemoryUpsert.call(ours, here()).await.unwrap();
        assert_eq!(told["file"], ".ship/memory/notes/group%3Afake%3Achat%3A-1");
        let nobody = ToolContext { scope: MemoryScope::default(), ..project.context() };
        let own = json!({ "scope": "user", "action": "add", "text": "x" });
        assert!(MemoryUpsert.call(own, nobody).await.is_err());
    }

    #[tokio::test]
    async fn an_item_is_replaced_and_forgotten_by_its_id_and_the_ledger_tells_by_whom() {
        let project = Project::new();
        let context = || ToolContext { approval: "apr_0123456789abcdef".parse().ok(), ..project.context() };
        let call = |arguments: Value| MemoryUpsert.call(arguments, context());
        let added =
            call(json!({ "scope": "user", "action": "add", "text": "likes tea", "section": "Likes" }));
        let id = added.await.unwrap()["id"].as_str().unwrap().to_owned();
        call(json!({ "scope": "user", "action": "replace", "id": id, "text": "likes coffee" }))
            .await
            .unwrap();
        let scope: ScopeKey = "fake:user:7".parse().unwrap();
        let text = context().memory.core(&scope).await.unwrap().text;
        assert_eq!(text, format!("## Likes\n\n- likes coffee <!-- {id} -->\n"));
        call(json!({ "scope": "user", "action": "forget", "id": id })).await.unwrap();
        assert_eq!(context().memory.core(&scope).await.unwrap().text, "");
        let request = crate::ports::LedgerRequest { limit: 10, ..Default::default() };
        let lines = context().memory.ledger(request).await.unwrap().lines;
        assert_eq!(lines.len(), 3);
        let line = &lines[2];
        assert_eq!(line.by, "fake:user:7".parse().ok());
        assert_eq!(line.via.as_deref(), Some("apr_0123456789abcdef"));
        assert_eq!((line.origin, line.reviewed, line.from.len()), (Origin::Member, true, 1));
        let all = serde_json::to_string(&lines).unwrap();
        assert!(!all.contains("tea") && !all.contains("coffee"), "{all}");
    }

    #[tokio::test]
    async fn a_guest_changes_no_core_memory() {
        let project = Project::new();
        let context = || ToolContext { origin: Origin::Guest, ..project.context() };
        let core = json!({ "scope": "user", "action": "add", "text": "may do anything" });
        let refused = MemoryUpsert.call(core, context()).await.unwrap_err();
        assert!(refused.to_string().contains("notes only"), "{refused}");
        let note = json!({ "scope": "user", "action": "add", "text": "likes tea", "tier": "notes" });
        assert!(MemoryUpsert.call(note, context()).await.is_ok());
    }

    #[tokio::test]
    async fn a_preview_shows_what_would_be_replaced_and_is_another_once_that_has_changed() {
        let project = Project::new();
        for tier in ["core", "notes"] {
            let call = |arguments: Value| MemoryUpsert.call(arguments, project.context());
            let add = json!({ "scope": "user", "tier": tier, "action": "add", "text": "likes tea" });
            let id = call(add).await.unwrap()["id"].clone();
            let change = |action: &str, text: &str| json!({ "scope": "user", "tier": tier, "action": action, "id": id, "text": text });
            let shown = async |arguments: Value| {
                let context = project.context();
                let shown =
                    tokio::task::spawn_blocking(move || MemoryUpsert.preview(&arguments, context.site()));
                let redact = Redact::new(str::to_owned);
                redacted_diff(&shown.await.unwrap().unwrap().unwrap(), &redact)
            };
            let replace = change("replace", "likes milk");
            let before = shown(replace.clone()).await;
            assert!(before.contains("-- likes tea") && before.contains("+- likes milk"), "{before}");
            assert!(shown(change("forget", "")).await.contains("-- likes tea"));
            call(change("replace", "likes coffee")).await.unwrap();
            assert_ne!(
                shown(replace).await,
                before,
                "{tier}: what was approved for another text is asked again"
            );
        }
    }

    #[tokio::test]
    async fn what_makes_no_sense_or_is_too_much_is_refused_and_a_preview_changes_nothing() {
        let project = Project::new();
        let context = project.context();
        for arguments in [
            json!({ "scope": "world", "action": "add", "text": "x" }),
            json!({ "scope": "telegram:user:8", "action": "add", "text": "x" }),
            json!({ "scope": "project", "action": "forget", "text": "x" }),
            json!({ "scope": "project", "action": "forget", "id": "k1" }),
            json!({ "scope": "project", "action": "add", "text": " " }),
            json!({ "scope": "project", "action": "add" }),
            json!({ "scope": "project", "action": "add", "text": "x", "tier": "cellar" }),
            json!({ "scope": "project", "action": "replace", "text": "x" }),
            json!({ "scope": "project", "action": "replace", "text": "x", "tier": "notes", "section": "a" }),
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
        assert!(shown.ends_with("+- the word is [redacted] <!-- new -->\n"), "{shown}");
        assert_eq!(context.memory.core(&ScopeKey::Project).await.unwrap().text, "");
        let mut refused = None;
        for word in ["a", "b", "c", "d", "e"] {
            let part =
                json!({ "scope": "project", "action": "add", "text": word.repeat(TEXT_BYTES / 2) + word });
            refused = MemoryUpsert.call(part, project.context()).await.err();
        }
        let refused = refused.unwrap().to_string();
        assert!(refused.contains("of at most 2000 (it takes"), "{refused}");
    }
}
