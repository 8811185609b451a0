//! `/grants` in a chat: lists the grants that hold here and revokes them. Everyone who may give a grant may revoke it.

use super::actor::Actor;
use crate::domain::{Author, GrantNumber, GrantSummary, ThreadId};
use crate::policy::Rights;
use crate::ports::{Revoker, StoreError};
use crate::render::GrantPhrase;

/// A parsed `/grants` command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrantRequest {
    List,
    Revoke(GrantNumber),
    Unclear,
}

impl GrantRequest {
    /// Parses the arguments of the command.
    fn read(words: &str) -> Self {
        let mut words = words.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (None, ..) => Self::List,
            (Some(word), None, _) if matches!(word.to_lowercase().as_str(), "list" | "列表" | "查看") => {
                Self::List
            }
            (Some(word), Some(number), None) if takes_back(word) => {
                number.parse().map_or(Self::Unclear, Self::Revoke)
            }
            // Chinese has no need of a space: 撤销G2.
            (Some(word), None, _) => {
                let number = ["撤销", "取消", "收回"].iter().find_map(|verb| word.strip_prefix(verb));
                number.and_then(|number| number.parse().ok()).map_or(Self::Unclear, Self::Revoke)
            }
            _ => Self::Unclear,
        }
    }
}

fn takes_back(word: &str) -> bool {
    ["revoke", "remove", "delete", "撤销", "取消", "收回"].contains(&word.to_lowercase().as_str())
}

impl Actor {
    /// Executes a `/grants` command and returns the reply text.
    pub(super) async fn govern(&self, words: &str, who: &Author) -> String {
        let said = match GrantRequest::read(words) {
            GrantRequest::Unclear => Ok(GrantPhrase::HowTo),
            GrantRequest::List => self.list_grants().await,
            GrantRequest::Revoke(number) => self.revoke_grant(number, who).await,
        };
        let said = said.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "grants unavailable");
            GrantPhrase::Unreadable
        });
        said.say(self.conversation.language())
    }

    async fn list_grants(&self) -> Result<GrantPhrase, StoreError> {
        let grants = self.runtime.grants.list(self.runtime.clock.now()).await?;
        Ok(GrantPhrase::List(grants.into_iter().filter(|grant| reaches(grant, &self.id)).collect()))
    }

    async fn revoke_grant(&self, number: GrantNumber, who: &Author) -> Result<GrantPhrase, StoreError> {
        let now = self.runtime.clock.now();
        let grants = self.runtime.grants.list(now).await?;
        let rights = &self.runtime.settings().approval_rules.rights;
        // A grant that does not hold in this chat is visible only to people who may decide everywhere.
        let everywhere = rights.people.contains(&who.id) || (rights.owners && who.role.is_owner());
        let here = |grant: &&GrantSummary| reaches(grant, &self.id) || everywhere;
        let Some(grant) = grants.iter().find(|grant| grant.number == number).filter(here) else {
            return Ok(GrantPhrase::Unknown(number));
        };
        // A grant without a requester can not be revoked as a requester's own.
        let own = Rights { requester: rights.requester && grant.requested_by.is_some(), ..rights.clone() };
        let requester = grant.requested_by.as_ref().unwrap_or(&who.id);
        if !own.may_answer(requester, &who.id, who.role) {
            tracing::warn!(by = %who.id, grant = %number, "grant revoke denied");
            return Ok(GrantPhrase::NotTheirs(number));
        }
        let by = Revoker { author: who.id.clone(), via: "text".to_owned() };
        let gone = self.runtime.grants.revoke(number, by, now).await?;
        Ok(gone.map_or(GrantPhrase::Unknown(number), |gone| GrantPhrase::Revoked(gone.number)))
    }
}

/// Whether a grant holds in this thread.
fn reaches(grant: &GrantSummary, thread: &ThreadId) -> bool {
    grant.reach.thread().is_none_or(|of| of == thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_in_both_languages_and_never_guessed() {
        let revoke = |number| GrantRequest::Revoke(GrantNumber(number));
        for (words, expected) in [
            ("", GrantRequest::List),
            ("list", GrantRequest::List),
            ("查看", GrantRequest::List),
            ("revoke G2", revoke(2)),
            ("Revoke g12", revoke(12)),
            ("撤销 G2", revoke(2)),
            ("撤销G3", revoke(3)),
            ("取消 4", revoke(4)),
            ("revoke", GrantRequest::Unclear),
            ("revoke all", GrantRequest::Unclear),
            ("revoke G1 G2", GrantRequest::Unclear),
            ("G1", GrantRequest::Unclear),
            ("keep G1", GrantRequest::Unclear),
        ] {
            assert_eq!(GrantRequest::read(words), expected, "{words:?}");
        }
    }
}
