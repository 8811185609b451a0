//! Thread files as a daemon leaves them, made in bulk.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::{Value, json};
use shipagent::uimessage::UiMessage;

const WORDS: &str = "the index is a cache that checks itself so a missing one costs a single pass over the file \
     while every later question is answered from twenty four bytes a line and the newest lines alone";

/// Many threads of a few exchanges each.
pub(crate) fn many(project: &Path, count: usize) {
    for number in 0..count {
        let chat = format!("n{number:05}");
        write(project, &chat, 1 + number % 8);
    }
}

/// One thread of this many messages.
pub(crate) fn long(project: &Path, chat: &str, messages: usize) {
    write(project, chat, messages / 2);
}

/// One thread of this many messages with these words.
pub(crate) fn spoken(project: &Path, chat: &str, messages: usize, mut text: impl FnMut(usize) -> String) {
    let mut number = 0;
    let mut words = || {
        number += 1;
        text(number)
    };
    write_with(project, chat, messages / 2, |_| [words(), words()]);
}

/// The file of a chat.
pub(crate) fn path(project: &Path, chat: &str) -> PathBuf {
    project.join(format!(".ship/threads/api%3Achat%3A{chat}.jsonl"))
}

fn write(project: &Path, chat: &str, exchanges: usize) {
    // Short questions and answers of all lengths, as people and models write them.
    write_with(project, chat, exchanges, |number| {
        let question = WORDS.chars().take(20 + number * 7 % 90).collect();
        [question, WORDS.chars().cycle().take(120 + number * 37 % 700).collect()]
    });
}

fn write_with(project: &Path, chat: &str, exchanges: usize, mut texts: impl FnMut(usize) -> [String; 2]) {
    let path = path(project, chat);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = BufWriter::new(File::create(path).unwrap());
    for number in 0..exchanges {
        for message in exchange(chat, number, texts(number)) {
            // A line that the daemon cannot read would cost it nothing.
            assert!(number > 0 || UiMessage::deserialize(&message).is_ok(), "{message}");
            writeln!(file, "{message}").unwrap();
        }
    }
    file.flush().unwrap();
}

fn exchange(chat: &str, number: usize, [question, answer]: [String; 2]) -> [Value; 2] {
    let (thread, run) = (format!("api:chat:{chat}"), format!("run_{chat}_{number}"));
    let at = 1_780_000_000_000_usize + number * 60_000;
    let id = format!("m-{chat}-{number}");
    [
        json!({
            "id": id, "role": "user",
            "metadata": { "platform": "api", "threadId": thread, "authorId": "api:user:operator", "messageId": id,
                "timestamp": at, "correlationId": run },
            "parts": [{ "type": "text", "text": question }],
        }),
        json!({
            "id": format!("{id}-a"), "role": "assistant",
            "metadata": { "platform": "api", "threadId": thread, "timestamp": at + 900, "correlationId": run,
                "status": "done" },
            "parts": [{ "type": "step-start" }, { "type": "text", "text": answer, "state": "done" }],
        }),
    ]
}
