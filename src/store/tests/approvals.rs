//! Approvals: numbers and states.

use super::for_every_store;
use super::support::{TestStore, approved, asked, thread};
use crate::domain::{Approval, ApprovalNumber, Scope};

for_every_store!(
    a_number_is_given_out_once,
    a_question_and_its_answer_are_there_after_a_restart,
    questions_are_found_by_thread_number_and_id,
    the_next_daemon_knows_what_was_left_without_an_answer,
);

fn numbers(approvals: &[Approval]) -> Vec<u32> {
    approvals.iter().map(|approval| approval.number.0).collect()
}

async fn a_number_is_given_out_once(store: TestStore) {
    let mut state = store.open();
    for expected in 1..=4 {
        assert_eq!(state.approvals.next_number().await.unwrap(), ApprovalNumber(expected));
        if expected == 2 {
            state = store.reopen(state).await;
        }
    }
    state.threads.close().await;
}

async fn a_question_and_its_answer_are_there_after_a_restart(store: TestStore) {
    let (a, state) = (thread("a"), store.open());
    for number in 1..=3 {
        state.approvals.save(asked(number, &a)).await.unwrap();
    }
    let answered = approved(asked(2, &a), Scope::Thread);
    state.approvals.save(answered.clone()).await.unwrap();
    assert_eq!(numbers(&state.approvals.pending().await.unwrap()), [3, 1]);
    let state = store.reopen(state).await;
    assert_eq!(state.approvals.get(&answered.id).await.unwrap(), Some(answered));
    assert_eq!(state.approvals.get(&asked(9, &a).id).await.unwrap(), None);
    assert_eq!(numbers(&state.approvals.list().await.unwrap()), [3, 2, 1], "newest first");
    assert_eq!(numbers(&state.approvals.pending().await.unwrap()), [3, 1]);
    state.threads.close().await;
}

async fn questions_are_found_by_thread_number_and_id(store: TestStore) {
    let (a, b, state) = (thread("a"), thread("b"), store.open());
    for thread in [&a, &b, &a] {
        let number = state.approvals.next_number().await.unwrap();
        state.approvals.save(asked(number.0, thread)).await.unwrap();
    }
    let found = async |thread, wanted: &[u32]| {
        let wanted = wanted.iter().copied().map(ApprovalNumber).collect();
        numbers(&state.approvals.numbered(thread, wanted).await.unwrap())
    };
    assert_eq!(found(&a, &[3, 1]).await, [3, 1]);
    assert_eq!(found(&a, &[2]).await, [0; 0], "it belongs to another thread");
    assert_eq!(found(&a, &[0, 4, u32::MAX]).await, [0; 0]);
    let ids = vec![asked(2, &b).id, asked(3, &a).id, asked(9, &a).id];
    assert_eq!(numbers(&state.approvals.of_thread(&a, ids).await.unwrap()), [3]);
    state.threads.close().await;
}

async fn the_next_daemon_knows_what_was_left_without_an_answer(store: TestStore) {
    let (a, b, state) = (thread("a"), thread("b"), store.open());
    state.approvals.save(asked(1, &a)).await.unwrap();
    state.approvals.save(asked(2, &b)).await.unwrap();
    state.approvals.save(approved(asked(3, &a), Scope::Once)).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(state.approvals.left_pending(&a).await.unwrap(), [asked(1, &a).id]);
    assert_eq!(state.approvals.left_pending(&thread("c")).await.unwrap(), []);
    state.threads.close().await;
}
