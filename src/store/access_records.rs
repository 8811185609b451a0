//! The rules of access: who gets a pairing code, when it expires, and what confirming it does. Pure: time and new codes
//! are passed in. The same types are the content of `access.json`.

use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::document::Modified;
use crate::domain::{Author, AuthorId, AuthorRole, Platform, Role, ThreadId, Timestamp};
use crate::ports::{
    AccessList, AccessSubject, Applicant, Invitation, Member, OpenChat, PairingConfirmation, PairingRequest,
    Removed,
};

/// Lifetime of a code.
const CODE_MILLIS: u64 = 60 * 60 * 1000;
/// Most open requests per platform: strangers must not fill the records.
const WAITING: usize = 3;
/// Shortest interval at which a person is sent the code again.
const SAY_AGAIN_MILLIS: u64 = 60 * 1000;
/// Wrong codes until confirmations are locked.
const WRONG_CODES: u32 = 10;
/// Duration of the lock, and for how long a wrong code is counted.
const LOCK_MILLIS: u64 = 10 * 60 * 1000;
/// Most open invitations; further ones replace the oldest.
const INVITATIONS: usize = 16;
/// Longest stored name of a stranger, in characters.
const NAME_LETTERS: usize = 80;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessRecords {
    #[serde(default)]
    people: Vec<Member>,
    #[serde(default)]
    chats: Vec<OpenChat>,
    #[serde(default)]
    asking: Vec<WaitingRequests>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wrong_codes: Option<WrongCodes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    invited: Vec<Invitation>,
    /// People whose access was revoked: opened groups exclude them as well, until they are let in again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<Removed>,
    /// Counted separately from `wrong`: strangers must not be able to lock the operator out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wrong_invitations: Option<WrongCodes>,
}

/// An open pairing request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WaitingRequests {
    id: AuthorId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    code: String,
    since: Timestamp,
    expires: Timestamp,
    /// When the code was last sent.
    said: Timestamp,
}

/// Recent wrong codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrongCodes {
    count: u32,
    /// When the count is reset.
    until: Timestamp,
}

impl AccessRecords {
    pub(super) fn role_of(&self, author: &AuthorId) -> Option<Role> {
        self.people.iter().find(|member| member.id == *author).map(|member| member.role)
    }

    pub(super) fn is_removed(&self, author: &AuthorId) -> bool {
        self.removed.iter().any(|removed| removed.id == *author)
    }

    pub(super) fn is_open(&self, chat: &ThreadId) -> bool {
        self.chats.iter().any(|known| known.id == *chat)
    }

    /// A pairing request. `code` is used if the person needs a new one.
    pub(super) fn request_pairing(
        &mut self,
        who: Author,
        platform: &Platform,
        now: Timestamp,
        code: String,
    ) -> (PairingRequest, Modified) {
        if let Some(known) = self.asking.iter_mut().find(|known| known.id == who.id && now < known.expires) {
            let fresh = now.millis_since(known.said) >= SAY_AGAIN_MILLIS;
            if fresh {
                known.said = now;
            }
            let request = PairingRequest::Code { code: known.code.clone(), expires: known.expires, fresh };
            return (request, if fresh { Modified::Yes } else { Modified::No });
        }
        self.asking.retain(|known| now < known.expires);
        if self.asking.iter().filter(|known| known.id.platform() == *platform).count() >= WAITING {
            return (PairingRequest::TooMany, Modified::No);
        }
        let expires = now.plus_millis(CODE_MILLIS);
        let name = who.name.map(|name| name.chars().take(NAME_LETTERS).collect());
        self.asking.push(WaitingRequests {
            id: who.id,
            name,
            code: code.clone(),
            since: now,
            expires,
            said: now,
        });
        (PairingRequest::Code { code, expires, fresh: true }, Modified::Yes)
    }

