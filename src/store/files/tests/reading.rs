//! Reading through the index equals folding the whole file, in any state of the index.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::support::*;
use crate::domain::ThreadId;
use crate::ports::{Commit, ThreadStore, Work};
use crate::store::files::index::LAG_BYTES;
use crate::store::{Layout, Reader, TAIL_BYTES, TAIL_MESSAGES};
use crate::uimessage::{UiMessage, fold};

/// A thread file of these lines, and readers for it.
struct Written {
    dir: tempfile::TempDir,
    thread: ThreadId,
}

impl Written {
    fn new(content: &[u8]) -> Self {
        let written = Self { dir: scratch(), thread: thread("a") };
        written.layout().create().unwrap();
        written.append(content);
        written
    }

    fn layout(&self) -> Layout {
        Layout::new(self.dir.path())
    }

    fn append(&self, content: &[u8]) {
        use std::io::Write;
        let path = self.layout().thread(&self.thread);
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        file.write_all(content).unwrap();
    }

    fn index(&self) -> PathBuf {
        self.layout().index(&self.thread)
    }

    /// Compares every query with the fold of all lines.
    fn check(&self, reader: &Reader, lines: &[UiMessage]) {
        let folded = fold(lines.to_vec());
        let thread = &self.thread;
        let page = |before: Option<&UiMessage>, limit| {
            reader.page(thread, before.map(|message| &message.id), limit).unwrap()
        };
        let record = reader.load(thread).unwrap();
        assert!(folded.ends_with(&record.tail));
        assert_eq!(record.has_more, record.tail.len() < folded.len());
        assert_eq!(record.tail.is_empty(), folded.is_empty());
        assert_eq!(page(None, usize::MAX), folded);
        for at in spread(folded.len()) {
            assert_eq!(page(None, folded.len() - at), folded[at..]);
            for limit in [0, 1, 3, 1000] {
                let start = at.saturating_sub(limit);
                assert_eq!(page(Some(&folded[at]), limit), folded[start..at], "{limit} before {at}");
            }
            let message = &folded[at];
            assert!(reader.contains(thread, &message.id).unwrap());
            let run = &message.metadata.correlation_id;
            let whole: Vec<_> =
                folded.iter().filter(|other| other.metadata.correlation_id == *run).cloned().collect();
            assert_eq!(reader.run_of(thread, &message.id).unwrap(), whole);
        }
        let stranger = "nobody".parse().unwrap();
        assert!(!reader.contains(thread, &stranger).unwrap());
        assert_eq!(reader.run_of(thread, &stranger).unwrap(), []);
        assert_eq!(reader.page(thread, Some(&stranger), 5).unwrap(), []);
    }
}

/// All positions of a short list, some of a long one.
fn spread(length: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by((length / 4).max(1))
}

fn keeping(dir: &Path) -> Reader {
    Reader::for_daemon(Layout::new(dir))
}

