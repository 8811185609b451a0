//! Access: pairing codes, invitations, roles, groups.

use super::for_every_store;
use super::support::{TestStore, at};
use crate::domain::{Author, AuthorId, AuthorRole, Role};
use crate::ports::{AccessSubject, PairingConfirmation, PairingRequest};
use crate::store::State;

for_every_store!(
    a_stranger_is_let_in_by_the_code_they_were_given,
    a_code_dies_after_an_hour_and_guessing_is_stopped,
    an_invitation_lets_one_person_in,
    a_group_is_open_until_it_is_closed,
);

fn person(id: &str) -> Author {
    Author { id: id.parse().unwrap(), name: Some("Ada".to_owned()), role: AuthorRole::Person }
}

fn operator() -> AuthorId {
    "cli:user:operator".parse().unwrap()
}

async fn code_of(state: &State, id: &str, minute: u64) -> String {
    match state.access.ask_in(person(id), at(minute)).await.unwrap() {
        PairingRequest::Code { code, .. } => code,
        PairingRequest::TooMany => panic!("{id} got no code"),
    }
}

async fn a_stranger_is_let_in_by_the_code_they_were_given(store: TestStore) {
    let state = store.open();
    let ada: AuthorId = "telegram:user:1".parse().unwrap();
    assert_eq!(state.access.role_of(&ada).await.unwrap(), None);
    let code = code_of(&state, "telegram:user:1", 0).await;
    let state = store.reopen(state).await;
    assert_eq!(code_of(&state, "telegram:user:1", 1).await, code, "the same one while it lives");
    let approved = state.access.approve(&code, Role::Member, &operator(), at(2)).await.unwrap();
    assert!(matches!(approved, PairingConfirmation::Confirmed(member) if member.id == ada));
    let again = state.access.approve(&code, Role::Member, &operator(), at(3)).await.unwrap();
    assert_eq!(again, PairingConfirmation::NoSuchCode, "a code is used once");
    let state = store.reopen(state).await;
    assert_eq!(state.access.role_of(&ada).await.unwrap(), Some(Role::Member));
    assert!(state.access.change_role(&ada, Role::Owner, &operator(), at(4)).await.unwrap().is_some());
    assert_eq!(state.access.role_of(&ada).await.unwrap(), Some(Role::Owner));
    assert!(state.access.revoke(&AccessSubject::Person(ada.clone()), &operator(), at(5)).await.unwrap());
    assert_eq!(state.access.role_of(&ada).await.unwrap(), None);
    assert!(state.access.is_removed(&ada).await.unwrap());
    assert!(!state.access.revoke(&AccessSubject::Person(ada), &operator(), at(6)).await.unwrap());
    state.threads.close().await;
}

async fn a_code_dies_after_an_hour_and_guessing_is_stopped(store: TestStore) {
    let state = store.open();
    let code = code_of(&state, "telegram:user:1", 0).await;
    assert_eq!(state.access.list(at(59)).await.unwrap().asking.len(), 1);
    assert!(state.access.list(at(60)).await.unwrap().asking.is_empty());
    let late = state.access.approve(&code, Role::Member, &operator(), at(60)).await.unwrap();
    assert_eq!(late, PairingConfirmation::NoSuchCode);
    let mut last = late;
    for _ in 0..10 {
        last = state.access.approve("AAAA2222", Role::Member, &operator(), at(61)).await.unwrap();
    }
    assert!(matches!(last, PairingConfirmation::Locked { .. }), "{last:?}");
    state.threads.close().await;
}

async fn an_invitation_lets_one_person_in(store: TestStore) {
    let state = store.open();
    let invitation = state.access.invite(Role::Member, &operator(), at(0)).await.unwrap();
    let state = store.reopen(state).await;
    assert!(!state.access.redeem(person("qq:user:1"), "WRONG234", at(1)).await.unwrap());
    assert!(state.access.redeem(person("qq:user:1"), &invitation.code, at(1)).await.unwrap());
    assert!(!state.access.redeem(person("qq:user:2"), &invitation.code, at(2)).await.unwrap());
    assert_eq!(state.access.role_of(&person("qq:user:1").id).await.unwrap(), Some(Role::Member));
    state.threads.close().await;
}

async fn a_group_is_open_until_it_is_closed(store: TestStore) {
    let state = store.open();
    let (platform, owner) = ("telegram".parse().unwrap(), "telegram:user:9".parse().unwrap());
    assert!(!state.access.is_open(&platform, "-100").await.unwrap());
    for minute in [0, 1] {
        state.access.open_chat(&platform, "-100", &owner, at(minute)).await.unwrap();
    }
    let state = store.reopen(state).await;
    assert!(state.access.is_open(&platform, "-100").await.unwrap());
    assert_eq!(state.access.list(at(2)).await.unwrap().chats.len(), 1);
    let group = "telegram:chat:-100".parse().unwrap();
    assert!(state.access.revoke(&AccessSubject::Chat(group), &operator(), at(3)).await.unwrap());
    assert!(!state.access.is_open(&platform, "-100").await.unwrap());
    state.threads.close().await;
}
