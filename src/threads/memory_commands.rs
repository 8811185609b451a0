//! `/memory` and `/forget` in a chat: show what is remembered here, forget an item, undo a change, forget a person.
//!
//! People change their own memory; what a group shares its administrators and the owners change, and what all share the
//! owners.

use super::actor::Actor;
use crate::domain::{
    AuthorRole, ChangeRefusal, IngressEvent, MemoryChange, MemoryEdit, Origin, Provenance, ScopeKey, Tier,
};
use crate::ports::{ChangeError, LedgerRequest, StoreError, Undone};
use crate::render::{MemoryPhrase, ShownMemory};

/// How many changes are looked at to tell who changed an item last.
const CHANGES: usize = 1_000;
/// How many notes of a scope are shown.
const SHOWN_NOTES: usize = 10;
/// How many changes are looked at for one that a repeated command has made already.
const RECENT: usize = 50;

/// A parsed `/memory` command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MemoryRequest {
    Show,
    Forget(String),
    Undo,
    Unclear,
}

/// What `/forget me` is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForgetMe {
    /// Say what would be forgotten, and how.
    Ask,
    /// Core memory and notes of the person.
    Remembered,
    /// The same, and what was said in their direct chats, as far as it can be searched.
    Everything,
}

impl MemoryRequest {
    /// Parses the arguments of the command.
    fn read(words: &str) -> Self {
        let lower = words.to_lowercase();
        let mut words = lower.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (None, ..) | (Some("show" | "list" | "查看" | "列表"), None, _) => Self::Show,
            (Some("undo" | "撤销"), None, _) => Self::Undo,
            (Some("forget" | "忘记" | "删除"), Some(id), None) => {
                Self::Forget(id.trim_matches(['`', '(', ')', '（', '）']).to_owned())
            }
            _ => Self::Unclear,
        }
    }
}

impl Actor {
    /// Executes a `/memory` command and returns the reply text.
    pub(super) async fn memory_command(&self, words: &str, event: &IngressEvent) -> String {
        let said = match MemoryRequest::read(words) {
            MemoryRequest::Show => self.show_memory(event).await,
            MemoryRequest::Forget(id) => self.forget_item(id, event).await,
            MemoryRequest::Undo => self.undo_memory(event).await,
            MemoryRequest::Unclear => Ok(MemoryPhrase::HowTo),
        };
        self.told(refusals(said))
    }

    /// Executes `/forget me`. Returns the reply text, and whether the conversation begins anew.
    pub(super) async fn forget_command(&self, words: &str, event: &IngressEvent) -> (String, bool) {
        let lower = words.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let said = match words.as_slice() {
            ["me" | "我"] => self.forget_person(event, ForgetMe::Ask).await,
            ["me" | "我", "yes" | "是" | "确定" | "确认"] => {
                self.forget_person(event, ForgetMe::Remembered).await
            }
            ["me" | "我", "everything" | "全部" | "所有"] => {
                self.forget_person(event, ForgetMe::Everything).await
            }
            _ => Ok(MemoryPhrase::ForgetMeHowTo),
        };
        let anew = matches!(&said, Ok(MemoryPhrase::ForgotEverything(_)));
        (self.told(refusals(said)), anew)
    }

    async fn show_memory(&self, event: &IngressEvent) -> Result<MemoryPhrase, ChangeError> {
        let mut found = Vec::new();
        for scope in self.scope_of(event).read() {
            let file = self.runtime.memory.core(scope).await?;
            let request = LedgerRequest { scope: Some(scope.clone()), before: None, limit: CHANGES };
            // Who wrote an item is good to know; without the ledger the items are shown alone.
            let changes =
                self.runtime.memory.ledger(request).await.map(|page| page.lines).unwrap_or_default();
            let notes = self.runtime.memory.newest_notes(scope, SHOWN_NOTES).await?;
            found.push(ShownMemory { scope: scope.clone(), file, changes, notes });
        }
        Ok(MemoryPhrase::Here(found))
    }

