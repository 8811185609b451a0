//! The daemon's messages about memory.

use crate::domain::{
    ChangeRefusal, CoreFile, Language, LedgerLine, LedgerOp, NewestNotes, ScopeKey, ShownNote, Timestamp,
    item_blocks, read_item, replace_block,
};
use crate::phrases::conversation;

/// Longest text of a change or a note that is shown.
const SHOWN_CHARS: usize = 200;

/// A message about memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryPhrase {
    /// Core memory of the scopes of this thread.
    Here(Vec<ShownMemory>),
    Forgotten(String),
    /// The change that was taken back, as far as it is known.
    Undone(Option<Box<LedgerLine>>),
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
    CarriesMemory,
    AfterToolOutput,
    /// Whether so many notes go into core memory.
    KeepThese(usize),
    /// The lines that would be added, to which file, and how to choose.
    KeepDetails {
        file: String,
        diff: String,
    },
}

/// The memory of a scope, and the newest changes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownMemory {
    pub scope: ScopeKey,
    pub file: CoreFile,
    pub changes: Vec<LedgerLine>,
    pub notes: NewestNotes,
}

/// Notes as list items that say by what name each can be forgotten.
pub fn notes_with_handles(newest: &NewestNotes, language: Language) -> String {
    let line = |note: &ShownNote| {
        let text = shortened(&note.item.text);
        let day = note.item.at.map(|at| Timestamp::from_millis(at).day()).unwrap_or_default();
        let id = note.item.handle();
        match note.reviewed {
            true => conversation::memory_note(&text, &id, &day, language),
            false => conversation::memory_note_unreviewed(&text, &id, &day, language),
        }
    };
    let mut lines: Vec<String> = newest.notes.iter().map(line).collect();
    if newest.has_more {
        lines.push("- …".to_owned());
    }
    lines.join("\n")
}

/// The beginning of a text, on one line.
fn shortened(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = one_line.chars().take(SHOWN_CHARS).collect();
    if shown == one_line { shown } else { format!("{shown}…") }
}

impl MemoryPhrase {
    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Here(all) => here(all, language),
            Self::Unreadable => conversation::memory_unreadable(language).into(),
            Self::Forgotten(id) => conversation::memory_forgotten(id, language),
            Self::Undone(taken_back) => undone(taken_back.as_deref(), language),
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
            Self::CarriesMemory => conversation::carries_memory(language).into(),
            Self::AfterToolOutput => conversation::after_tool_output(language).into(),
            Self::KeepThese(count) => conversation::keep_these(*count, language),
            Self::KeepDetails { file, diff } => {
                format!("```diff\n{}\n```\n\n{}", diff.trim_end(), conversation::keep_how(file, language))
            }
        }
    }
}

/// What is so again after a change was taken back.
fn undone(taken_back: Option<&LedgerLine>, language: Language) -> String {
    let Some(line) = taken_back else { return conversation::memory_undone(language).into() };
    let text = |text: &Option<String>| text.as_deref().map(shortened);
    match (line.op, &line.id, text(&line.before), text(&line.after)) {
        (LedgerOp::Add, _, _, Some(added)) => conversation::memory_add_undone(&added, language),
        (LedgerOp::Replace, Some(_), Some(before), Some(after)) => {
            conversation::memory_replace_undone(&before, &after, language)
        }
        (LedgerOp::Replace, None, ..) => {
            let section = line.section.as_deref().unwrap_or_default();
            conversation::memory_section_undone(section, language)
        }
        (LedgerOp::Edit, ..) => {
            conversation::memory_edit_undone(&format!("`.ship/{}`", line.scope.core_file()), language)
        }
        _ => conversation::memory_undone(language).into(),
    }
}

fn here(all: &[ShownMemory], language: Language) -> String {
    let mut parts: Vec<String> = all.iter().map(|shown| one(shown, language)).collect();
    if !all.iter().any(|shown| shown.scope.is_of_one_person()) {
        parts.push(conversation::memory_of_person_is_private(language).into());
    }
    parts.join("\n\n")
}

fn one(ShownMemory { scope, file, changes, notes }: &ShownMemory, language: Language) -> String {
    let name = format!("`.ship/{}`", scope.core_file());
    let core = file.text.trim();
    if core.is_empty() && notes.notes.is_empty() {
        return conversation::memory_empty(scope, &name, language);
    }
    let mut parts = vec![conversation::memory_heading(scope, &name, language)];
    if !core.is_empty() {
        parts.push(with_handles(core, changes, language));
    }
    if file.cut {
        parts.push(conversation::memory_cut(language).into());
    }
    if !notes.notes.is_empty() {
        parts.push(conversation::memory_notes_heading(language).into());
        parts.push(notes_with_handles(notes, language));
    }
    parts.join("\n\n")
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
    use crate::domain::MemoryItem;

    fn found(scope: &ScopeKey, text: &str) -> ShownMemory {
        let file = CoreFile { text: text.to_owned(), ..CoreFile::default() };
        ShownMemory { scope: scope.clone(), file, changes: Vec::new(), notes: NewestNotes::default() }
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
    fn the_newest_notes_are_shown_with_the_names_by_which_they_are_forgotten() {
        let note = |id: &str, text: &str, reviewed| ShownNote {
            item: MemoryItem { id: Some(id.to_owned()), at: Some(0), author: None, text: text.to_owned() },
            reviewed,
        };
        let notes = vec![note("k1", "likes tea", true), note("k2", "plays\nchess", false)];
        let shown =
            ShownMemory { notes: NewestNotes { notes, has_more: true }, ..found(&ScopeKey::Project, "") };
        assert_eq!(
            MemoryPhrase::Here(vec![shown]).say(Language::En).split("\n\n").take(3).collect::<Vec<_>>(),
            [
                "**About this project** (`.ship/memory/project.md`):",
                "Newest notes, which are only found by search:",
                "- likes tea (`k1`, 1970-01-01)\n- plays chess (`k2`, 1970-01-01, nobody has confirmed it)\n- …",
            ]
        );
    }

    #[test]
    fn everything_is_said_in_both_languages() {
        for phrase in [
            MemoryPhrase::Here(vec![found(&ScopeKey::Project, "")]),
            MemoryPhrase::Unreadable,
            MemoryPhrase::Forgotten("k1".to_owned()),
            MemoryPhrase::Undone(None),
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
