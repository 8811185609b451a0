//! Somebody nobody knows, who asks a running daemon's project to be let in, as an adapter would for them.

use std::sync::Arc;

use shipagent::domain::{Author, AuthorRole};
use shipagent::permissions::FileAccess;
use shipagent::ports::{AccessBook as _, Audit, AuditLine, Clock as _, PairingRequest, SystemClock};
use shipagent::store::replace_file;

use super::daemon::Project;

/// An audit trail that nobody reads.
#[derive(Debug)]
struct Unread;

impl Audit for Unread {
    fn record(&self, _line: AuditLine) {}
}

/// The project's book, in another hand than the daemon's.
pub(crate) fn book(project: &Project) -> FileAccess {
    FileAccess::new(&project.path().join(".ship"), replace_file, Arc::new(Unread))
}

/// Writes to the agent for the first time; gives the code they are told.
pub(crate) async fn knock(project: &Project, id: &str, name: Option<&str>) -> String {
    let who = Author { id: id.parse().unwrap(), name: name.map(str::to_owned), role: AuthorRole::Person };
    match book(project).ask_in(who, SystemClock.now()).await.unwrap() {
        PairingRequest::Code { code, .. } => code,
        PairingRequest::TooMany => panic!("{id} got no code"),
    }
}

/// An owner speaks in a group, which opens it.
pub(crate) async fn open_group(project: &Project, platform: &str, chat: &str, owner: &str) {
    let (platform, owner) = (platform.parse().unwrap(), owner.parse().unwrap());
    book(project).open_chat(&platform, chat, &owner, SystemClock.now()).await.unwrap();
}
