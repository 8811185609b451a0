//! An unknown person who makes a pairing request in a running daemon's project, as an adapter would do.

use std::sync::Arc;

use shipagent::domain::{Author, AuthorRole};
use shipagent::ports::{AccessStore as _, Clock as _, PairingRequest, SystemClock};
use shipagent::store::FileAccess;
use shipagent::store::memory::InMemoryAudit;

use super::daemon::Project;

/// The project's access records, opened beside the daemon.
pub(crate) fn book(project: &Project) -> FileAccess {
    FileAccess::new(&project.path().join(".ship"), Arc::new(InMemoryAudit::default()))
}

/// Writes to the agent for the first time; returns the pairing code.
pub(crate) async fn request_pairing(project: &Project, id: &str, name: Option<&str>) -> String {
    let who = Author { id: id.parse().unwrap(), name: name.map(str::to_owned), role: AuthorRole::Person };
    match book(project).ask_in(who, SystemClock.now()).await.unwrap() {
        PairingRequest::Code { code, .. } => code,
        PairingRequest::TooMany => panic!("{id} got no code"),
    }
}

/// An owner writes in a group, which opens it.
pub(crate) async fn open_group(project: &Project, platform: &str, chat: &str, owner: &str) {
    let (platform, owner) = (platform.parse().unwrap(), owner.parse().unwrap());
    book(project).open_chat(&platform, chat, &owner, SystemClock.now()).await.unwrap();
}
