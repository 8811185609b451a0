//! What the model's own searches find: old messages, and after damage to the index.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::scene::{reply, result, texts};
use crate::compaction::scene::{checkpoints, is_summary, question, small_window, summary};
use crate::fakes::fake_model::{FakeModel, Reply, Script};
use crate::fakes::in_process::{HandClock, InProcess};

const THREAD: &str = "web:chat:c";

#[expect(clippy::disallowed_methods, reason = "the file is broken on purpose")]
fn overwrite(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_of_turn_three_are_found_after_two_hundred_turns_and_two_checkpoints() {
    let model = FakeModel::start(Script::compute(|seen| {
        if is_summary(seen) {
            summary(seen)
        } else if super::scene::asked(seen).is_some_and(|text| text.starts_with("Question")) {
            Reply::text(&"The team on duty looks after it. ".repeat(12))
        } else {
            reply(seen)
        }
    }))
    .await;
    let project = small_window(&model.url(), json!({}));
    let clock = HandClock::evening();
    let daemon = InProcess::start(&project, &clock);
    for turn in 0..200 {
        clock.advance(Duration::from_secs(60));
        let text = match turn {
            2 => "The spare key hangs behind panel Q in the boiler room.".to_owned(),
            3 => "重跑gen-itgc后，报告放在青龙服务器上，鹦鹉归小明养。".to_owned(),
            _ => question(turn),
        };
        daemon.say("c", &text).await;
    }
    assert!(checkpoints(&project, THREAD).len() >= 2);
    let find = async |query: &str, tool: &str| {
        daemon.say("c", &format!("{tool} {query}")).await;
        texts(&result(&model.requests()))
    };
    let (english, chinese) = ("The spare key hangs", "重跑gen-itgc后");
    for (query, expected) in [
        ("where is the spare key?", english),
        ("key", english),
        ("Q", english),
        ("鹦鹉", chinese),
        ("鹉", chinese),
        ("青龙", chinese),
        ("龙", chinese),
        ("重跑gen-itgc后", chinese),
        ("ITGC", chinese),
        ("谁养鹦鹉？", chinese),
    ] {
        let found = find(query, "find").await;
        // The question itself is part of the history by now; what counts is the message of turn three.
        let place = found.iter().position(|text| text.starts_with(expected));
        assert!(place.is_some_and(|place| place < 3), "{query}: {found:?}");
    }
    let listed = find("青龙 报告", "list").await;
    assert!(listed.iter().any(|text| text.starts_with(chinese)), "{listed:?}");

    // The index is deleted, then broken, while the daemon runs. No notice is sent, and nothing is lost.
    let index: PathBuf = project.path().join(".ship/state/search.sqlite");
    let beside = |ending: &str| PathBuf::from(format!("{}{ending}", index.display()));
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(beside(ending)).ok();
    }
    assert!(find("spare key", "find").await.iter().any(|text| text.starts_with(english)));
    for broken in
        [&b"this is no database at all, but long enough to look like one"[..], b"", b"SQLite format 3\0"]
    {
        for ending in ["-wal", "-shm"] {
            std::fs::remove_file(beside(ending)).ok();
        }
        std::fs::remove_file(&index).unwrap();
        overwrite(&index, broken);
        let found = find("spare key", "find").await;
        assert!(found.iter().any(|text| text.starts_with(english)), "{found:?}");
    }
    // Broken in its middle, in place, with the daemon's connection open.
    let mut bytes = std::fs::read(&index).unwrap();
    let length = bytes.len();
    bytes[length / 3..length / 2].fill(0x5a);
    overwrite(&index, &bytes);
    for query in ["spare key", "boiler room", "青龙"] {
        find(query, "find").await;
    }
    daemon.stop().await;
}