    pub(super) fn approve(
        &mut self,
        typed: &str,
        role: Role,
        by: &AuthorId,
        now: Timestamp,
    ) -> (PairingConfirmation, Modified) {
        let wrong = self.wrong_codes.filter(|wrong| now < wrong.until);
        if let Some(WrongCodes { until, .. }) = wrong.filter(|wrong| wrong.count >= WRONG_CODES) {
            return (PairingConfirmation::Locked { until }, Modified::No);
        }
        let code = normal(typed);
        let found = self.asking.iter().position(|known| known.code == code && now < known.expires);
        let Some(found) = found else {
            let count = wrong.map_or(0, |wrong| wrong.count).saturating_add(1);
            self.wrong_codes = Some(WrongCodes { count, until: now.plus_millis(LOCK_MILLIS) });
            return (PairingConfirmation::NoSuchCode, Modified::Yes);
        };
        let WaitingRequests { id, name, .. } = self.asking.remove(found);
        self.wrong_codes = None;
        let member = Member { id, name, role, approved_by: by.clone(), approved_at: now.rfc3339() };
        self.let_in(member.clone());
        (PairingConfirmation::Confirmed(member), Modified::Yes)
    }

    pub(super) fn invite(&mut self, role: Role, by: &AuthorId, now: Timestamp, code: String) -> Invitation {
        self.invited.retain(|known| now < known.expires);
        if self.invited.len() >= INVITATIONS {
            self.invited.remove(0);
        }
        let expires = now.plus_millis(CODE_MILLIS);
        let invitation = Invitation { code, role, invited_by: by.clone(), expires };
        self.invited.push(invitation.clone());
        invitation
    }

    /// A person redeems an invitation code.
    pub(super) fn redeem(&mut self, who: Author, typed: &str, now: Timestamp) -> (Option<Member>, Modified) {
        let wrong = self.wrong_invitations.filter(|wrong| now < wrong.until);
        if who.role == AuthorRole::Anonymous || wrong.is_some_and(|wrong| wrong.count >= WRONG_CODES) {
            return (None, Modified::No);
        }
        let code = normal(typed);
        let Some(found) = self.invited.iter().position(|known| known.code == code && now < known.expires)
        else {
            let count = wrong.map_or(0, |wrong| wrong.count).saturating_add(1);
            self.wrong_invitations = Some(WrongCodes { count, until: now.plus_millis(LOCK_MILLIS) });
            return (None, Modified::Yes);
        };
        let Invitation { role, invited_by, .. } = self.invited.remove(found);
        self.asking.retain(|known| known.id != who.id);
        let name = who.name.map(|name| name.chars().take(NAME_LETTERS).collect());
        let member = Member { id: who.id, name, role, approved_by: invited_by, approved_at: now.rfc3339() };
        self.let_in(member.clone());
        (Some(member), Modified::Yes)
    }

    fn let_in(&mut self, member: Member) {
        self.people.retain(|known| known.id != member.id);
        self.removed.retain(|known| known.id != member.id);
        self.people.push(member);
    }

    pub(super) fn change_role(&mut self, who: &AuthorId, role: Role) -> (Option<Member>, Modified) {
        let Some(member) = self.people.iter_mut().find(|member| member.id == *who) else {
            return (None, Modified::No);
        };
        let touched = if member.role == role { Modified::No } else { Modified::Yes };
        member.role = role;
        (Some(member.clone()), touched)
    }

    /// Opens a group. Returns whether that is new.
    pub(super) fn open(&mut self, chat: ThreadId, by: &AuthorId, now: Timestamp) -> (bool, Modified) {
        if self.is_open(&chat) {
            return (false, Modified::No);
        }
        self.chats.push(OpenChat { id: chat, opened_by: by.clone(), opened_at: now.rfc3339() });
        (true, Modified::Yes)
    }

    /// Revokes access, and removes an open pairing request. Returns whether there was either. A person who had access
    /// stays out until let in again.
    pub(super) fn revoke(&mut self, who: &AccessSubject, by: &AuthorId, now: Timestamp) -> (bool, Modified) {
        let before = (self.people.len(), self.chats.len(), self.asking.len());
        match who {
            AccessSubject::Person(person) => {
                if let Some(at) = self.people.iter().position(|member| member.id == *person) {
                    let Member { id, name, .. } = self.people.remove(at);
                    self.removed.push(Removed {
                        id,
                        name,
                        removed_by: by.clone(),
                        removed_at: now.rfc3339(),
                    });
                }
                self.asking.retain(|known| known.id != *person);
            }
            AccessSubject::Chat(chat) => self.chats.retain(|known| known.id != *chat),
        }
        let gone = before != (self.people.len(), self.chats.len(), self.asking.len());
        (gone, if gone { Modified::Yes } else { Modified::No })
    }

