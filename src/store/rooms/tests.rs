//! The contract of the [`Rooms`] port, over files.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FolderFault, SharedRooms};
use crate::domain::{
    AgentCard, LINE_VERSION, LineAuthor, LineKind, RoomLine, SpeakerKind, ThreadId, Timestamp, Via,
};
use crate::groups::winner;
use crate::ports::{Clock as _, LineFilter, Rooms, SystemClock};

const EVER: Timestamp = Timestamp::from_millis(0);

fn room() -> ThreadId {
    "feishu:chat:oc_1".parse().unwrap()
}

fn line(key: &str, text: &str) -> RoomLine {
    RoomLine {
        v: LINE_VERSION,
        kind: LineKind::Said,
        key: key.parse().unwrap(),
        at: Timestamp::from_millis(1_795_000_000_000),
        message_id: None,
        reply_to: None,
        author: LineAuthor { id: "u".to_owned(), name: "Ada".to_owned(), kind: SpeakerKind::Person },
        text: text.to_owned(),
        cut: false,
        chain: None,
        depth: 0,
        answers: None,
        score: 0,
        lapsed: None,
        via: Via::Inbound,
        by: "me".to_owned(),
    }
}

struct Shared {
    dir: tempfile::TempDir,
    rooms: SharedRooms,
}

impl Shared {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let rooms = SharedRooms::open(&dir.path().join("groups"), 14, Arc::new(SystemClock)).unwrap();
        Self { dir, rooms }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("groups")
    }

    async fn texts(&self, most: usize) -> Vec<String> {
        let lines = self.rooms.recent(&room(), most, EVER, LineFilter::All).await.unwrap();
        lines.into_iter().map(|line| line.text).collect()
    }

    fn segment(&self) -> PathBuf {
        let dir = super::folder::room_dir(&self.root(), &room());
        super::folder::segments(&dir).unwrap().pop().unwrap()
    }
}

