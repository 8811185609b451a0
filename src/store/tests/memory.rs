//! Core memory, notes and their ledger.

use super::for_every_store;
use super::support::{TestStore, at};
use crate::domain::{
    ChangeRefusal, DistilMark, LedgerLine, LedgerOp, MemoryChange, MemoryEdit, Origin, Provenance, ScopeKey,
    Tier,
};
use crate::ports::{ChangeError, LedgerRequest, MemoryBatch, Note, NotesAdded};
use crate::store::State;

for_every_store!(
    what_is_remembered_is_there_for_whom_it_is,
    a_change_counts_only_on_what_was_read,
    the_ledger_tells_every_change_newest_first,
    the_newest_change_is_taken_back_first,
    what_is_forgotten_is_in_no_file,
    changes_are_made_together_or_not_at_all,
    notes_are_added_once_and_can_be_corrected,
    words_that_are_not_trusted_do_not_become_core_memory,
    undo_takes_back_what_a_person_did_and_says_what_it_was,
    forgetting_one_word_leaves_texts_that_only_contain_it,
    notes_that_were_forgotten_are_not_imported_again,
);

pub(super) fn key(text: &str) -> ScopeKey {
    text.parse().unwrap()
}

pub(super) fn by_ann(minute: u64) -> Provenance {
    Provenance {
        at: at(minute),
        by: "telegram:user:7".parse().ok(),
        via: Some("apr_0123456789abcdef".to_owned()),
        thread: "telegram:chat:7".parse().ok(),
        from: vec!["m1".parse().unwrap()],
        origin: Origin::Member,
        reviewed: true,
    }
}

pub(super) fn change(scope: &str, tier: Tier, edit: MemoryEdit) -> MemoryChange {
    MemoryChange { scope: key(scope), tier, edit, expected: None, provenance: by_ann(1) }
}

pub(super) fn add(scope: &str, text: &str) -> MemoryChange {
    change(scope, Tier::Core, MemoryEdit::Add { text: text.to_owned(), section: None })
}

pub(super) async fn core(state: &State, scope: &str) -> String {
    state.memory.core(&key(scope)).await.unwrap().text
}

pub(super) async fn applied(state: &State, change: MemoryChange) -> LedgerLine {
    state.memory.apply(change).await.unwrap().unwrap()
}