/// Lines with repeated ids, also with another role, and with unreadable ones in between.
fn thread_lines(sizes: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<(u8, u8, bool)>> {
    prop::collection::vec((0u8..30, 0u8..5, prop::bool::weighted(0.1)), sizes)
}

fn build(lines: &[(u8, u8, bool)], padding: usize) -> (Vec<u8>, Vec<UiMessage>) {
    let (mut bytes, mut good) = (Vec::new(), Vec::new());
    for (n, (id, run, odd)) in lines.iter().enumerate() {
        let mut line =
            message(&thread("a"), &format!("u{id}"), &format!("run{run}"), 1, &format!("line {n}"));
        line.parts.push(crate::uimessage::Part::text("词".repeat(padding)));
        if *odd && n % 2 == 0 {
            bytes.extend_from_slice(b"{\"id\": broken \xff\n");
            continue;
        }
        if *odd {
            line.role = crate::uimessage::Role::Assistant;
        }
        bytes.extend_from_slice(&serde_json::to_vec(&line).unwrap());
        bytes.push(b'\n');
        good.push(line);
    }
    (bytes, good)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn every_answer_equals_that_of_folding_the_whole_file(lines in thread_lines(0..60)) {
        let (bytes, good) = build(&lines, 0);
        let written = Written::new(&bytes);
        written.check(&keeping(written.dir.path()), &good);
        prop_assert!(!written.index().exists(), "a short file needs no index");
    }

    #[test]
    fn an_index_that_lags_is_torn_or_bent_gives_the_same_answers(
        lines in thread_lines(30..40),
        more in thread_lines(30..40),
        bend in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let both: Vec<_> = lines.iter().chain(&more).copied().collect();
        let (bytes, good) = build(&both, 1000);
        let (first, first_good) = build(&lines, 1000);
        prop_assert!(bytes.starts_with(&first));
        let written = Written::new(&first);
        let reader = keeping(written.dir.path());
        written.check(&reader, &first_good);
        prop_assert!(written.index().exists());
        let short = std::fs::read(written.index()).unwrap();
        written.append(&bytes[first.len()..]);
        written.check(&Reader::read_only(written.dir.path()), &good);
        prop_assert_eq!(&std::fs::read(written.index()).unwrap(), &short, "reading writes nothing");
        written.check(&reader, &good);
        let whole = std::fs::read(written.index()).unwrap();
        prop_assert!(whole.starts_with(&short) && whole.len() > short.len());

        let mut bent = whole.clone();
        bent[bend.index(whole.len())] ^= 0x10;
        for index in [&bent[..], &whole[..cut.index(whole.len())], &[]] {
            overwrite(&written.index(), index);
            written.check(&Reader::read_only(written.dir.path()), &good);
            written.check(&reader, &good);
        }
        std::fs::remove_file(written.index()).unwrap();
        written.check(&reader, &good);
    }

    #[test]
    fn an_index_of_lines_that_are_gone_is_not_believed(lines in thread_lines(60..70), keep in 0usize..50) {
        let (bytes, _) = build(&lines, 1000);
        let (short, good) = build(&lines[..keep], 1000);
        let written = Written::new(&bytes);
        let reader = keeping(written.dir.path());
        reader.load(&written.thread).unwrap();
        prop_assert!(written.index().exists());
        let path = written.layout().thread(&written.thread);
        std::fs::File::options().write(true).open(&path).unwrap().set_len(short.len() as u64).unwrap();
        written.check(&reader, &good);
        reader.load(&written.thread).unwrap();
        // Another file under the same name.
        overwrite(&path, &build(&lines[1..], 1000).0);
        written.check(&reader, &build(&lines[1..], 1000).1);
    }
}

#[test]
fn the_tail_is_bounded_and_says_that_there_is_more() {
    let a = thread("a");
    let text = "x".repeat(100_000);
    let mut messages: Vec<_> = (0..29).map(|n| message(&a, &format!("u{n}"), "run", n, &text)).collect();
    messages.push(message(&a, "a29", "run", 29, &text));
    let written = Written::new(lines(&messages).as_bytes());
    let record = keeping(written.dir.path()).load(&a).unwrap();
    assert!(record.has_more);
    assert!(messages.ends_with(&record.tail));
    let size = lines(&record.tail).len() as u64;
    assert!(size <= TAIL_BYTES && size > TAIL_BYTES - 101_000);
}

#[test]
fn a_tail_of_small_messages_is_bounded_by_their_number() {
    let a = thread("a");
    let mut messages: Vec<_> = (0..1199).map(|n| said(&a, &format!("u{n}"))).collect();
    messages.push(said(&a, "a1199"));
    let written = Written::new(lines(&messages).as_bytes());
    let record = keeping(written.dir.path()).load(&a).unwrap();
    assert!(record.has_more);
    assert_eq!(record.tail, messages[1200 - TAIL_MESSAGES..]);
}

#[test]
fn a_line_that_only_looks_like_a_message_costs_no_other() {
    let a = thread("a");
    let good = lines(&[said(&a, "u1")]);
    // A list instead of a map: the head parser accepts it, the whole parser does not.
    let odd = r#"{"id":"u2","role":"user","metadata":["web","web:chat:a",null,null,null,1,"run",null,false],"parts":[]}"#;
    let written = Written::new(format!("{good}{odd}\n").repeat(400).as_bytes());
    written.check(&keeping(written.dir.path()), &[said(&a, "u1")]);
    written.check(&Reader::read_only(written.dir.path()), &[said(&a, "u1")]);
}

#[test]
fn a_single_message_beyond_the_bound_is_still_the_tail() {
    let a = thread("a");
    let large = message(&a, "a2", "run", 1, &"x".repeat(3_000_000));
    let written = Written::new(lines(&[said(&a, "u1"), large.clone()]).as_bytes());
    let record = keeping(written.dir.path()).load(&a).unwrap();
    assert_eq!((record.tail, record.has_more), (vec![large], true));
}

#[test]
fn an_old_message_said_anew_keeps_its_place_and_is_left_out_of_a_tail_that_begins_later() {
    let a = thread("a");
    let text = "x".repeat(100_000);
    let mut all: Vec<_> = (0..30).map(|n| message(&a, &format!("u{n}"), "run", n, &text)).collect();
    all.push(message(&a, "a1", "run", 98, "answered"));
    all.push(message(&a, "u0", "run", 99, "said anew"));
    let written = Written::new(lines(&all).as_bytes());
    let reader = keeping(written.dir.path());
    let tail = reader.load(&a).unwrap().tail;
    assert!(tail.iter().all(|message| message.id.as_str() != "u0"));
    let before = "u1".parse().unwrap();
    assert_eq!(reader.page(&a, Some(&before), 5).unwrap(), [all[31].clone()]);
}

#[test]
fn a_message_of_long_ago_is_recognised_without_an_index_of_its_own() {
    let dir = scratch();
    let a = thread("a");
    block_on(async {
        let store = open(dir.path());
        for n in 0..400 {
            let text = "x".repeat(500);
            store.commit(commit(&a, vec![message(&a, &format!("u{n}"), "run", n, &text)])).await.unwrap();
        }
        assert!(store.contains(&a, &"u0".parse().unwrap()).await.unwrap());
        assert!(!store.contains(&a, &"u400".parse().unwrap()).await.unwrap());
        let kept = std::fs::metadata(store.layout().index(&a)).unwrap().len() / 24 - 1;
        assert!(kept > 0 && std::fs::metadata(store.layout().thread(&a)).unwrap().len() > LAG_BYTES);
    });
}

#[test]
fn a_tail_reaches_back_to_the_first_message_of_all_that_is_unfinished() {
    let a = thread("a");
    let large = "x".repeat(700_000);
    let history = [
        message(&a, "u1", "old", 1, &large),
        message(&a, "a1", "old", 2, &large),
        message(&a, "u2", "running", 3, "first"),
        running(message(&a, "a2", "running", 3, &large)),
        message(&a, "u3", "waiting", 4, &large),
        message(&a, "u4", "waiting", 5, &large),
    ];
    let written = Written::new(lines(&history).as_bytes());
    let tail = keeping(written.dir.path()).load(&a).unwrap().tail;
    assert!(history.ends_with(&tail) && tail.len() >= 4, "{}", tail.len());
}

#[test]
fn a_question_behind_the_pages_of_an_answered_one_is_found_while_the_thread_is_open() {
    let a = thread("a");
    let page = "x".repeat(700_000);
    let mut history = vec![message(&a, "u1", "long", 1, "first"), message(&a, "u2", "next", 2, "second")];
    history.extend((1..5).map(|n| message(&a, &format!("a{n}"), "long", 3, &page)));
    for (work, found) in [(Work::Open, true), (Work::Settled, false)] {
        let dir = scratch();
        block_on(async {
            let store = open(dir.path());
            store.commit(Commit { work, ..commit(&a, history.clone()) }).await.unwrap();
            let tail = store.load(&a).await.unwrap().tail;
            assert_eq!(tail.iter().any(|message| message.id.as_str() == "u2"), found);
        });
        let tail = Reader::read_only(dir.path()).load(&a).unwrap().tail;
        assert_eq!(tail.iter().any(|message| message.id.as_str() == "u2"), found);
    }
}