#[tokio::test]
async fn the_newest_lines_come_back_in_the_order_of_the_log_over_block_borders() {
    let shared = Shared::new();
    assert_eq!(shared.texts(5).await, Vec::<String>::new());
    let texts: Vec<String> = (0..300).map(|n| format!("{n}:{}", "字".repeat(n % 500))).collect();
    for text in &texts {
        shared.rooms.append(&room(), line("k", text)).await.unwrap();
    }
    assert_eq!(shared.texts(1_000).await, texts);
    assert_eq!(shared.texts(7).await, texts[293..]);
    let other: ThreadId = "feishu:chat:oc_1:topic:t".parse().unwrap();
    assert!(shared.rooms.recent(&other, 5, EVER, LineFilter::All).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_line_torn_at_any_byte_spoils_no_other() {
    let whole = serde_json::to_vec(&line("torn", "a torn line")).unwrap();
    for cut in 0..=whole.len() {
        let shared = Shared::new();
        shared.rooms.append(&room(), line("a", "before")).await.unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).open(shared.segment()).unwrap();
        file.write_all(&whole[..cut]).unwrap();
        let read = shared.texts(9).await;
        assert_eq!(read[0], "before", "cut at {cut}");
        shared.rooms.append(&room(), line("b", "after")).await.unwrap();
        let read = shared.texts(9).await;
        let expected: &[&str] =
            if cut == whole.len() { &["before", "a torn line", "after"] } else { &["before", "after"] };
        assert_eq!(read, expected, "cut at {cut}");
    }
}

#[tokio::test]
async fn what_is_no_line_of_this_version_is_left_out() {
    let shared = Shared::new();
    shared.rooms.append(&room(), line("a", "one")).await.unwrap();
    let later = serde_json::to_string(&RoomLine { v: 2, ..line("b", "of a later version") }).unwrap();
    let huge = "x".repeat(200_000);
    let mut file = std::fs::OpenOptions::new().append(true).open(shared.segment()).unwrap();
    file.write_all(format!("\n\n{{}}\nnull\n{later}\n{huge}\n\u{fffd}\n").as_bytes()).unwrap();
    file.write_all(b"\xff\xfe\n").unwrap();
    shared.rooms.append(&room(), line("c", "two")).await.unwrap();
    assert_eq!(shared.texts(9).await, ["one", "two"]);
}

#[tokio::test]
async fn a_long_text_is_cut_between_characters() {
    let shared = Shared::new();
    shared.rooms.append(&room(), line("a", &"字".repeat(10_000))).await.unwrap();
    let lines = shared.rooms.recent(&room(), 1, EVER, LineFilter::All).await.unwrap();
    assert!(lines[0].cut && lines[0].text.len() <= 12 * 1024 && lines[0].text.len() > 12_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_claims_at_once_all_readers_see_the_same_winner() {
    let shared = Shared::new();
    let mut jobs = tokio::task::JoinSet::new();
    for number in 0..8 {
        let rooms = shared.rooms.clone();
        jobs.spawn(async move {
            let claim =
                RoomLine { kind: LineKind::Claim, score: 80, by: format!("a{number}"), ..line("q", "") };
            let at = rooms.claim(&room(), claim).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(700)).await;
            let lines = rooms.recent(&room(), 100, EVER, LineFilter::All).await.unwrap();
            let times: Vec<Timestamp> = lines.iter().map(|line| line.at).collect();
            assert!(times.is_sorted() && times.contains(&at));
            winner(&lines, &"q".parse().unwrap()).unwrap().by
        });
    }
    let mut winners: Vec<String> = jobs.join_all().await;
    winners.dedup();
    assert_eq!(winners.len(), 1, "{winners:?}");
}

#[tokio::test]
async fn the_roster_has_the_last_beat_of_each_agent_and_survives_other_files() {
    let shared = Shared::new();
    assert!(shared.rooms.roster().await.unwrap().is_empty());
    for (id, name) in [("b", "Bee"), ("a", "Old"), ("a", "Ann")] {
        let card = AgentCard { at: SystemClock.now(), ..AgentCard::new(id, name) };
        shared.rooms.beat(card).await.unwrap();
    }
    // An agent that was removed long ago is unknown, and its card is deleted.
    shared.rooms.beat(AgentCard::new("old", "Gone")).await.unwrap();
    shared.rooms.sweep().await.unwrap();
    assert!(!shared.root().join("agents/old.json").exists() && shared.root().join("agents/a.json").exists());
    for name in ["agents/x.json", "agents/note.txt"] {
        std::fs::File::create(shared.root().join(name)).unwrap().write_all(b"{").unwrap();
    }
    let names: Vec<String> = shared.rooms.roster().await.unwrap().into_iter().map(|card| card.name).collect();
    assert_eq!(names, ["Ann", "Bee"]);
    let card = AgentCard { at: Timestamp::from_millis(1_000), ..AgentCard::new("a", "Ann") };
    assert!(!card.is_away(Timestamp::from_millis(91_000)) && card.is_away(Timestamp::from_millis(91_001)));
}

#[tokio::test]
async fn old_segments_are_swept_and_the_version_follows_the_log() {
    let shared = Shared::new();
    assert_eq!(shared.rooms.version(&room()).await.unwrap(), 0);
    shared.rooms.append(&room(), line("a", "today")).await.unwrap();
    let first = shared.rooms.version(&room()).await.unwrap();
    shared.rooms.append(&room(), line("b", "again")).await.unwrap();
    assert!(shared.rooms.version(&room()).await.unwrap() > first);
    let today = shared.segment();
    let old = today.with_file_name("2020-01-01.jsonl");
    std::fs::copy(&today, &old).unwrap();
    assert_eq!(shared.texts(9).await.len(), 4);
    shared.rooms.sweep().await.unwrap();
    assert!(!old.exists() && today.exists());
}

#[tokio::test]
async fn a_directory_that_vanishes_is_made_again() {
    let shared = Shared::new();
    shared.rooms.append(&room(), line("a", "one")).await.unwrap();
    std::fs::remove_dir_all(shared.root()).unwrap();
    assert!(shared.texts(9).await.is_empty());
    shared.rooms.append(&room(), line("b", "two")).await.unwrap();
    assert_eq!(shared.texts(9).await, ["two"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&shared.root()), mode(&shared.segment())), (0o700, 0o600));
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(SharedRooms::open(dir.path(), 1, Arc::new(SystemClock)), Err(FolderFault::Open(_))));
    let file = dir.path().join("file");
    std::fs::File::create(&file).unwrap();
    assert!(matches!(SharedRooms::open(&file, 1, Arc::new(SystemClock)), Err(FolderFault::Io { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_agents_that_hear_fifty_messages_a_second_break_no_line_and_wait_little() {
    const AGENTS: usize = 10;
    const MESSAGES: usize = 100;
    let shared = Shared::new();
    let mut agents = tokio::task::JoinSet::new();
    for agent in 0..AGENTS {
        let rooms = shared.rooms.clone();
        agents.spawn(async move {
            let mut ticks = tokio::time::interval(std::time::Duration::from_millis(20));
            let mut took = Vec::new();
            for number in 0..MESSAGES {
                ticks.tick().await;
                let began = tokio::time::Instant::now();
                let known = rooms.recent(&room(), 60, EVER, LineFilter::All).await.unwrap();
                assert!(known.len() <= 60);
                let key = format!("k{agent}-{number}");
                rooms.append(&room(), line(&key, "fifty messages in a second")).await.unwrap();
                took.push(began.elapsed());
            }
            took
        });
    }
    let mut took: Vec<std::time::Duration> = agents.join_all().await.into_iter().flatten().collect();
    took.sort();
    let at = |share: usize| took[took.len() * share / 100];
    println!("read and append: p50 {:?}, p99 {:?}, of {}", at(50), at(99), took.len());
    assert_eq!(shared.texts(AGENTS * MESSAGES + 1).await.len(), AGENTS * MESSAGES, "no line is broken");
}

#[tokio::test]
async fn the_lines_of_agents_are_found_behind_any_number_of_others() {
    let shared = Shared::new();
    let claim = RoomLine { kind: LineKind::Claim, via: Via::Outbound, ..line("q", "") };
    shared.rooms.append(&room(), claim.clone()).await.unwrap();
    for number in 0..1_200 {
        let text = format!("\"via\":\"outbound\" {number}");
        shared.rooms.append(&room(), line("k", &text)).await.unwrap();
    }
    let read = shared.rooms.recent(&room(), 1_000, EVER, LineFilter::OfAgents).await.unwrap();
    assert_eq!(read, [claim]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_another_process_keeps_ends_in_an_error_and_nothing_is_written_later() {
    let shared = Shared::new();
    shared.rooms.append(&room(), line("a", "one")).await.unwrap();
    let held = std::fs::File::open(shared.segment()).unwrap();
    held.lock().unwrap();
    for _ in 0..3 {
        let claim = RoomLine { kind: LineKind::Claim, via: Via::Outbound, ..line("q", "") };
        shared.rooms.claim(&room(), claim).await.unwrap_err();
        shared.rooms.recent(&room(), 9, EVER, LineFilter::All).await.unwrap_err();
    }
    held.unlock().unwrap();
    // The line of a claim that failed would be written before this one.
    shared.rooms.append(&room(), line("b", "two")).await.unwrap();
    assert_eq!(shared.texts(9).await, ["one", "two"]);
}
