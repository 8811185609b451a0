//! Tasks: `tasks/*.md`, written by people.

use std::io;

use super::files::MemoryFiles;
use crate::domain::TaskNote;

const FOLDER: &str = "tasks";
/// Most tasks in a list.
const MOST_TASKS: usize = 100;
/// How much of a file is searched for a title.
const TITLE_BYTES: u64 = 4 * 1024;

/// All tasks, by file name.
pub(super) fn tasks(files: &impl MemoryFiles) -> io::Result<Vec<TaskNote>> {
    let mut names = files.names(FOLDER)?;
    names.retain(|name| name.ends_with(".md"));
    names.truncate(MOST_TASKS);
    let note = |file: String| {
        let begin = files.read(&format!("{FOLDER}/{file}"), 0, TITLE_BYTES)?;
        let name = file.strip_suffix(".md").unwrap_or(&file).to_owned();
        let title = heading(&String::from_utf8_lossy(&begin)).unwrap_or(name);
        Ok(TaskNote { file, title })
    };
    names.into_iter().map(note).collect()
}

/// The first heading of a text.
fn heading(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('#'));
    lines
        .map(|line| line.trim_matches(|c: char| c == '#' || c.is_whitespace()).to_owned())
        .find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::HeldFiles;
    use super::*;

    #[test]
    fn tasks_go_by_their_first_heading_or_their_name() {
        let files = HeldFiles::default();
        assert_eq!(tasks(&files).unwrap(), []);
        for (name, text) in [
            ("b.md", "words\n## Water the plants ##\n# Later"),
            ("a.md", "no heading"),
            ("c.txt", "# Not a task"),
        ] {
            files.replace(&format!("tasks/{name}"), text.as_bytes()).unwrap();
        }
        let tasks = tasks(&files).unwrap();
        let told: Vec<_> = tasks.iter().map(|task| (task.file.as_str(), task.title.as_str())).collect();
        assert_eq!(told, [("a.md", "a"), ("b.md", "Water the plants")]);
    }
}
