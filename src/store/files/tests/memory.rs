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
