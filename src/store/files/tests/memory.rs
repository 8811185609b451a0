//! Memory on the disk: files that people made, and several writers at once.

use crate::domain::{ChangeRefusal, MemoryChange, MemoryEdit, Origin, Provenance, ScopeKey, Tier, Timestamp};
use crate::ports::{ChangeError, LedgerRequest, Memory};
use crate::store::FileMemory;
use crate::store::files::atomic::replace_file;
use crate::store::files::layout::private_dir;

fn add(text: &str) -> MemoryChange {
    let provenance = Provenance {
        at: Timestamp::from_millis(1),
        by: "web:user:7".parse().ok(),
        via: None,
        thread: None,
        from: Vec::new(),
        origin: Origin::Owner,
        reviewed: true,
    };
    let edit = MemoryEdit::Add { text: text.to_owned(), section: None };
    MemoryChange { scope: ScopeKey::Project, tier: Tier::Core, edit, expected: None, provenance }
}

#[tokio::test]
async fn a_file_that_is_not_text_or_far_too_long_is_read_as_far_as_it_goes_and_never_overwritten() {
    let long = "记住这一行\n".repeat(650_000).into_bytes();
    for (content, refusal) in
        [(&b"- tea \xff\n"[..], ChangeRefusal::NotText), (&long, ChangeRefusal::TooLong)]
    {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory/project.md");
        private_dir(path.parent().unwrap()).unwrap();
        replace_file(&path, content, 0o600).unwrap();
        let memory = FileMemory::new(dir.path());
        let found = memory.core(&ScopeKey::Project).await.unwrap();
        assert!(!found.text.is_empty() && found.text.len() <= 16 * 1024);
        assert!(found.text.ends_with('\n'), "no half line");
        match memory.apply(add("more")).await {
            Err(ChangeError::Refused(told)) => assert_eq!(told, refusal),
            other => panic!("{other:?}"),
        }
        assert_eq!(std::fs::read(&path).unwrap(), content);
        let other = MemoryChange { scope: "web:user:7".parse().unwrap(), ..add("more") };
        assert!(memory.apply(other).await.unwrap().is_some(), "other scopes are not hindered");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_several_processes_and_an_editor_lose_nothing_of_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let memory = FileMemory::new(dir.path());
        writers.spawn(async move {
            for number in 0..10 {
                memory.apply(add(&format!("w{writer} n{number}"))).await.unwrap();
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.unwrap();
    }
    let memory = FileMemory::new(dir.path());
    let found = memory.core(&ScopeKey::Project).await.unwrap();
    assert_eq!(found.items().len(), 40);
    let lines = memory.ledger(LedgerRequest { limit: 100, ..Default::default() }).await.unwrap().lines;
    let numbers: Vec<u64> = lines.iter().rev().map(|line| line.seq).collect();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    assert!(lines.iter().all(|line| !line.is_hand_edit()));
    // Somebody saves the file in an editor; the daemon and a command go on from that.
    let path = dir.path().join("memory/project.md");
    replace_file(&path, format!("- by hand\n{}", found.text).as_bytes(), 0o600).unwrap();
    memory.apply(add("after")).await.unwrap();
    let stale = MemoryChange {
        expected: Some(found.digest),
        edit: MemoryEdit::Write { text: "- mine\n".to_owned() },
        ..add("")
    };
    let refused = FileMemory::new(dir.path()).apply(stale).await;
    assert!(matches!(refused, Err(ChangeError::Refused(ChangeRefusal::Changed))), "{refused:?}");
    assert_eq!(memory.core(&ScopeKey::Project).await.unwrap().items().len(), 42);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetting_undo_and_export_beside_writers_lose_nothing_and_show_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let person: ScopeKey = "web:user:7".parse().unwrap();
    let of_person = |change: MemoryChange| MemoryChange { scope: "web:user:7".parse().unwrap(), ..change };
    let mut processes = tokio::task::JoinSet::new();
    let (writer, forgetter, undoer, reader) = (
        FileMemory::new(dir.path()),
        FileMemory::new(dir.path()),
        FileMemory::new(dir.path()),
        FileMemory::new(dir.path()),
    );
    processes.spawn(async move {
        for number in 0..12 {
            writer.apply(add(&format!("stays {number}"))).await.unwrap();
            writer
                .apply(MemoryChange { tier: Tier::Notes, ..add(&format!("noted {number}")) })
                .await
                .unwrap();
        }
    });
    processes.spawn(async move {
        for number in 0..12 {
            let line = forgetter.apply(add(&format!("secret {number}"))).await.unwrap().unwrap();
            let edit = MemoryEdit::Forget { id: line.id.unwrap() };
            forgetter.apply(MemoryChange { edit, ..add("") }).await.unwrap();
        }
    });
    let own = person.clone();
    processes.spawn(async move {
        for number in 0..12 {
            undoer.apply(of_person(add(&format!("wrong {number}")))).await.unwrap();
            let undone = undoer.undo(&own, add("").provenance).await.unwrap();
            assert_eq!(undone.taken_back.after, Some(format!("wrong {number}")));
        }
    });
    processes.spawn(async move {
        for _ in 0..12 {
            let request = LedgerRequest { limit: 1_000, ..Default::default() };
            let page = reader.ledger(request).await.unwrap();
            let numbers: Vec<u64> = page.lines.iter().map(|line| line.seq).collect();
            assert!(numbers.is_sorted_by(|later, earlier| later > earlier), "{numbers:?}");
            assert_eq!(page.damaged, 0);
            reader.core(&ScopeKey::Project).await.unwrap();
            reader.notes(&ScopeKey::Project, None).await.unwrap();
        }
    });
    while let Some(process) = processes.join_next().await {
        process.unwrap();
    }
    let memory = FileMemory::new(dir.path());
    let core = memory.core(&ScopeKey::Project).await.unwrap();
    assert_eq!(core.items().len(), 12, "{}", core.text);
    assert_eq!(memory.notes(&ScopeKey::Project, None).await.unwrap().notes.len(), 12);
    assert_eq!(memory.core(&person).await.unwrap().text, "");
    let page = memory.ledger(LedgerRequest { limit: 1_000, ..Default::default() }).await.unwrap();
    assert_eq!(page.lines.len(), 12 * 6);
    assert!(page.lines.iter().all(|line| !line.is_hand_edit()), "no change counts as made by hand");
    let ledger = std::fs::read_to_string(dir.path().join("memory/ledger.jsonl")).unwrap();
    assert!(!ledger.contains("secret") && !core.text.contains("secret"), "{ledger}");
}
