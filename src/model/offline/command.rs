//! The commands of the offline model, one per line of a message. Pure.

use serde_json::{Value, json};

/// A tool call with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfflineCommand {
    pub tool: &'static str,
    pub arguments: Value,
}

/// A verb that takes the rest of its line: its spellings, the tool, the name of the argument.
const VERBS: &[(&[&str], &str, &str)] = &[
    (&["read", "读", "读取"], "read_file", "path"),
    (&["list", "ls", "列出"], "list_files", "path"),
    (&["search", "find", "搜索", "查找"], "search_files", "query"),
    (&["run", "exec", "运行", "执行"], "exec_shell", "command"),
];

const ASKS_FOR_TIME: &[&str] =
    &["time", "what time is it", "what's the time", "现在几点", "现在几点了", "几点了", "时间"];

/// The commands in a message, in order; other lines are ignored.
pub(crate) fn commands(message: &str) -> Vec<OfflineCommand> {
    message.lines().filter_map(command).collect()
}

fn command(line: &str) -> Option<OfflineCommand> {
    let line = line.trim();
    let bare = line.trim_end_matches(['?', '？', '!', '！', '.', '。', ':', '：', ' ']).to_lowercase();
    if ASKS_FOR_TIME.contains(&bare.as_str()) {
        return Some(OfflineCommand { tool: "current_time", arguments: json!({}) });
    }
    let (verb, rest) = line.split_once([':', '：'])?;
    let (verb, rest) = (verb.trim().to_lowercase(), rest.trim());
    let (_, tool, argument) = VERBS.iter().find(|(verbs, ..)| verbs.contains(&verb.as_str()))?;
    // Only the directory has a default.
    let rest = if rest.is_empty() && *tool == "list_files" { "." } else { rest };
    (!rest.is_empty()).then(|| OfflineCommand { tool, arguments: json!({ *argument: rest }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_in_both_languages() {
        for (line, tool, arguments) in [
            ("read: README.md", "read_file", json!({"path": "README.md"})),
            ("  Read:src/a b.rs ", "read_file", json!({"path": "src/a b.rs"})),
            ("读：说明.md", "read_file", json!({"path": "说明.md"})),
            ("list: src", "list_files", json!({"path": "src"})),
            ("list:", "list_files", json!({"path": "."})),
            ("列出: src", "list_files", json!({"path": "src"})),
            ("search: a: b", "search_files", json!({"query": "a: b"})),
            ("搜索：待办", "search_files", json!({"query": "待办"})),
            ("run: echo hi: there", "exec_shell", json!({"command": "echo hi: there"})),
            ("运行：ls -l", "exec_shell", json!({"command": "ls -l"})),
            ("time", "current_time", json!({})),
            ("What time is it?", "current_time", json!({})),
            ("现在几点？", "current_time", json!({})),
        ] {
            assert_eq!(commands(line), vec![OfflineCommand { tool, arguments }], "{line}");
        }
    }

    #[test]
    fn other_words_are_no_commands() {
        for line in ["", "read", "read:", "hello: world", "time flies", "I read: a lot", "读万卷书", "run:"]
        {
            assert_eq!(commands(line), vec![], "{line}");
        }
    }

    #[test]
    fn several_lines_are_several_commands() {
        let tools: Vec<&str> = commands("please\nread: a\n\nlist: b\n现在几点")
            .into_iter()
            .map(|command| command.tool)
            .collect();
        assert_eq!(tools, ["read_file", "list_files", "current_time"]);
    }
}
