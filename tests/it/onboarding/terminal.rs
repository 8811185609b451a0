//! `shipagent init` in a pseudo-terminal.

use super::provider::{ANSWER, KEY, nowhere, provider};
use crate::fakes::daemon::Project;
use crate::terminal::pty::Terminal;

/// The words of one language that the test waits for.
struct Words {
    number: &'static str,
    key: &'static str,
    refused: &'static str,
    unreachable: &'static str,
    address: &'static str,
    name: &'static str,
    purpose: &'static str,
    platforms: &'static str,
}

const EN: Words = Words {
    number: "Number [1]: ",
    key: "Enter for none: ",
    refused: "The server refused the key.",
    unreachable: "The server could not be reached",
    address: "up to /v1: ",
    name: "Name of the agent",
    purpose: "What is it for?",
    platforms: "[none]: ",
};

const ZH: Words = Words {
    number: "编号 [1]: ",
    key: "不需要则按 Enter: ",
    refused: "服务器拒绝了这个密钥。",
    unreachable: "无法连接服务器",
    address: "（写到 /v1 为止）: ",
    name: "智能体的名称",
    purpose: "它的用途是什么？",
    platforms: "[none]: ",
};

async fn from_the_binary_to_the_first_answer(language: &str, words: Words) {
    let model = provider(true).await;
    let project = Project::empty();
    let mut terminal = Terminal::run(&project.command(&["init"]), &[]);
    terminal.until("Number [1]: ");
    terminal.press(&format!("{language}\n"));
    // A server that is not there is left for another one.
    terminal.until(words.number);
    terminal.press("other\n");
    terminal.until(words.address);
    terminal.press(&format!("{}\n", nowhere()));
    terminal.until(words.key);
    terminal.press("\n");
    terminal.until(words.unreachable);
    terminal.until(words.number);
    terminal.press("2\n");
    terminal.until(words.number);
    terminal.press(&format!("{}\n", model.url()));
    terminal.until(words.key);
    terminal.press("sk-wrong-0123456789\n");
    let mut shown = terminal.until(words.refused);
    terminal.until(words.number);
    terminal.press("1\n");
    terminal.until(words.key);
    terminal.press(&format!("{KEY}\n"));
    shown.push_str(&terminal.until("fake-2"));
    terminal.until(words.number);
    terminal.press("2\n");
    terminal.until(words.name);
    terminal.press("harbour\n");
    terminal.until(words.purpose);
    terminal.press("Ships.\n");
    terminal.until(words.platforms);
    terminal.press("\n");
    let (code, rest) = terminal.end();
    assert_eq!(code, Some(0), "{rest}");
    assert!(!shown.contains("sk-") && !rest.contains("sk-"), "the key is not shown: {shown}{rest}");

    let ship = std::fs::read_to_string(project.path().join("ship.json")).unwrap();
    assert!(!ship.contains(KEY) && ship.contains("\"fake-2\""), "{ship}");
    let answered = project.run(&["chat", "hello"]);
    assert_eq!((answered.code, answered.stdout.trim()), (Some(0), ANSWER), "{answered:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_the_binary_to_the_first_answer_in_english() {
    from_the_binary_to_the_first_answer("1", EN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_the_binary_to_the_first_answer_in_chinese() {
    from_the_binary_to_the_first_answer("2", ZH).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_c_at_the_key_leaves_nothing_and_restores_the_terminal() {
    let project = Project::empty();
    let mut terminal = Terminal::run(&project.command(&["init"]), &[]);
    terminal.until("Number [1]: ");
    terminal.press("1\n");
    terminal.until("Number [1]: ");
    terminal.press("deepseek\n");
    terminal.until("Enter skips: ");
    terminal.press("sk-half\u{3}");
    let (code, rest) = terminal.end();
    assert_eq!(code, Some(1), "{rest}");
    assert_eq!(std::fs::read_dir(project.path()).unwrap().count(), 0);
}
