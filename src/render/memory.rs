//! The daemon's messages about memory.

use crate::domain::{
    ChangeRefusal, CoreFile, Language, LedgerLine, ScopeKey, item_blocks, read_item, replace_block,
};
use crate::phrases::conversation;

/// A message about memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryPhrase {
    /// Core memory of the scopes of this thread.
    Here(Vec<ShownMemory>),
    Forgotten(String),
    Undone,
    /// How `/memory` is used.
    HowTo,
    /// The author may not change this memory.
    NotTheirs,
    Refused(ChangeRefusal),
    /// How many items `/forget me` would remove.
    ForgetMe(usize),
    /// How many items it has removed.
    ForgotMe(usize),
    /// How many items it has removed, together with what was said.
    ForgotEverything(usize),
    ForgetMeInPrivate,
    ForgetMeHowTo,
    /// The files cannot be read.
    Unreadable,
    /// Why a call is asked about that would be allowed.
    QuotesNote,
    /// Whether so many notes go into core memory.
    KeepThese(usize),
    /// The lines that would be added, to which file, and how to choose.
    KeepDetails {
        file: String,
        diff: String,
    },
}

/// The core memory of a scope, and the newest changes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownMemory {
    pub scope: ScopeKey,
    pub file: CoreFile,
    pub changes: Vec<LedgerLine>,
}

impl MemoryPhrase {
    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Here(all) => here(all, language),
            Self::Unreadable => conversation::memory_unreadable(language).into(),
            Self::Forgotten(id) => conversation::memory_forgotten(id, language),
            Self::Undone => conversation::memory_undone(language).into(),
            Self::HowTo => conversation::memory_how_to(language).into(),
            Self::NotTheirs => conversation::memory_not_theirs(language).into(),
            Self::Refused(ChangeRefusal::TooLarge { tokens, now }) => {
                conversation::memory_too_large(*tokens, *now, language)
            }
            Self::Refused(ChangeRefusal::NoSuchItem(id)) => conversation::memory_no_item(id, language),
            Self::Refused(refusal) => conversation::memory_refused(refusal, language).into(),
            Self::ForgetMe(count) => conversation::forget_me_ask(*count, language),
            Self::ForgotMe(count) => conversation::forget_me_done(*count, language),
            Self::ForgotEverything(count) => conversation::forget_me_everything(*count, language),
            Self::ForgetMeInPrivate => conversation::forget_me_in_private(language).into(),
            Self::ForgetMeHowTo => conversation::forget_me_how_to(language).into(),
            Self::QuotesNote => conversation::quotes_note(language).into(),
            Self::KeepThese(count) => conversation::keep_these(*count, language),
            Self::KeepDetails { file, diff } => {
                format!("```diff\n{}\n```\n\n{}", diff.trim_end(), conversation::keep_how(file, language))
            }
        }
    }
}

fn here(all: &[ShownMemory], language: Language) -> String {
    let mut parts: Vec<String> = all.iter().map(|shown| one(shown, language)).collect();
    if !all.iter().any(|shown| shown.scope.is_of_one_person()) {
        parts.push(conversation::memory_of_person_is_private(language).into());
    }
    parts.join("\n\n")
}

fn one(ShownMemory { scope, file, changes }: &ShownMemory, language: Language) -> String {
    let name = format!("`.ship/{}`", scope.core_file());
    if file.text.trim().is_empty() {
        return conversation::memory_empty(scope, &name, language);
    }
    let heading = conversation::memory_heading(scope, &name, language);
    let mut text = format!("{heading}\n\n{}", with_handles(file.text.trim(), changes, language));
    if file.cut {
        text.push_str(&format!("\n\n{}", conversation::memory_cut(language)));
    }
    text
}

/// A text whose items say by what name they can be forgotten, who changed them last, and when.
fn with_handles(text: &str, changes: &[LedgerLine], language: Language) -> String {
    let mut out = text.to_owned();
    let count = item_blocks(text).len();
    for number in (0..count).rev() {
        let current = out.clone();
        let Some(block) = item_blocks(&current).get(number).copied() else { continue };
        let item = read_item(block);
        let id = item.handle();
        let known = changes.iter().find(|line| line.id.as_ref() == Some(&id));
        let text = item.text.replace('\n', "\n  ");
        let line = match known.and_then(|line| Some((line.by.as_ref()?, line.at))) {
            Some((by, at)) => conversation::memory_item(&text, &id, by.as_str(), &at.day(), language),
            None => conversation::memory_item_by_hand(&text, &id, language),
        };
        out = replace_block(&current, block.trim_end_matches('\n'), &line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(scope: &ScopeKey, text: &str) -> ShownMemory {
        let file = CoreFile { text: text.to_owned(), ..CoreFile::default() };
        ShownMemory { scope: scope.clone(), file, changes: Vec::new() }
    }

    #[test]
    fn it_is_told_what_is_remembered_and_where_it_stands() {
        let ann = ScopeKey::Person("telegram:user:7".parse().unwrap());
        let project = ScopeKey::Project;
        let all = vec![found(&project, "- ships on Fridays <!-- k1 -->\n- by hand"), found(&ann, "")];
        assert_eq!(
            MemoryPhrase::Here(all).say(Language::En),
            "**About this project** (`.ship/memory/project.md`):\n\n- ships on Fridays (`k1`)\n\
             - by hand (`hc9616c`)\n\n\
             I remember nothing about you yet. It would be in `.ship/memory/users/telegram%3Auser%3A7.md`."
        );
        let mut cut = found(&ann, "- 喜欢茶");
        cut.file.cut = true;
        let said = MemoryPhrase::Here(vec![cut]).say(Language::Zh);
        assert!(said.starts_with("**关于你**") && said.contains("只读到这里"), "{said}");
        let group = MemoryPhrase::Here(vec![found(&ScopeKey::Project, "")]);
        assert!(group.say(Language::En).contains("nobody else reads along"));
    }

    #[test]
    fn everything_is_said_in_both_languages() {
        for phrase in [
            MemoryPhrase::Here(vec![found(&ScopeKey::Project, "")]),
            MemoryPhrase::Unreadable,
            MemoryPhrase::Forgotten("k1".to_owned()),
            MemoryPhrase::Undone,
            MemoryPhrase::HowTo,
            MemoryPhrase::NotTheirs,
            MemoryPhrase::Refused(ChangeRefusal::TooLarge { tokens: 2100, now: 1900 }),
            MemoryPhrase::Refused(ChangeRefusal::NoSuchItem("k1".to_owned())),
            MemoryPhrase::Refused(ChangeRefusal::Changed),
            MemoryPhrase::ForgetMe(3),
            MemoryPhrase::ForgotMe(3),
            MemoryPhrase::ForgetMeInPrivate,
            MemoryPhrase::ForgetMeHowTo,
        ] {
            assert_eq!(Language::of(&phrase.say(Language::En)), Language::En, "{phrase:?}");
            assert_eq!(Language::of(&phrase.say(Language::Zh)), Language::Zh, "{phrase:?}");
        }
    }
}
