//! Grants: added, used by the judge, expired, and revoked.

use std::num::NonZeroU32;

use super::for_every_store;
use super::support::{TestStore, approved, asked, at, thread};
use crate::domain::{GrantNumber, Reach, Scope, Timestamp};
use crate::policy::grants::{CallFacts, covering, proposed};
use crate::ports::{AuditQuery, Revoker};
use crate::store::State;

for_every_store!(
    a_grant_holds_until_it_is_taken_back,
    a_grant_ends_with_its_time,
    a_number_never_comes_twice,
    every_change_is_in_the_audit_trail,
);

const CALL: CallFacts<'static> = CallFacts {
    tool: "write_file",
    risk: crate::domain::Risk::Medium,
    in_advance: true,
    shell: None,
    scripts: None,
};

async fn add(state: &State, scope: Scope, now: Timestamp) -> GrantNumber {
    let approval = approved(asked(1, &thread("a")), scope);
    let proposal = proposed(scope, &approval.thread, now, &CALL).unwrap();
    state.grants.add(approval, scope, proposal, now).await.unwrap()
}

fn minutes(count: u32) -> Scope {
    Scope::Minutes(NonZeroU32::new(count).unwrap())
}

fn bob() -> Revoker {
    Revoker { author: "web:user:bob".parse().unwrap(), via: "http".to_owned() }
}

/// The grants that cover the call at this time.
async fn used(state: &State, now: Timestamp) -> Option<Vec<GrantNumber>> {
    let all = state.grants.all().await.unwrap();
    covering(&all, &thread("a"), now, &CALL).map(|used| used.iter().map(|grant| grant.id).collect())
}

async fn a_grant_holds_until_it_is_taken_back(store: TestStore) {
    let state = store.open();
    assert_eq!(used(&state, at(0)).await, None);
    let number = add(&state, Scope::Thread, at(0)).await;
    assert_eq!(used(&state, at(1)).await, Some(vec![number]));
    let state = store.reopen(state).await;
    assert_eq!(used(&state, at(2)).await, Some(vec![number]), "it is used as often as it is needed");
    let gone = state.grants.revoke(number, bob(), at(3)).await.unwrap().unwrap();
    assert_eq!((gone.number, gone.reach), (number, Reach::Thread(thread("a"))));
    assert_eq!(used(&state, at(3)).await, None, "from the next call on");
    assert_eq!(state.grants.revoke(number, bob(), at(4)).await.unwrap(), None);
    state.threads.close().await;
}

async fn a_grant_ends_with_its_time(store: TestStore) {
    let state = store.open();
    let number = add(&state, minutes(5), at(0)).await;
    assert_eq!(used(&state, at(4)).await, Some(vec![number]));
    assert_eq!(used(&state, at(5)).await, None);
    assert_eq!(state.grants.all().await.unwrap().len(), 1, "reading removes nothing");
    assert!(state.grants.list(at(5)).await.unwrap().is_empty());
    assert!(state.grants.all().await.unwrap().is_empty(), "listing removes what is over");
    state.threads.close().await;
}

async fn a_number_never_comes_twice(store: TestStore) {
    let state = store.open();
    for expected in [1, 2] {
        assert_eq!(add(&state, Scope::Project, at(0)).await, GrantNumber(expected));
    }
    state.grants.revoke(GrantNumber(2), bob(), at(1)).await.unwrap();
    let state = store.reopen(state).await;
    assert_eq!(add(&state, Scope::Project, at(2)).await, GrantNumber(3));
    let listed = state.grants.list(at(2)).await.unwrap();
    assert_eq!(listed.iter().map(|one| one.number.0).collect::<Vec<_>>(), [1, 3], "oldest first");
    state.threads.close().await;
}

async fn every_change_is_in_the_audit_trail(store: TestStore) {
    let state = store.open();
    let number = add(&state, Scope::Thread, at(0)).await;
    add(&state, minutes(1), at(0)).await;
    state.grants.revoke(number, bob(), at(2)).await.unwrap();
    state.audit.flush().await;
    let query = AuditQuery { event: Some("grant".to_owned()), limit: 10, ..AuditQuery::default() };
    let trail = state.audit.read(query).await.unwrap();
    let told: Vec<_> = trail
        .lines
        .iter()
        .map(|line| (line.facts["event"].as_str().unwrap(), line.facts["grants"][0].as_str().unwrap()))
        .collect();
    let expected =
        [("grant-added", "G1"), ("grant-added", "G2"), ("grant-expired", "G2"), ("grant-revoked", "G1")];
    assert_eq!(told, expected);
    state.threads.close().await;
}
