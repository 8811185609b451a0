//! The thread of a chat, and the commands that return to it. Pure.

use std::path::Path;

use super::question::ShownQuestion;
use super::remark::Remark;
use crate::domain::{Language, Platform, ThreadId};

/// The default thread of typed conversations.
pub(super) const DEFAULT_THREAD: &str = "terminal";

/// The thread that `--thread` names: by a name, or by the id that `threads list` prints.
pub(super) fn thread_of(name: &str, platform: &Platform) -> Result<ThreadId, String> {
    match name.parse::<ThreadId>() {
        Ok(thread) => Ok(thread),
        Err(_) => ThreadId::of_chat(platform, name).map_err(|error| error.to_string()),
    }
}

/// A new thread for a single message.
pub(super) fn fresh_thread(platform: &Platform) -> Result<ThreadId, String> {
    // The end of the id is random: 48 bits.
    let id = uuid::Uuid::now_v7().simple().to_string();
    let name = id.get(20..).unwrap_or(&id);
    ThreadId::of_chat(platform, name).map_err(|error| error.to_string())
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ChatContext<'a> {
    /// The project directory, as the command line named it.
    pub(super) project: &'a Path,
    pub(super) thread: &'a ThreadId,
    /// Whether the daemon outlives the chat.
    pub(super) daemon: bool,
}

impl ChatContext<'_> {
    /// The command that returns to this thread.
    pub(super) fn chat_command(&self) -> String {
        let thread = self.thread_name();
        let thread = if thread == DEFAULT_THREAD { String::new() } else { format!(" --thread {thread}") };
        format!("shipagent chat{}{thread}", self.directory())
    }

    /// How to answer each open question after the chat.
    pub(super) fn how_to_answer(&self, questions: &[ShownQuestion], language: Language) -> Vec<String> {
        let (directory, thread) = (self.directory(), self.thread_name());
        let answer = |question: &ShownQuestion| {
            let name = question.name();
            let reply = question.replies(Language::En).into_iter().next().unwrap_or_default();
            let chat = format!("shipagent chat{directory} --thread {thread} {}", quoted(&reply));
            let approvals = format!("shipagent approvals approve {name}{directory}");
            let word =
                Remark::StaysOpen { name: &name, chat: &chat, approvals: &approvals, daemon: self.daemon };
            word.say(language)
        };
        questions.iter().map(answer).collect()
    }

    /// The value for `--thread`: the chat name where that is a plain word, else the thread id.
    fn thread_name(&self) -> String {
        let chat = self.thread.chat();
        let plain = chat.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        let whole = self.thread.topic().is_none() && !self.thread.is_of_one_person();
        if plain && whole { quoted(&chat) } else { quoted(self.thread.as_str()) }
    }

    fn directory(&self) -> String {
        if self.project == Path::new(".") {
            return String::new();
        }
        format!(" -C {}", quoted(&self.project.to_string_lossy()))
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:%+@=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_comes_back_names_project_and_thread_where_needed() {
        for (project, thread, command) in [
            (".", "cli:chat:terminal", "shipagent chat"),
            ("a b", "cli:chat:terminal", "shipagent chat -C 'a b'"),
            (".", "cli:chat:work", "shipagent chat --thread work"),
            (".", "cli:chat:a%20b", "shipagent chat --thread cli:chat:a%20b"),
            ("it's", "cli:chat:x:topic:1", r"shipagent chat -C 'it'\''s' --thread cli:chat:x:topic:1"),
        ] {
            let thread: ThreadId = thread.parse().unwrap();
            let context = ChatContext { project: Path::new(project), thread: &thread, daemon: true };
            assert_eq!(context.chat_command(), command);
            let cli: Platform = "cli".parse().unwrap();
            assert_eq!(thread_of(thread.as_str(), &cli), Ok(thread));
        }
    }

    #[test]
    fn a_thread_is_named_or_new() {
        let cli: Platform = "cli".parse().unwrap();
        assert_eq!(thread_of("a:b", &cli).unwrap().as_str(), "cli:chat:a%3Ab");
        assert!(thread_of("", &cli).is_err());
        let (one, other) = (fresh_thread(&cli).unwrap(), fresh_thread(&cli).unwrap());
        assert!(one != other && one.chat().len() == 12, "{one} {other}");
    }
}