pub(super) async fn ledger(state: &State, scope: Option<&str>) -> Vec<LedgerLine> {
    let request = LedgerRequest { scope: scope.map(key), before: None, limit: 100 };
    state.memory.ledger(request).await.unwrap().lines
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ChangeError>) -> ChangeRefusal {
    match result {
        Err(ChangeError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

async fn what_is_remembered_is_there_for_whom_it_is(store: TestStore) {
    let state = store.open();
    let scopes = ["project", "main", "peer:ann", "telegram:user:7", "group:telegram:chat:-1"];
    for scope in scopes {
        applied(&state, add(scope, &format!("about {scope}"))).await;
    }
    let state = store.reopen(state).await;
    for scope in scopes {
        let text = core(&state, scope).await;
        assert!(text.starts_with(&format!("- about {scope} <!-- k")), "{text}");
    }
    assert_eq!(core(&state, "telegram:user:8").await, "");
    assert_eq!(state.memory.scopes().await.unwrap(), {
        let mut all: Vec<ScopeKey> = scopes.into_iter().map(key).collect();
        all.sort();
        all
    });
    state.threads.close().await;
}

async fn a_change_counts_only_on_what_was_read(store: TestStore) {
    let state = store.open();
    let empty = state.memory.core(&ScopeKey::Project).await.unwrap().digest;
    let on = |version: &str, text: &str| MemoryChange {
        expected: Some(version.to_owned()),
        ..change("project", Tier::Core, MemoryEdit::Write { text: text.to_owned() })
    };
    applied(&state, on(&empty, "- one")).await;
    assert_eq!(refusal(state.memory.apply(on(&empty, "- two")).await), ChangeRefusal::Changed);
    let now = state.memory.core(&ScopeKey::Project).await.unwrap().digest;
    applied(&state, on(&now, "- two")).await;
    assert_eq!(core(&state, "project").await, "- two\n");
    state.threads.close().await;
}

async fn the_ledger_tells_every_change_newest_first(store: TestStore) {
    let state = store.open();
    let first = applied(&state, add("project", "one")).await;
    let id = first.id.clone().unwrap();
    let edit = MemoryEdit::Replace { id: id.clone(), text: "uno".to_owned() };
    applied(&state, change("project", Tier::Core, edit)).await;
    applied(&state, add("telegram:user:7", "tea")).await;
    let state = store.reopen(state).await;
    let all = ledger(&state, None).await;
    assert_eq!(all.iter().map(|line| line.seq).collect::<Vec<_>>(), [3, 2, 1]);
    let project = ledger(&state, Some("project")).await;
    assert_eq!(project.len(), 2);
    assert_eq!(project[1], first);
    let newest = &project[0];
    assert_eq!((newest.op, newest.id.as_deref()), (LedgerOp::Replace, Some(id.as_str())));
    assert_eq!((newest.before.as_deref(), newest.after.as_deref()), (Some("one"), Some("uno")));
    assert_eq!(newest.by, "telegram:user:7".parse().ok());
    let request = LedgerRequest { scope: None, before: Some(3), limit: 1 };
    let page = state.memory.ledger(request).await.unwrap();
    assert_eq!((page.lines[0].seq, page.has_more, page.damaged), (2, true, 0));
    state.threads.close().await;
}

async fn the_newest_change_is_taken_back_first(store: TestStore) {
    let state = store.open();
    let undo = async |state: &State| state.memory.undo(&ScopeKey::Project, by_ann(9)).await;
    assert_eq!(refusal(undo(&state).await), ChangeRefusal::NothingToUndo);
    let one = applied(&state, add("project", "one")).await;
    let id = one.id.clone().unwrap();
    let edit = MemoryEdit::Replace { id, text: "uno".to_owned() };
    applied(&state, change("project", Tier::Core, edit)).await;
    applied(&state, add("telegram:user:7", "tea")).await;
    let whole = MemoryEdit::Write { text: "- all new".to_owned() };
    applied(&state, change("project", Tier::Core, whole)).await;
    let state = store.reopen(state).await;
    assert_eq!(undo(&state).await.unwrap().line.undoes, Some(4));
    assert!(core(&state, "project").await.starts_with("- uno"));
    undo(&state).await.unwrap();
    assert!(core(&state, "project").await.starts_with("- one"));
    undo(&state).await.unwrap();
    assert_eq!(core(&state, "project").await, "");
    assert_eq!(refusal(undo(&state).await), ChangeRefusal::NothingToUndo);
    assert!(core(&state, "telegram:user:7").await.contains("tea"), "another scope is not touched");
    state.threads.close().await;
}

async fn what_is_forgotten_is_in_no_file(store: TestStore) {
    let state = store.open();
    let id = applied(&state, add("project", "the code is 4711")).await.id.unwrap();
    applied(&state, add("project", "ships on Fridays")).await;
    let whole = core(&state, "project").await + "- more\n";
    applied(&state, change("project", Tier::Core, MemoryEdit::Write { text: whole })).await;
    applied(&state, change("project", Tier::Core, MemoryEdit::Forget { id: id.clone() })).await;
    let told = serde_json::to_string(&ledger(&state, None).await).unwrap();
    assert!(!told.contains("4711"), "{told}");
    assert!(told.contains("ships on Fridays"), "only what was forgotten is gone");
    assert_eq!(ledger(&state, None).await[0].id, Some(id));
    assert_eq!(refusal(state.memory.undo(&ScopeKey::Project, by_ann(9)).await), ChangeRefusal::Forgotten);
    let note = MemoryEdit::Add { text: "a note".to_owned(), section: None };
    applied(&state, change("project", Tier::Notes, note)).await;
    applied(&state, add("telegram:user:7", "tea")).await;
    assert_eq!(state.memory.forget_all(&ScopeKey::Project, by_ann(9)).await.unwrap(), 3);
    let state = store.reopen(state).await;
    assert_eq!(core(&state, "project").await, "");
    assert_eq!(state.memory.notes(&ScopeKey::Project, None).await.unwrap().notes, []);
    let told = serde_json::to_string(&ledger(&state, Some("project")).await).unwrap();
    assert!(!told.contains("Fridays") && !told.contains("a note"), "{told}");
    assert!(core(&state, "telegram:user:7").await.contains("tea"));
    state.threads.close().await;
}

async fn changes_are_made_together_or_not_at_all(store: TestStore) {
    let state = store.open();
    let thread = "telegram:chat:7".parse().unwrap();
    let mark = DistilMark {
        thread,
        through: "m9".parse().unwrap(),
        at: at(2),
        turns: 3,
        since: Some(at(1)),
        question: None,
    };
    let note = |text: &str| MemoryChange {
        provenance: Provenance { origin: Origin::Auto, reviewed: false, ..by_ann(1) },
        ..change("telegram:user:7", Tier::Notes, MemoryEdit::Add { text: text.to_owned(), section: None })
    };
    let missing = change("project", Tier::Core, MemoryEdit::Forget { id: "k0".to_owned() });
    let batch = |changes| MemoryBatch { changes, mark: Some(mark.clone()) };
    let refused = state.memory.apply_all(batch(vec![note("one"), missing])).await;
    assert_eq!(refusal(refused), ChangeRefusal::NoSuchItem("k0".to_owned()));
    assert_eq!(ledger(&state, None).await, []);
    assert_eq!(state.memory.distilled(&mark.thread).await.unwrap(), None);
    let lines = state.memory.apply_all(batch(vec![note("one"), note("two"), note("ONE")])).await.unwrap();
    assert_eq!(lines.len(), 2, "the same text is one note");
    let state = store.reopen(state).await;
    assert_eq!(state.memory.distilled(&mark.thread).await.unwrap(), Some(mark));
    let ann = key("telegram:user:7");
    let ids: Vec<String> = lines.iter().filter_map(|line| line.id.clone()).collect();
    let open = state.memory.unreviewed(&ann).await.unwrap();
    assert_eq!(open, ids.iter().cloned().collect());
    let id = ids[0].clone();
    let confirm = MemoryEdit::Replace { id: id.clone(), text: "one".to_owned() };
    applied(&state, change("telegram:user:7", Tier::Notes, confirm)).await;
    assert!(!state.memory.unreviewed(&ann).await.unwrap().contains(&id));
    state.threads.close().await;
}

async fn notes_are_added_once_and_can_be_corrected(store: TestStore) {
    let state = store.open();
    let add = |text: &str, minute: u64| MemoryChange {
        provenance: by_ann(minute),
        ..change("project", Tier::Notes, MemoryEdit::Add { text: text.to_owned(), section: None })
    };
    let id = applied(&state, add("meets on Mondays", 1)).await.id.unwrap();
    let again = applied(&state, add("Meets  on mondays", 50)).await;
    assert_eq!((again.op, again.id.as_ref()), (LedgerOp::Replace, Some(&id)));
    let notes = async |state: &State| state.memory.notes(&ScopeKey::Project, None).await.unwrap().notes;
    let found = notes(&state).await;
    assert_eq!((found.len(), found[0].at), (1, Some(at(50).as_millis())));
    let edit = MemoryEdit::Replace { id: id.clone(), text: "meets on Tuesdays".to_owned() };
    applied(&state, change("project", Tier::Notes, edit)).await;
    let state = store.reopen(state).await;
    assert_eq!(notes(&state).await[0].text, "meets on Tuesdays");
    state.memory.undo(&ScopeKey::Project, by_ann(60)).await.unwrap();
    assert_eq!(notes(&state).await[0].text, "meets on Mondays");
    applied(&state, change("project", Tier::Notes, MemoryEdit::Forget { id })).await;
    assert_eq!(notes(&state).await, []);
    let section = MemoryEdit::ReplaceSection { section: "A".to_owned(), text: "x".to_owned() };
    let refused = state.memory.apply(change("project", Tier::Notes, section)).await;
    assert_eq!(refusal(refused), ChangeRefusal::NotForNotes);
    state.threads.close().await;
}

async fn words_that_are_not_trusted_do_not_become_core_memory(store: TestStore) {
    let state = store.open();
    for origin in [Origin::Guest, Origin::Tool] {
        let untrusted = |tier| MemoryChange {
            provenance: Provenance { origin, ..by_ann(1) },
            ..change("project", tier, MemoryEdit::Add { text: origin.as_str().to_owned(), section: None })
        };
        assert_eq!(refusal(state.memory.apply(untrusted(Tier::Core)).await), ChangeRefusal::NotTrusted);
        assert!(state.memory.apply(untrusted(Tier::Notes)).await.unwrap().is_some());
    }
    state.threads.close().await;
}

async fn undo_takes_back_what_a_person_did_and_says_what_it_was(store: TestStore) {
    let state = store.open();
    let tea = applied(&state, add("project", "tea")).await;
    let note =
        |text: &str| change("project", Tier::Notes, MemoryEdit::Add { text: text.to_owned(), section: None });
    applied(&state, note("by ann")).await;
    // The same once more gives the note a newer date only.
    applied(&state, MemoryChange { provenance: by_ann(2), ..note("by ann") }).await;
    let alone = Provenance { by: None, via: None, origin: Origin::Auto, reviewed: false, ..by_ann(3) };
    applied(&state, MemoryChange { provenance: alone, ..note("taken by the agent itself") }).await;
    let undo = async || state.memory.undo(&ScopeKey::Project, by_ann(9)).await;
    let newest = state.memory.newest_to_undo(&ScopeKey::Project).await.unwrap().unwrap();
    let undone = undo().await.unwrap();
    assert_eq!(undone.taken_back, newest);
    assert_eq!(undone.taken_back.after.as_deref(), Some("by ann"));
    assert_eq!(undo().await.unwrap().taken_back, tea);
    assert_eq!(refusal(undo().await), ChangeRefusal::NothingToUndo);
    let notes = state.memory.notes(&ScopeKey::Project, None).await.unwrap().notes;
    assert_eq!(notes.len(), 1, "what nobody has seen stays: {notes:?}");
    state.threads.close().await;
}

async fn forgetting_one_word_leaves_texts_that_only_contain_it(store: TestStore) {
    let state = store.open();
    let id = applied(&state, add("project", "tea")).await.id.unwrap();
    applied(&state, add("project", "the team meets on Mondays")).await;
    let section = "- Tea\n- steady\n".to_owned();
    let section = MemoryEdit::ReplaceSection { section: "Drinks".to_owned(), text: section };
    applied(&state, change("project", Tier::Core, section)).await;
    let note = MemoryEdit::Add { text: "likes tea a lot".to_owned(), section: None };
    applied(&state, change("project", Tier::Notes, note)).await;
    applied(&state, change("project", Tier::Core, MemoryEdit::Forget { id })).await;
    let told: Vec<Option<String>> = ledger(&state, None).await.into_iter().map(|line| line.after).collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(told, [None, text("likes tea a lot"), None, text("the team meets on Mondays"), None]);
    state.threads.close().await;
}

async fn notes_that_were_forgotten_are_not_imported_again(store: TestStore) {
    let state = store.open();
    let note = |id: &str| Note {
        id: id.to_owned(),
        at: at(1),
        author: "Ann".to_owned(),
        text: format!("note {id}"),
    };
    let import =
        async || state.memory.add_notes(&ScopeKey::Project, vec![note("n1"), note("n2")]).await.unwrap();
    assert_eq!(import().await, NotesAdded { added: 2, ..NotesAdded::default() });
    let forget = MemoryEdit::Forget { id: "n1".to_owned() };
    applied(&state, change("project", Tier::Notes, forget)).await;
    assert_eq!(import().await, NotesAdded { known: 1, forgotten: 1, ..NotesAdded::default() });
    let notes = state.memory.notes(&ScopeKey::Project, None).await.unwrap().notes;
    assert_eq!(notes.iter().map(|item| item.text.as_str()).collect::<Vec<_>>(), ["note n2"]);
    state.threads.close().await;
}
