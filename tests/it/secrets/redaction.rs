//! A secret of the environment, printed by tools and by the model in every common encoding: after the run no file of the
//! state, no answer over HTTP and no message on the platform has it in any of them.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::{FakeModel, Reply, Script, Seen};
use crate::fakes::telegram::server::FakeTelegram;

const SECRET: &str = "zQ8_vW3-kR6mT9/xB2nL5cJ7==";
const ANN: i64 = 7;

fn each(write: impl Fn(u8) -> String, between: &str) -> String {
    SECRET.bytes().map(write).collect::<Vec<_>>().join(between)
}

fn lines(text: &str, width: usize) -> String {
    text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join("\n")
}

fn base32(bytes: &[u8]) -> String {
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let value =
        |group: &[u8]| group.iter().fold(0, |value, bit| value << 1 | usize::from(*bit)) << (5 - group.len());
    bits.chunks(5).map(|group| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[value(group)])).collect()
}

/// The secret in each encoding.
fn encodings() -> Vec<String> {
    let hex = each(|byte| format!("{byte:02x}"), "");
    let letters: Vec<String> = SECRET.chars().map(String::from).collect();
    vec![
        SECRET.to_owned(),
        SECRET.to_uppercase(),
        SECRET.chars().rev().collect(),
        hex.clone(),
        hex.to_uppercase(),
        lines(&hex, 20),
        each(|byte| format!("{byte:02x}"), ":"),
        each(|byte| format!("{byte:02X}"), " "),
        each(|byte| format!("\\x{byte:02x}"), ""),
        each(|byte| format!("0x{byte:02x}"), ", "),
        each(|byte| byte.to_string(), " "),
        each(|byte| format!("{byte:03o}"), " "),
        each(|byte| format!("{byte:08b}"), " "),
        BASE64_STANDARD.encode(SECRET),
        BASE64_STANDARD.encode(format!("a{SECRET}b")),
        BASE64_STANDARD.encode(format!("ab{SECRET}b")),
        BASE64_URL_SAFE_NO_PAD.encode(format!("abc{SECRET}")),
        lines(&BASE64_STANDARD.encode(format!("x{SECRET}")), 13),
        base32(SECRET.as_bytes()),
        base32(format!("xy{SECRET}").as_bytes()).to_lowercase(),
        each(|byte| format!("%{byte:02X}"), ""),
        each(|byte| format!("%{byte:02x}"), ""),
        each(|byte| format!("%25{byte:02X}"), ""),
        each(|byte| format!("\\u{byte:04x}"), ""),
        each(|byte| format!("&#{byte};"), ""),
        each(|byte| format!("&#x{byte:X};"), ""),
        letters.join(" "),
        letters.join("-"),
        letters.join("\n"),
        letters.join("\u{200b}"),
        letters.join(", "),
        lines(SECRET, 5),
    ]
}

/// Every encoding in a text that is longer than a tool's output.
fn long_text() -> String {
    let mut text = String::new();
    for (number, encoding) in encodings().iter().enumerate() {
        writeln!(text, "--- {number}\n{encoding}").unwrap();
        text.push_str(&"Nothing to see in this line of the text.\n".repeat(100));
    }
    text
}

/// Reads every file, prints them all, sends three, writes one and stores a memory, and then answers with everything.
fn reply(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let since = messages.iter().rev().take_while(|message| message["role"] != "user");
    let calls = since.filter(|message| message["role"] == "tool").count();
    let count = encodings().len();
    let all = encodings().join("\n\n");
    let read: Vec<(&str, Value)> =
        (0..count).map(|number| ("read_file", json!({ "path": format!("enc/{number}.txt") }))).collect();
    match calls {
        0 => Reply::calls(read),
        calls if calls == count => Reply::calls([
            ("exec_shell", json!({ "command": "cat big.txt" })),
            ("exec_shell", json!({ "command": "cat enc/3.txt" })),
            ("search_files", json!({ "pattern": "zQ8", "path": "." })),
            ("send_file", json!({ "path": "enc/0.txt" })),
            ("send_file", json!({ "path": "enc/13.txt", "caption": SECRET })),
            ("send_file", json!({ "path": "big.txt" })),
            ("read_file", json!({ "path": format!("{SECRET}.txt") })),
        ]),
        calls if calls == count + 7 => Reply::calls([
            ("write_file", json!({ "path": "out.txt", "content": all })),
            ("exec_shell", json!({ "command": format!("echo '{}' >> out2.txt", encodings()[4]) })),
        ]),
        _ => {
            let pieces: Vec<String> =
                all.chars().collect::<Vec<_>>().chunks(7).map(|piece| piece.iter().collect()).collect();
            Reply::pieces(pieces.iter().map(String::as_str).chain([" … that was all of it, finished"]))
        }
    }
}

