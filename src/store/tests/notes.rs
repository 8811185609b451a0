//! The adapters' key-value stores: both durability classes survive the end of the daemon. Which of them survives a
//! power loss is tested with the file store.

use serde_json::json;

use super::for_every_store;
use super::support::TestStore;
use crate::ports::Durability;

for_every_store!(
    a_note_is_replaced_read_again_and_forgotten,
    nested_stores_have_their_own_notes,
    a_note_may_grow_and_shrink,
);

async fn a_note_is_replaced_read_again_and_forgotten(store: TestStore) {
    let state = store.open();
    let notes = state.notes.nested("telegram");
    assert_eq!(notes.get("offset").await.unwrap(), None);
    notes.put("offset", json!(1), Durability::Written).await.unwrap();
    notes.put("offset", json!({ "number": 2 }), Durability::Written).await.unwrap();
    notes.put("promise", json!("first"), Durability::Synced).await.unwrap();
    notes.put("promise", json!("second"), Durability::Synced).await.unwrap();
    drop(notes);
    let state = store.reopen(state).await;
    let notes = state.notes.nested("telegram");
    assert_eq!(notes.get("offset").await.unwrap(), Some(json!({ "number": 2 })));
    assert_eq!(notes.get("promise").await.unwrap(), Some(json!("second")));
    for name in ["offset", "promise", "never"] {
        notes.remove(name).await.unwrap();
        assert_eq!(notes.get(name).await.unwrap(), None);
    }
    state.threads.close().await;
}

async fn nested_stores_have_their_own_notes(store: TestStore) {
    let state = store.open();
    let (one, other) = (state.notes.nested("qq"), state.notes.nested("feishu"));
    let inbox = one.nested("inbox");
    one.put("a/b ü", json!(1), Durability::Written).await.unwrap();
    inbox.put("x", json!(2), Durability::Synced).await.unwrap();
    inbox.put("y", json!(3), Durability::Synced).await.unwrap();
    assert_eq!(one.all().await.unwrap(), [("a/b ü".to_owned(), json!(1))], "what is on a shelf is not here");
    assert_eq!(other.all().await.unwrap(), []);
    assert_eq!(other.get("a/b ü").await.unwrap(), None);
    let mut all = one.nested("inbox").all().await.unwrap();
    all.sort_by_key(|(name, _)| name.clone());
    assert_eq!(all, [("x".to_owned(), json!(2)), ("y".to_owned(), json!(3))]);
    state.threads.close().await;
}

async fn a_note_may_grow_and_shrink(store: TestStore) {
    let state = store.open();
    let notes = state.notes.nested("telegram");
    for length in [0, 200, 4000, 3, 9000, 20] {
        let note = json!("x".repeat(length));
        notes.put("note", note.clone(), Durability::Written).await.unwrap();
        assert_eq!(notes.get("note").await.unwrap(), Some(note), "{length}");
    }
    state.threads.close().await;
}