    pub(super) fn list(&self, now: Timestamp) -> AccessList {
        let asking = self.asking.iter().filter(|known| now < known.expires).map(|known| Applicant {
            id: known.id.clone(),
            name: known.name.clone(),
            code: known.code.clone(),
            asked_at: known.since.rfc3339(),
            expires_at: known.expires.rfc3339(),
        });
        AccessList {
            people: self.people.clone(),
            chats: self.chats.clone(),
            asking: asking.collect(),
            removed: self.removed.clone(),
        }
    }
}

/// Letters and digits that are not easily confused. There are 32, so that five random bits choose one evenly.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH: usize = 8;

/// The system returned no random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gave no random numbers")]
pub(super) struct NoRandomness;

pub(super) fn fresh() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; LENGTH];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32))).copied().map(char::from).collect())
}

/// A typed code, normalized: upper case, without spaces or dashes.
pub(super) fn normal(typed: &str) -> String {
    typed.chars().filter(|letter| letter.is_ascii_alphanumeric()).map(|l| l.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60 * 1000;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000).plus_millis(millis)
    }

    fn id(text: &str) -> AuthorId {
        text.parse().unwrap()
    }

    fn request_pairing(records: &mut AccessRecords, who: &str, now: Timestamp, code: &str) -> PairingRequest {
        let author = Author { id: id(who), name: Some("Ada".to_owned()), role: AuthorRole::Person };
        let platform = author.id.platform();
        records.request_pairing(author, &platform, now, code.to_owned()).0
    }

    fn code(code: &str, asked: u64, fresh: bool) -> PairingRequest {
        PairingRequest::Code { code: code.to_owned(), expires: at(asked + 60 * MINUTE), fresh }
    }

    fn operator() -> AuthorId {
        id("cli:user:operator")
    }

    #[test]
    fn a_person_keeps_one_code_while_it_lives_and_hears_it_once_a_minute() {
        let mut records = AccessRecords::default();
        let ada = "telegram:user:1";
        assert_eq!(request_pairing(&mut records, ada, at(0), "AAAA2222"), code("AAAA2222", 0, true));
        assert_eq!(request_pairing(&mut records, ada, at(59_999), "BBBB2222"), code("AAAA2222", 0, false));
        assert_eq!(request_pairing(&mut records, ada, at(MINUTE), "BBBB2222"), code("AAAA2222", 0, true));
        assert_eq!(
            request_pairing(&mut records, ada, at(MINUTE + 1), "BBBB2222"),
            code("AAAA2222", 0, false)
        );
        assert_eq!(
            request_pairing(&mut records, ada, at(60 * MINUTE), "BBBB2222"),
            code("BBBB2222", 60 * MINUTE, true),
            "the old one is dead"
        );
        assert_eq!(records.list(at(60 * MINUTE)).asking.len(), 1);
    }

    #[test]
    fn no_more_than_three_wait_on_a_platform_and_others_are_not_kept_from_theirs() {
        let mut records = AccessRecords::default();
        for person in 1..=3 {
            let who = format!("telegram:user:{person}");
            assert!(matches!(
                request_pairing(&mut records, &who, at(0), &format!("C{person}")),
                PairingRequest::Code { .. }
            ));
        }
        assert_eq!(request_pairing(&mut records, "telegram:user:4", at(1), "C4"), PairingRequest::TooMany);
        assert!(matches!(
            request_pairing(&mut records, "feishu:user:4", at(1), "C5"),
            PairingRequest::Code { .. }
        ));
        assert!(matches!(
            request_pairing(&mut records, "telegram:user:2", at(1), "C6"),
            PairingRequest::Code { fresh: false, .. }
        ));
        assert!(matches!(
            request_pairing(&mut records, "telegram:user:4", at(60 * MINUTE), "C7"),
            PairingRequest::Code { .. }
        ));
    }

    #[test]
    fn a_code_lets_one_person_in_once_and_only_while_it_lives() {
        let mut records = AccessRecords::default();
        request_pairing(&mut records, "telegram:user:1", at(0), "AAAA2222");
        assert_eq!(
            records.approve("AAAA2223", Role::Member, &operator(), at(1)).0,
            PairingConfirmation::NoSuchCode
        );
        let (PairingConfirmation::Confirmed(member), Modified::Yes) =
            records.approve(" aaaa-2222 ", Role::Member, &operator(), at(2))
        else {
            panic!("the code was right");
        };
        assert_eq!((member.id.as_str(), member.name.as_deref()), ("telegram:user:1", Some("Ada")));
        assert_eq!(records.role_of(&id("telegram:user:1")), Some(Role::Member));
        assert_eq!(records.role_of(&id("telegram:user:2")), None);
        assert_eq!(
            records.approve("AAAA2222", Role::Member, &operator(), at(3)).0,
            PairingConfirmation::NoSuchCode,
            "used"
        );
        request_pairing(&mut records, "telegram:user:2", at(0), "BBBB2222");
        assert_eq!(
            records.approve("BBBB2222", Role::Member, &operator(), at(60 * MINUTE)).0,
            PairingConfirmation::NoSuchCode,
            "too old"
        );
        assert_eq!(records.approve("", Role::Member, &operator(), at(4)).0, PairingConfirmation::NoSuchCode);
    }

    #[test]
    fn the_operator_says_what_somebody_may_do_and_can_change_it() {
        let mut records = AccessRecords::default();
        let ada = id("telegram:user:1");
        request_pairing(&mut records, "telegram:user:1", at(0), "AAAA2222");
        assert_eq!(records.change_role(&ada, Role::Owner), (None, Modified::No), "they only ask");
        records.approve("AAAA2222", Role::Guest, &operator(), at(1));
        assert_eq!(records.role_of(&ada), Some(Role::Guest));
        assert_eq!(records.change_role(&ada, Role::Guest).1, Modified::No);
        let (changed, touched) = records.change_role(&ada, Role::Owner);
        assert_eq!((changed.unwrap().role, touched), (Role::Owner, Modified::Yes));
        // Records from before roles existed contain members only.
        let old = r#"{"people":[{"id":"qq:user:1","approvedBy":"cli:user:operator","approvedAt":"2026-01-01T00:00:00Z"}]}"#;
        let old: AccessRecords = serde_json::from_str(old).unwrap();
        assert_eq!(old.role_of(&id("qq:user:1")), Some(Role::Member));
    }

    #[test]
    fn an_invitation_lets_in_one_person_once_and_guessing_closes_that_door_alone() {
        let mut records = AccessRecords::default();
        let author = |who: &str| Author { id: id(who), name: None, role: AuthorRole::Person };
        let invited = |records: &mut AccessRecords, code: &str| {
            records.invite(Role::Guest, &operator(), at(0), code.to_owned());
        };
        invited(&mut records, "AAAA2222");
        invited(&mut records, "BBBB2222");
        let anonymous = Author { role: AuthorRole::Anonymous, ..author("telegram:user:5") };
        assert_eq!(records.redeem(anonymous, "AAAA2222", at(1)).0, None);
        let (member, _) = records.redeem(author("telegram:user:1"), "aaaa-2222", at(1));
        assert_eq!(member.unwrap().role, Role::Guest);
        assert_eq!(records.role_of(&id("telegram:user:1")), Some(Role::Guest));
        assert_eq!(records.redeem(author("telegram:user:2"), "AAAA2222", at(2)).0, None, "used");
        assert_eq!(records.redeem(author("telegram:user:2"), "BBBB2222", at(60 * MINUTE)).0, None, "too old");
        invited(&mut records, "CCCC2222");
        for _ in 0..10 {
            assert_eq!(records.redeem(author("telegram:user:3"), "ZZZZ2222", at(3)).0, None);
        }
        assert_eq!(
            records.redeem(author("telegram:user:3"), "CCCC2222", at(4)).0,
            None,
            "closed for a while"
        );
        request_pairing(&mut records, "telegram:user:4", at(4), "DDDD2222");
        let approved = records.approve("DDDD2222", Role::Member, &operator(), at(5)).0;
        assert!(matches!(approved, PairingConfirmation::Confirmed(_)), "the operator may always approve");
        assert!(records.redeem(author("telegram:user:3"), "CCCC2222", at(11 * MINUTE)).0.is_some());
    }

    #[test]
    fn ten_wrong_codes_close_the_door_for_ten_minutes_even_to_the_right_one() {
        let mut records = AccessRecords::default();
        request_pairing(&mut records, "qq:user:1", at(0), "AAAA2222");
        for wrong in 0..10 {
            assert_eq!(
                records.approve("ZZZZZZZZ", Role::Member, &operator(), at(wrong)).0,
                PairingConfirmation::NoSuchCode
            );
        }
        let until = at(9 + 10 * MINUTE);
        assert_eq!(
            records.approve("AAAA2222", Role::Member, &operator(), at(10)),
            (PairingConfirmation::Locked { until }, Modified::No)
        );
        assert!(matches!(
            records.approve("AAAA2222", Role::Member, &operator(), until).0,
            PairingConfirmation::Confirmed(_)
        ));
    }

    #[test]
    fn access_is_taken_from_people_and_groups_and_a_question_is_forgotten_with_it() {
        let mut records = AccessRecords::default();
        let chat: ThreadId = "telegram:chat:-1".parse().unwrap();
        assert_eq!(records.open(chat.clone(), &id("telegram:user:9"), at(0)), (true, Modified::Yes));
        assert_eq!(records.open(chat.clone(), &id("telegram:user:9"), at(1)), (false, Modified::No));
        request_pairing(&mut records, "telegram:user:1", at(0), "AAAA2222");
        let revoke =
            |records: &mut AccessRecords, who: AccessSubject| records.revoke(&who, &operator(), at(1));
        assert!(revoke(&mut records, AccessSubject::Person(id("telegram:user:1"))).0);
        assert_eq!(
            records.approve("AAAA2222", Role::Member, &operator(), at(1)).0,
            PairingConfirmation::NoSuchCode
        );
        assert_eq!(revoke(&mut records, AccessSubject::Person(id("telegram:user:1"))), (false, Modified::No));
        assert!(!records.is_removed(&id("telegram:user:1")), "they had never been let in");
        assert!(revoke(&mut records, AccessSubject::Chat(chat.clone())).0);
        assert!(!records.is_open(&chat));
    }

    #[test]
    fn whoever_was_removed_stays_out_until_they_are_let_in_again() {
        let mut records = AccessRecords::default();
        let ada = id("telegram:user:1");
        let remove = |records: &mut AccessRecords| {
            records.revoke(&AccessSubject::Person(ada.clone()), &operator(), at(2)).0
        };
        request_pairing(&mut records, "telegram:user:1", at(0), "AAAA2222");
        records.approve("AAAA2222", Role::Guest, &operator(), at(1));
        assert!(!records.is_removed(&ada));
        assert!(remove(&mut records) && records.is_removed(&ada) && records.role_of(&ada).is_none());
        assert_eq!(records.list(at(3)).removed.first().map(|removed| removed.id.clone()), Some(ada.clone()));
        let text = serde_json::to_string(&records).unwrap();
        assert_eq!(serde_json::from_str::<AccessRecords>(&text).unwrap(), records);
        request_pairing(&mut records, "telegram:user:1", at(3), "BBBB2222");
        assert!(records.is_removed(&ada), "asking is not being let in");
        records.approve("BBBB2222", Role::Member, &operator(), at(4));
        assert!(!records.is_removed(&ada) && records.list(at(4)).removed.is_empty());
        assert!(remove(&mut records));
        records.invite(Role::Member, &operator(), at(5), "CCCC2222".to_owned());
        let author = Author { id: ada.clone(), name: None, role: AuthorRole::Person };
        assert!(records.redeem(author, "CCCC2222", at(6)).0.is_some() && !records.is_removed(&ada));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut records = AccessRecords::default();
        request_pairing(&mut records, "telegram:user:1", at(0), "AAAA2222");
        request_pairing(&mut records, "telegram:user:2", at(0), "BBBB2222");
        records.approve("AAAA2222", Role::Member, &operator(), at(1));
        records.approve("XXXX2222", Role::Member, &operator(), at(1));
        let text = serde_json::to_string(&records).unwrap();
        assert_eq!(serde_json::from_str::<AccessRecords>(&text).unwrap(), records);
        assert!(serde_json::from_str::<AccessRecords>(r#"{"peoples": []}"#).is_err());
    }

    #[test]
    fn a_code_has_eight_clear_letters_and_is_read_as_it_is_typed() {
        let codes: std::collections::BTreeSet<String> = (0..1000).map(|_| fresh().unwrap()).collect();
        assert_eq!(codes.len(), 1000, "a code came twice");
        for code in &codes {
            assert_eq!(code.len(), LENGTH);
            assert!(code.bytes().all(|letter| LETTERS.contains(&letter)), "{code}");
            let (head, tail) = code.split_at(4);
            assert_eq!(normal(&format!(" {}-{} ", head.to_lowercase(), tail)), *code);
        }
        let used: std::collections::BTreeSet<u8> = codes.iter().flat_map(|code| code.bytes()).collect();
        assert_eq!(used.len(), LETTERS.len(), "some letter never comes");
    }
}
