//! Attachments: complete or not at all.

use super::for_every_store;
use super::support::{TestStore, thread};
use crate::domain::StoredFile;
use crate::store::State;

for_every_store!(
    a_file_is_there_whole_after_a_restart,
    a_file_comes_piece_by_piece_and_only_when_it_is_finished,
    files_belong_to_their_thread,
);

async fn content(state: &State, file: &StoredFile) -> Option<Vec<u8>> {
    let found = state.files.open(file.thread(), file.name()).await.unwrap()?;
    let length = found.length;
    let bytes = found.bytes().await.unwrap();
    assert_eq!(length, bytes.len() as u64);
    Some(bytes)
}

async fn a_file_is_there_whole_after_a_restart(store: TestStore) {
    let state = store.open();
    let file = StoredFile::new(thread("a"), "7-", "报告 1.pdf");
    assert_eq!(content(&state, &file).await, None);
    state.files.keep(&file, b"old".to_vec()).await.unwrap();
    state.files.keep(&file, b"new words".to_vec()).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(content(&state, &file).await.as_deref(), Some(&b"new words"[..]));
    state.threads.close().await;
}

async fn a_file_comes_piece_by_piece_and_only_when_it_is_finished(store: TestStore) {
    let state = store.open();
    let file = StoredFile::new(thread("a"), "", "a.txt");
    let mut writer = state.files.create(&file).await.unwrap();
    writer.write(b"half").await.unwrap();
    assert_eq!(content(&state, &file).await, None);
    drop(writer);
    assert_eq!(content(&state, &file).await, None, "nothing is left of what broke off");
    let mut writer = state.files.create(&file).await.unwrap();
    for piece in [&b"one "[..], b"two"] {
        writer.write(piece).await.unwrap();
    }
    writer.finish().await.unwrap();
    assert_eq!(content(&state, &file).await.as_deref(), Some(&b"one two"[..]));
    state.threads.close().await;
}

async fn files_belong_to_their_thread(store: TestStore) {
    let state = store.open();
    state.files.keep(&StoredFile::new(thread("a"), "", "a.txt"), b"a".to_vec()).await.unwrap();
    assert_eq!(content(&state, &StoredFile::new(thread("b"), "", "a.txt")).await, None);
    for name in ["", ".", "..", "../web%3Achat%3Aa/a.txt"] {
        assert!(state.files.open(&thread("b"), name).await.unwrap().is_none(), "{name:?}");
    }
    state.threads.close().await;
}