    async fn forget_item(&self, id: String, event: &IngressEvent) -> Result<MemoryPhrase, ChangeError> {
        let readable = self.scope_of(event);
        let mut theirs = true;
        for scope in readable.read().iter().rev() {
            if !self.may_change(scope, event) {
                let items = self.runtime.memory.core(scope).await?.items();
                theirs &= !items.iter().any(|item| item.handle() == id);
                continue;
            }
            for tier in [Tier::Core, Tier::Notes] {
                let change = MemoryChange {
                    scope: scope.clone(),
                    tier,
                    edit: MemoryEdit::Forget { id: id.clone() },
                    expected: None,
                    provenance: self.provenance_of(event),
                };
                match self.runtime.memory.apply(change).await {
                    Ok(_) => return Ok(MemoryPhrase::Forgotten(id)),
                    Err(ChangeError::Refused(ChangeRefusal::NoSuchItem(_))) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if theirs { Err(ChangeRefusal::NoSuchItem(id).into()) } else { Ok(MemoryPhrase::NotTheirs) }
    }

    async fn undo_memory(&self, event: &IngressEvent) -> Result<MemoryPhrase, ChangeError> {
        let memory = &self.runtime.memory;
        let readable = self.scope_of(event);
        let mut newest: Option<(u64, &ScopeKey)> = None;
        for scope in readable.read().iter().filter(|scope| self.may_change(scope, event)) {
            let request = LedgerRequest { scope: Some(scope.clone()), before: None, limit: RECENT };
            let lines = memory.ledger(request).await?.lines;
            // The same command may come again after a crash.
            let again = lines.iter().find(|line| line.undoes.is_some() && line.from.contains(&event.message));
            if let Some(line) = again {
                let taken_back = lines.iter().find(|other| Some(other.seq) == line.undoes);
                return Ok(MemoryPhrase::Undone(taken_back.cloned().map(Box::new)));
            }
            newest = newest.max(memory.newest_to_undo(scope).await?.map(|line| (line.seq, scope)));
        }
        let (_, scope) = newest.ok_or(ChangeRefusal::NothingToUndo)?;
        let Undone { taken_back, .. } = memory.undo(scope, self.provenance_of(event)).await?;
        Ok(MemoryPhrase::Undone(Some(Box::new(taken_back))))
    }

    async fn forget_person(&self, event: &IngressEvent, what: ForgetMe) -> Result<MemoryPhrase, ChangeError> {
        let scope = self.scope_of(event);
        let Some(own) = scope.write().filter(|own| own.is_of_one_person()) else {
            return Ok(MemoryPhrase::ForgetMeInPrivate);
        };
        if !self.may_change(own, event) {
            return Ok(MemoryPhrase::NotTheirs);
        }
        if what != ForgetMe::Ask {
            let everything = what == ForgetMe::Everything;
            let count = self.runtime.memory.forget_all(own, self.provenance_of(event)).await?;
            // The platform's clock may be ahead of ours.
            let now = event.at.max(self.runtime.clock.now()).as_millis();
            self.runtime.search.forget(own, everything.then_some(now)).await?;
            return Ok(match everything {
                true => MemoryPhrase::ForgotEverything(count),
                false => MemoryPhrase::ForgotMe(count),
            });
        }
        let mut count = self.runtime.memory.core(own).await?.items().len();
        let mut month = None;
        loop {
            let page = self.runtime.memory.notes(own, month).await?;
            count += page.notes.len();
            let Some(earlier) = page.earlier else { break };
            month = Some(earlier);
        }
        Ok(MemoryPhrase::ForgetMe(count))
    }

    /// Whether the author of a command may change the memory of a scope without a question.
    fn may_change(&self, scope: &ScopeKey, event: &IngressEvent) -> bool {
        let owner = self.runtime.settings().approval_rules.rights.origin_of(event) == Origin::Owner;
        match scope {
            ScopeKey::Project => owner,
            ScopeKey::Group(_) => owner || event.author.role == AuthorRole::Admin,
            // Where all direct chats share one memory, it belongs to no one person.
            ScopeKey::Main => owner,
            ScopeKey::Peer(_) | ScopeKey::Person(_) => event.author.role != AuthorRole::Anonymous,
        }
    }

    fn provenance_of(&self, event: &IngressEvent) -> Provenance {
        Provenance {
            at: self.runtime.clock.now(),
            by: Some(event.author.id.clone()),
            via: Some("chat".to_owned()),
            thread: Some(self.id.clone()),
            from: vec![event.message.clone()],
            origin: self.runtime.settings().approval_rules.rights.origin_of(event),
            reviewed: true,
        }
    }
}

/// A refusal is an answer; only trouble with the store is an error.
fn refusals(said: Result<MemoryPhrase, ChangeError>) -> Result<MemoryPhrase, StoreError> {
    match said {
        Ok(phrase) => Ok(phrase),
        Err(ChangeError::Refused(refusal)) => Ok(MemoryPhrase::Refused(refusal)),
        Err(ChangeError::Store(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_both_languages_and_never_guessed() {
        let forget = |id: &str| MemoryRequest::Forget(id.to_owned());
        for (words, expected) in [
            ("", MemoryRequest::Show),
            (" list ", MemoryRequest::Show),
            ("forget k3f9a", forget("k3f9a")),
            ("Forget `k3f9a`", forget("k3f9a")),
            ("忘记 k3f9a", forget("k3f9a")),
            ("undo", MemoryRequest::Undo),
            ("撤销", MemoryRequest::Undo),
            ("forget", MemoryRequest::Unclear),
            ("forget k1 k2", MemoryRequest::Unclear),
            ("undo k1", MemoryRequest::Unclear),
        ] {
            assert_eq!(MemoryRequest::read(words), expected, "{words:?}");
        }
    }
}
