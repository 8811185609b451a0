//! The daemon's messages about memory and tasks.

use crate::domain::{CoreFile, Language, ScopeKey, TaskNote};
use crate::phrases::conversation;

/// A message about memory or tasks.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryPhrase {
    /// Core memory of the scopes of this thread.
    Here(Vec<(ScopeKey, CoreFile)>),
    /// The list of tasks.
    Tasks(Vec<TaskNote>),
    /// The files cannot be read.
    Unreadable,
}

impl MemoryPhrase {
    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Here(all) => here(all, language),
            Self::Tasks(tasks) => told(tasks, language),
            Self::Unreadable => conversation::memory_unreadable(language).into(),
        }
    }
}

fn here(all: &[(ScopeKey, CoreFile)], language: Language) -> String {
    let mut parts: Vec<String> = all.iter().map(|(scope, file)| one(scope, file, language)).collect();
    if !all.iter().any(|(scope, _)| scope.is_of_one_person()) {
        parts.push(conversation::memory_of_person_is_private(language).into());
    }
    parts.join("\n\n")
}

fn one(scope: &ScopeKey, found: &CoreFile, language: Language) -> String {
    let file = format!("`.ship/{}`", scope.core_file());
    let text = found.text.trim();
    if text.is_empty() {
        return conversation::memory_empty(scope, &file, language);
    }
    let mut text = format!("{}\n\n{text}", conversation::memory_heading(scope, &file, language));
    if found.cut {
        text.push_str(&format!("\n\n{}", conversation::memory_cut(language)));
    }
    text
}

fn told(tasks: &[TaskNote], language: Language) -> String {
    if tasks.is_empty() {
        return conversation::no_tasks(language).into();
    }
    let lines: Vec<String> = tasks.iter().map(|task| format!("- {} (`{}`)", task.title, task.file)).collect();
    format!("{}\n\n{}", lines.join("\n"), conversation::tasks_only_listed(language))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> CoreFile {
        CoreFile { text: text.to_owned(), ..CoreFile::default() }
    }

    #[test]
    fn it_is_told_what_is_remembered_and_where_it_stands() {
        let ann = ScopeKey::Person("telegram:user:7".parse().unwrap());
        let all = vec![(ScopeKey::Project, found("- ships on Fridays")), (ann.clone(), found(""))];
        assert_eq!(
            MemoryPhrase::Here(all).say(Language::En),
            "**About this project** (`.ship/memory/project.md`):\n\n- ships on Fridays\n\n\
             I remember nothing about you yet. It would be in `.ship/memory/users/telegram%3Auser%3A7.md`."
        );
        let cut = CoreFile { cut: true, ..found("- 喜欢茶") };
        let said = MemoryPhrase::Here(vec![(ann, cut)]).say(Language::Zh);
        assert!(said.starts_with("**关于你**") && said.contains("只读到这里"), "{said}");
        let group = MemoryPhrase::Here(vec![(ScopeKey::Project, found(""))]);
        assert!(group.say(Language::En).contains("nobody else reads along"));
    }

    #[test]
    fn everything_is_said_in_both_languages() {
        let task = TaskNote { file: "a.md".to_owned(), title: "Water".to_owned() };
        for phrase in [
            MemoryPhrase::Here(vec![(ScopeKey::Project, found(""))]),
            MemoryPhrase::Tasks(Vec::new()),
            MemoryPhrase::Tasks(vec![task]),
            MemoryPhrase::Unreadable,
        ] {
            assert_eq!(Language::of(&phrase.say(Language::En)), Language::En, "{phrase:?}");
            assert_eq!(Language::of(&phrase.say(Language::Zh)), Language::Zh, "{phrase:?}");
        }
    }
}
