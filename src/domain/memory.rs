//! Memory and tasks that outlive a conversation.

use super::AuthorId;

/// The scope of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    /// Shared by all threads.
    Project,
    /// One person, in private threads.
    Person(AuthorId),
}

impl MemoryScope {
    /// Its file, relative to the state directory.
    pub fn file(&self) -> String {
        match self {
            Self::Project => "memory/project.md".to_owned(),
            Self::Person(person) => format!("memory/users/{}.md", person.file_name()),
        }
    }
}

/// The stored memory of a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    pub text: String,
    /// Whether the file is longer than what was read.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNote {
    pub file: String,
    /// Its first heading, or the file name without its extension.
    pub title: String,
}
