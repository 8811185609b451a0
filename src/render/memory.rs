//! What is said about what is remembered and about tasks.

use crate::domain::{Language, MemoryScope, Remembered, TaskNote};

/// Something that is said about memory.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryPhrase {
    /// What is remembered here, for whom; nothing where there is nothing. In private the person's own comes second.
    Here(Vec<(MemoryScope, Option<Remembered>)>),
    /// The tasks there are.
    Tasks(Vec<TaskNote>),
    /// The files cannot be read.
    Unreadable,
}

impl MemoryPhrase {
    /// The words, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match (self, language) {
            (Self::Here(all), _) => here(all, language),
            (Self::Tasks(tasks), _) => told(tasks, language),
            (Self::Unreadable, Language::En) => {
                "I cannot read that now; the operator finds the reason in the log.".into()
            }
            (Self::Unreadable, Language::Zh) => "现在读不了，原因请运维者查看日志。".into(),
        }
    }
}

fn here(all: &[(MemoryScope, Option<Remembered>)], language: Language) -> String {
    let mut parts: Vec<String> =
        all.iter().map(|(scope, found)| one(scope, found.as_ref(), language)).collect();
    if !all.iter().any(|(scope, _)| matches!(scope, MemoryScope::Person(_))) {
        parts.push(match language {
            Language::En => {
                "What I remember about you alone I use and show only where nobody else reads along.".into()
            }
            Language::Zh => "只与你有关的记忆，仅在私聊中使用和显示。".into(),
        });
    }
    parts.join("\n\n")
}

fn one(scope: &MemoryScope, found: Option<&Remembered>, language: Language) -> String {
    let file = format!("`.ship/{}`", scope.file());
    let Some(Remembered { text, cut }) = found else {
        return match (scope, language) {
            (MemoryScope::Project, Language::En) => {
                format!("I remember nothing about this project yet. It would be in {file}.")
            }
            (MemoryScope::Project, Language::Zh) => {
                format!("关于这个项目还没有任何记忆。记忆会放在 {file}。")
            }
            (MemoryScope::Person(_), Language::En) => {
                format!("I remember nothing about you yet. It would be in {file}.")
            }
            (MemoryScope::Person(_), Language::Zh) => format!("关于你还没有任何记忆。记忆会放在 {file}。"),
        };
    };
    let head = match (scope, language) {
        (MemoryScope::Project, Language::En) => format!("**About this project** ({file}):"),
        (MemoryScope::Project, Language::Zh) => format!("**关于这个项目**（{file}）："),
        (MemoryScope::Person(_), Language::En) => format!("**About you** ({file}):"),
        (MemoryScope::Person(_), Language::Zh) => format!("**关于你**（{file}）："),
    };
    let more = match (cut, language) {
        (false, _) => "",
        (true, Language::En) => "\n\n*The file is longer; I read no more of it than this.*",
        (true, Language::Zh) => "\n\n*文件更长，我只读到这里。*",
    };
    format!("{head}\n\n{text}{more}")
}

fn told(tasks: &[TaskNote], language: Language) -> String {
    if tasks.is_empty() {
        return match language {
            Language::En => "There are no tasks: no file in `.ship/tasks/`.".into(),
            Language::Zh => "没有任务：`.ship/tasks/` 里没有文件。".into(),
        };
    }
    let lines: Vec<String> = tasks.iter().map(|task| format!("- {} (`{}`)", task.title, task.file)).collect();
    let note = match language {
        Language::En => "They are only listed: this version does not start tasks by itself yet.",
        Language::Zh => "这里只是列出：当前版本还不会自动执行任务。",
    };
    format!("{}\n\n{note}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Remembered> {
        Some(Remembered { text: text.to_owned(), cut: false })
    }

    #[test]
    fn it_is_told_what_is_remembered_and_where_it_stands() {
        let ann = MemoryScope::Person("telegram:user:7".parse().unwrap());
        let all = vec![(MemoryScope::Project, found("- ships on Fridays")), (ann.clone(), None)];
        assert_eq!(
            MemoryPhrase::Here(all).say(Language::En),
            "**About this project** (`.ship/memory/project.md`):\n\n- ships on Fridays\n\n\
             I remember nothing about you yet. It would be in `.ship/memory/users/telegram%3Auser%3A7.md`."
        );
        let cut = Remembered { text: "- 喜欢茶".to_owned(), cut: true };
        let said = MemoryPhrase::Here(vec![(ann, Some(cut))]).say(Language::Zh);
        assert!(said.starts_with("**关于你**") && said.contains("只读到这里"), "{said}");
        let group = MemoryPhrase::Here(vec![(MemoryScope::Project, None)]);
        assert!(group.say(Language::En).contains("nobody else reads along"));
    }

    #[test]
    fn everything_is_said_in_both_languages() {
        let task = TaskNote { file: "a.md".to_owned(), title: "Water".to_owned() };
        for phrase in [
            MemoryPhrase::Here(vec![(MemoryScope::Project, None)]),
            MemoryPhrase::Tasks(Vec::new()),
            MemoryPhrase::Tasks(vec![task]),
            MemoryPhrase::Unreadable,
        ] {
            assert_eq!(Language::of(&phrase.say(Language::En)), Language::En, "{phrase:?}");
            assert_eq!(Language::of(&phrase.say(Language::Zh)), Language::Zh, "{phrase:?}");
        }
    }
}
