//! Memory texts.

use super::for_every_store;
use super::support::TestStore;
use crate::domain::MemoryScope;

for_every_store!(
    what_is_remembered_is_there_for_whom_it_is,
    a_change_counts_only_on_what_was_read,
    there_are_no_tasks_at_first,
);

fn person(id: &str) -> MemoryScope {
    MemoryScope::Person(id.parse().unwrap())
}

async fn what_is_remembered_is_there_for_whom_it_is(store: TestStore) {
    let state = store.open();
    let ann = person("telegram:user:7");
    assert!(state.memory.remember(&ann, None, "likes tea\n").await.unwrap());
    let state = store.reopen(state).await;
    let found = state.memory.recall(&ann).await.unwrap().unwrap();
    assert_eq!((found.text.as_str(), found.cut), ("likes tea", false));
    for other in [MemoryScope::Project, person("telegram:user:8")] {
        assert_eq!(state.memory.recall(&other).await.unwrap(), None);
    }
    state.threads.close().await;
}

async fn a_change_counts_only_on_what_was_read(store: TestStore) {
    let state = store.open();
    let project = MemoryScope::Project;
    assert!(state.memory.remember(&project, None, "one\n").await.unwrap());
    assert!(!state.memory.remember(&project, None, "two\n").await.unwrap(), "it was changed meanwhile");
    assert!(state.memory.remember(&project, Some("one"), "two\n").await.unwrap());
    assert_eq!(state.memory.recall(&project).await.unwrap().unwrap().text, "two");
    assert!(state.memory.remember(&project, Some("two"), " \n").await.unwrap());
    assert_eq!(state.memory.recall(&project).await.unwrap(), None, "blanks are nothing");
    assert!(state.memory.remember(&project, None, "three\n").await.unwrap());
    state.threads.close().await;
}

async fn there_are_no_tasks_at_first(store: TestStore) {
    let state = store.open();
    assert_eq!(state.memory.tasks().await.unwrap(), []);
    state.threads.close().await;
}
