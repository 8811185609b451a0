//! What is remembered from one conversation to the next.

use super::AuthorId;

/// Whom something is remembered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    /// Everybody who speaks with the agent.
    Project,
    /// One person, in private.
    Person(AuthorId),
}

impl MemoryScope {
    /// The file it is in, from the state directory down.
    pub fn file(&self) -> String {
        match self {
            Self::Project => "memory/project.md".to_owned(),
            Self::Person(person) => format!("memory/users/{}.md", person.file_name()),
        }
    }
}

/// What is remembered for somebody, as it stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    pub text: String,
    /// Whether the file has more than is read.
    pub cut: bool,
}

/// A task as it stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNote {
    /// The name of the file.
    pub file: String,
    /// Its first heading, or the name of the file without its ending.
    pub title: String,
}