/// Fails where a text contains the secret in some encoding, plain or inside JSON.
fn assert_clean(what: &str, text: &str) {
    let unescaped = text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
    for (number, encoding) in encodings().iter().enumerate() {
        // The digits that base64 and base32 share with their neighbours do not count.
        let core: String =
            encoding.chars().skip(2).take(encoding.chars().count().saturating_sub(6)).collect();
        for text in [text, &unescaped] {
            if let Some(at) = text.find(&core) {
                let from = text.floor_char_boundary(at.saturating_sub(100));
                let to = text.ceil_char_boundary((at + 200).min(text.len()));
                panic!("{what} has encoding {number}: {:?}", text.get(from..to));
            }
        }
    }
}

fn assert_folder_clean(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            files += assert_folder_clean(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            assert_clean(&path.to_string_lossy(), &String::from_utf8_lossy(&bytes));
            files += 1;
        }
    }
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_encoding_of_a_secret_is_stored_or_shown() {
    let (fake, model) = (FakeTelegram::start().await, FakeModel::start(Script::compute(reply)).await);
    let project = Project::with_model(
        &model.url(),
        json!({
            "language": "en", "queue": { "mergeMs": 0 }, "llm": { "apiKey": "${E2E_SECRET}", "timeoutSecs": 60 },
            "adapters": { "telegram": { "botToken": fake.token(), "apiUrl": fake.url(), "allowedUsers": [ANN] } },
        }),
    );
    project.write(".env", &format!("E2E_SECRET={SECRET}\n"));
    for (number, encoding) in encodings().iter().enumerate() {
        project.write(&format!("enc/{number}.txt"), encoding);
    }
    project.write("big.txt", &long_text());
    let daemon = project.start().await;
    let ann = fake.user(ANN, "Ann");
    let chat = fake.private(&ann);
    chat.say(&ann, "go");
    fake.wait_for(|world| world.visible(ANN).iter().filter(|seen| !seen.buttons.is_empty()).count() == 2)
        .await;
    assert_clean("the pending approvals", &daemon.get_json("/api/approvals?state=pending").await.to_string());
    assert_folder_clean(&project.path().join(".ship"));
    chat.say(&ann, "approve all");
    fake.wait_for(|world| world.bot_texts(ANN).last().is_some_and(|last| last.contains("finished"))).await;

    // The same over the API, whose answer has every call with its output.
    let answer = daemon.execute(json!({ "instructions": "go", "chatId": "a", "messageId": "m" })).await;
    assert_eq!(answer["status"], "awaiting-approval", "{}", answer["status"]);
    assert!(answer["toolCalls"].as_array().unwrap().len() > encodings().len());
    assert_clean("toolCalls", &answer.to_string());

    for thread in ["telegram:chat:7", "api:chat:a"] {
        let messages = daemon.get_json(&format!("/api/threads/{thread}/messages")).await.to_string();
        assert!(messages.contains("[redacted]") && messages.contains("big.txt"), "{thread}");
        assert_clean("messages", &messages);
    }
    for path in ["/api/threads", "/api/approvals"] {
        assert_clean(path, &daemon.get_json(path).await.to_string());
    }
    let shown = fake.read(|world| world.tell());
    assert_clean("everything the platform saw", &shown);
    for seen in fake.read(|world| world.visible(ANN)) {
        assert_clean("a message", &seen.text);
    }
    let sent = fake.read(|world| world.files.values().map(|file| file.bytes.clone()).collect::<Vec<_>>());
    assert!(sent.len() >= 3, "{}", sent.len());
    for file in sent {
        assert_clean("a file that was sent", &String::from_utf8_lossy(&file));
    }
    assert!(assert_folder_clean(&project.path().join(".ship")) > 10);
    let logs = std::fs::read_dir(project.path().join(".ship/logs")).unwrap().filter_map(Result::ok);
    let full = logs.filter(|entry| entry.file_name().to_string_lossy().starts_with("tool-")).count();
    assert!(full > 0, "the full output is kept");
    for name in ["out.txt", "out2.txt"] {
        assert_clean(name, &std::fs::read_to_string(project.path().join(name)).unwrap());
    }
    for seen in model.requests() {
        assert_clean("a prompt", &seen.body.to_string());
    }
}
