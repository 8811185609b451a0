//! The index against files that grow, change, vanish and break.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::support::{lines, message, scratch, thread};
use crate::domain::{MemoryScope, Origin, ScopeKey, ThreadId, Timestamp};
use crate::ports::{
    Freshness, HistoryPlace, HistoryRequest, Indexed, Memory as _, MissingIndex, Note, Search as _,
    SearchArea, SearchPage, SearchRequest, TextSource,
};
use crate::store::FileSearch;
use crate::store::files::layout::private_file;
use crate::store::files::memory_files::FileMemory;

fn scope(key: &str) -> ScopeKey {
    key.parse().unwrap()
}

fn note(id: &str, at: i64, author: &str, text: &str) -> Note {
    Note { id: id.into(), at: Timestamp::from_millis(at), author: author.into(), text: text.into() }
}

fn ask(area: SearchArea, query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        areas: vec![area],
        since: None,
        until: None,
        limit: 10,
        freshness: Freshness::CatchUp,
    }
}

fn ids(page: &SearchPage) -> Vec<&str> {
    page.hits.iter().map(|hit| hit.found.id.as_str()).collect()
}

async fn found(search: &FileSearch, area: SearchArea, query: &str) -> Vec<String> {
    let page = search.search(ask(area, query)).await.unwrap();
    ids(&page).into_iter().map(str::to_owned).collect()
}

fn memory_of(key: &str) -> SearchArea {
    SearchArea::Memory(scope(key))
}

async fn add(dir: &Path, key: &str, notes: Vec<Note>) {
    FileMemory::new(dir).add_notes(&scope(key), notes).await.unwrap();
}

#[tokio::test]
async fn words_pairs_and_single_characters_are_found() {
    let dir = scratch();
    let texts = [
        ("a", "重跑gen-itgc后报告就好了"),
        ("b", "明天下午三点开会议"),
        ("c", "she went to Beijing by train"),
        ("d", "北京的天气"),
    ];
    let day = 86_400_000;
    let notes = texts.iter().enumerate().map(|(at, (id, text))| note(id, at as i64 * day, "", text));
    add(dir.path(), "project", notes.collect()).await;
    let search = FileSearch::new(dir.path());
    for (query, expected) in [
        ("会议", "b"),
        ("议", "b"),
        ("京", "d"),
        ("gen-itgc", "a"),
        ("ITGC", "a"),
        ("重跑gen-itgc后", "a"),
        ("When did she go by trains?", "c"),
        ("天气", "d"),
    ] {
        assert_eq!(found(&search, memory_of("project"), query).await.first().unwrap(), expected, "{query}");
    }
    for nothing in ["", "?", "zebra", "\"", "OR", "猫"] {
        assert_eq!(found(&search, memory_of("project"), nothing).await, [""; 0], "{nothing}");
    }
}

#[tokio::test]
async fn a_search_sees_its_own_areas_only() {
    let dir = scratch();
    add(dir.path(), "web:user:1", vec![note("mine", 1, "", "the secret tea")]).await;
    add(dir.path(), "web:user:2", vec![note("theirs", 1, "", "the secret tea")]).await;
    let threads = dir.path().join("threads");
    std::fs::create_dir_all(&threads).unwrap();
    for name in ["1", "2"] {
        let thread = thread(name);
        append(
            &thread_path(dir.path(), &thread),
            &lines(&[message(&thread, "u1", "r", 1, "the secret tea")]),
        );
    }
    let search = FileSearch::new(dir.path());
    search.rebuild().await.unwrap();
    assert_eq!(found(&search, memory_of("web:user:1"), "secret tea").await, ["mine"]);
    assert_eq!(found(&search, memory_of("project"), "secret tea").await, [""; 0]);
    assert_eq!(found(&search, memory_of("web:user:12"), "secret tea").await, [""; 0]);
    let page = search.search(ask(SearchArea::Thread(thread("1")), "tea")).await.unwrap();
    assert_eq!(page.hits.len(), 1);
    assert_eq!((page.hits[0].source, page.hits[0].thread.clone()), (TextSource::History, Some(thread("1"))));
    let both = SearchRequest {
        areas: vec![memory_of("web:user:1"), SearchArea::Thread(thread("2"))],
        ..ask(memory_of("project"), "secret tea")
    };
    let mut all = search.search(both).await.unwrap().hits;
    all.sort_by(|a, b| a.found.id.cmp(&b.found.id));
    let told: Vec<_> = all.iter().map(|hit| (hit.found.id.as_str(), hit.thread.clone())).collect();
    assert_eq!(told, [("mine", None), ("u1", Some(thread("2")))]);
    let none = SearchRequest { areas: Vec::new(), ..ask(memory_of("project"), "secret tea") };
    assert_eq!(search.search(none).await.unwrap(), SearchPage::default());
}

#[tokio::test]
async fn a_hit_brings_its_neighbours_and_times_bound_the_results() {
    let dir = scratch();
    let notes = (0..6).map(|n| note(&format!("n{n}"), n * 1000, "Ann", &format!("apple number{n}")));
    add(dir.path(), "project", notes.collect()).await;
    let search = FileSearch::new(dir.path());
    let page = search.search(ask(memory_of("project"), "number3")).await.unwrap();
    let hit = &page.hits[0];
    let told = |found: &Option<crate::ports::FoundText>| found.as_ref().map(|found| found.id.clone());
    assert_eq!(
        (told(&hit.before), hit.found.id.as_str(), told(&hit.after)),
        (Some("n2".into()), "n3", Some("n4".into()))
    );
    let bounded = SearchRequest {
        since: Some(2000),
        until: Some(4000),
        limit: 1,
        ..ask(memory_of("project"), "apple")
    };
    let page = search.search(bounded).await.unwrap();
    assert!(page.has_more && ["n2", "n3"].contains(&ids(&page)[0]), "{page:?}");
}

fn thread_path(dir: &Path, thread: &ThreadId) -> PathBuf {
    dir.join("threads").join(format!("{}.jsonl", thread.file_name()))
}

fn append(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    private_file().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_thread_is_indexed_as_it_grows_and_edits_replace_their_row() {
    let dir = scratch();
    let (own, path) = (thread("t"), thread_path(dir.path(), &thread("t")));
    let search = FileSearch::new(dir.path());
    let area = || SearchArea::Thread(thread("t"));
    assert_eq!(found(&search, area(), "anything").await, [""; 0]);
    append(
        &path,
        &lines(&[message(&own, "u1", "r", 1, "the parrot is green"), message(&own, "a1", "r", 2, "nice")]),
    );
    search.follow(vec![area()], MissingIndex::Leave).await.unwrap();
    assert_eq!(found(&search, area(), "parrot").await[0], "u1");
    append(&path, &lines(&[message(&own, "u1", "r", 1, "the penguin is green")]));
    append(&path, "{\"torn");
    assert_eq!(found(&search, area(), "penguin").await[0], "u1");
    assert_eq!(found(&search, area(), "parrot").await, [""; 0], "the old text is gone");
    assert_eq!(search.status().await.unwrap().texts, 2);
    let mut command = message(&own, "u9", "r2", 3, "/memory zebra");
    command.metadata.command = true;
    append(&path, &format!("\n{}", lines(&[command, message(&own, "u2", "r2", 4, "zebra crossing")])));
    assert_eq!(
        found(&search, area(), "zebra").await[0],
        "u2",
        "a broken line is passed over, a command is not indexed"
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(found(&search, area(), "zebra").await, [""; 0]);
    assert_eq!(search.status().await.unwrap().texts, 0);
}

#[tokio::test]
async fn notes_that_were_edited_by_hand_are_indexed_anew() {
    let dir = scratch();
    add(dir.path(), "project", vec![note("a", 1, "", "old words"), note("b", 2, "", "other words")]).await;
    let search = FileSearch::new(dir.path());
    assert_eq!(found(&search, memory_of("project"), "old").await[0], "a");
    let path = dir.path().join("memory/notes/project/1970-01.md");
    let text = std::fs::read_to_string(&path).unwrap().replace("old words", "fresh words that are longer");
    std::fs::remove_file(&path).unwrap();
    append(&path, &text);
    assert_eq!(found(&search, memory_of("project"), "fresh").await[0], "a");
    assert_eq!(found(&search, memory_of("project"), "old").await, [""; 0]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(found(&search, memory_of("project"), "words").await, [""; 0]);
    append(&dir.path().join("memory/project.md"), "# Project\n\n- ships on Fridays\n");
    let page = search.search(ask(memory_of("project"), "shipping on friday")).await.unwrap();
    assert_eq!(page.hits[0].source, TextSource::Core);
}

#[tokio::test]
async fn a_correction_of_the_same_length_is_indexed_wherever_it_stands() {
    let dir = scratch();
    let many =
        (0..100).map(|n| note(&format!("n{n}"), n, "", &format!("the meeting is in room {}", 300 + n)));
    add(dir.path(), "project", many.collect()).await;
    let search = FileSearch::new(dir.path());
    assert_eq!(found(&search, memory_of("project"), "301").await[0], "n1");
    let path = dir.path().join("memory/notes/project/1970-01.md");
    let text = std::fs::read_to_string(&path).unwrap();
    for (old, new) in [("room 301", "room 777"), ("room 301", "room 888")] {
        // Once as a program does it, once as some editors do it: in place.
        let corrected = text.replace(old, new);
        if new == "room 777" {
            crate::store::replace_file(&path, corrected.as_bytes(), 0o600).unwrap();
        } else {
            let mut file = private_file().write(true).open(&path).unwrap();
            file.write_all(corrected.as_bytes()).unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            file.set_modified(written + std::time::Duration::from_secs(1)).unwrap();
        }
        let word = new.trim_start_matches("room ");
        assert_eq!(found(&search, memory_of("project"), word).await[0], "n1");
        assert!(!found(&search, memory_of("project"), "301").await.contains(&"n1".to_owned()), "{new}");
    }
    // A correction and a new note at once: the file has grown as well.
    add(dir.path(), "project", vec![note("new", 200, "", "the cellar is locked")]).await;
    let text = std::fs::read_to_string(&path).unwrap().replace("room 302", "room 999");
    crate::store::replace_file(&path, text.as_bytes(), 0o600).unwrap();
    assert_eq!(found(&search, memory_of("project"), "999").await[0], "n2");
    assert_eq!(found(&search, memory_of("project"), "cellar").await[0], "new");
    assert_eq!(search.status().await.unwrap().texts, 101);
}

#[tokio::test]
async fn lines_that_are_written_by_hand_are_indexed_as_they_grow() {
    let dir = scratch();
    let path = dir.path().join("memory/notes/project/1970-01.md");
    let search = FileSearch::new(dir.path());
    append(&path, "- the parrot is gr");
    assert_eq!(found(&search, memory_of("project"), "parrot").await.len(), 1, "a line without an end");
    append(&path, "een");
    assert_eq!(found(&search, memory_of("project"), "green").await.len(), 1);
    append(&path, "\n");
    append(&path, "  and sings\n");
    assert_eq!(found(&search, memory_of("project"), "parrot sings").await.len(), 1, "a line behind it");
    append(&path, "- the penguin swims\n");
    assert!(!found(&search, memory_of("project"), "penguin").await.is_empty());
    assert_eq!(search.status().await.unwrap().texts, 2);
}

#[tokio::test]
async fn what_is_said_where_no_memory_may_be_written_belongs_to_no_scope() {
    let dir = scratch();
    let (own, path) = (thread("t"), thread_path(dir.path(), &thread("t")));
    let ann: MemoryScope = serde_json::from_value(
        serde_json::json!({ "read": ["project", "web:user:1"], "write": "web:user:1" }),
    )
    .unwrap();
    let mut first = message(&own, "u1", "r1", 1, "the parrot is green");
    first.set_memory_scope(&ann, Origin::Member);
    let mut other = message(&own, "u2", "r2", 2, "the penguin is blue");
    other.set_memory_scope(&ann.without_person(), Origin::Guest);
    let answer = message(&own, "a2", "r2", 3, "a blue penguin indeed");
    append(&path, &lines(&[first, other, answer]));
    let search = FileSearch::new(dir.path());
    let history = || SearchArea::History(scope("web:user:1"));
    whole(&search, vec![SearchArea::Thread(own.clone())], MissingIndex::Make).await;
    assert_eq!(found(&search, history(), "parrot").await, ["u1"]);
    assert_eq!(found(&search, history(), "penguin").await, [""; 0]);
    assert_eq!(found(&search, SearchArea::Thread(own.clone()), "penguin").await[0], "u2");
    let mut later = message(&own, "u3", "r3", 4, "the heron is grey");
    later.set_memory_scope(&ann, Origin::Member);
    append(&path, &lines(&[later]));
    assert_eq!(found(&search, history(), "heron").await[0], "u3", "a thread with several scopes is followed");
}

#[tokio::test]
async fn an_index_that_is_deleted_or_broken_is_made_anew_without_an_error() {
    let dir = scratch();
    add(dir.path(), "project", vec![note("a", 1, "", "green parrot")]).await;
    let search = FileSearch::new(dir.path());
    let index = dir.path().join("state/search.sqlite");
    let beside = |ending: &str| dir.path().join(format!("state/search.sqlite{ending}"));
    let expect =
        async |what: &str| assert_eq!(found(&search, memory_of("project"), "parrot").await, ["a"], "{what}");
    expect("new").await;
    for ending in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(beside(ending)));
    }
    expect("deleted while open").await;
    std::fs::remove_file(&index).unwrap();
    expect("only the main file deleted").await;
    for rubbish in [
        &b"this is no database, and long enough to have a header of that"[..],
        b"",
        b"SQLite format 3\0 and no more",
    ] {
        for ending in ["-wal", "-shm"] {
            drop(std::fs::remove_file(beside(ending)));
        }
        std::fs::remove_file(&index).unwrap();
        private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&index)
            .unwrap()
            .write_all(rubbish)
            .unwrap();
        expect("rubbish in its place").await;
        let again = FileSearch::new(dir.path());
        assert_eq!(found(&again, memory_of("project"), "parrot").await, ["a"]);
    }
    {
        let connection = rusqlite::Connection::open(&index).unwrap();
        connection.execute_batch("DROP TABLE doc").unwrap();
    }
    expect("a table is missing").await;
    {
        let connection = rusqlite::Connection::open(&index).unwrap();
        connection.execute_batch("PRAGMA user_version = 99").unwrap();
    }
    let other = FileSearch::new(dir.path());
    assert_eq!(found(&other, memory_of("project"), "parrot").await, ["a"], "another version");
}

#[tokio::test]
async fn two_processes_may_index_the_same_files() {
    let dir = scratch();
    let many = (0..500).map(|n| note(&format!("n{n}"), n, "", &format!("text number{n} 第{n}条")));
    add(dir.path(), "project", many.collect()).await;
    let (one, other) = (FileSearch::new(dir.path()), FileSearch::new(dir.path()));
    let (first, second) = tokio::join!(
        found(&one, memory_of("project"), "number7"),
        found(&other, memory_of("project"), "number499"),
    );
    assert_eq!((first[0].as_str(), second[0].as_str()), ("n7", "n499"));
    assert_eq!(one.status().await.unwrap().texts, 500);
}

async fn whole(search: &FileSearch, areas: Vec<SearchArea>, index: MissingIndex) {
    while search.follow(areas.clone(), index).await.unwrap() == Indexed::Partly {}
}

#[tokio::test]
async fn following_makes_no_index_before_one_is_wanted_and_then_fills_it_with_everything() {
    let dir = scratch();
    let text = "lorem ipsum ".repeat(2_000);
    for name in ["1", "2", "3"] {
        let own = thread(name);
        let said: Vec<_> = (0..100).map(|n| message(&own, &format!("u{n}"), "r", n, &text)).collect();
        append(&thread_path(dir.path(), &own), &lines(&said));
        append(&thread_path(dir.path(), &own), &lines(&[message(&own, "last", "r", 100, "green parrot")]));
    }
    let search = FileSearch::new(dir.path());
    let changed = || vec![SearchArea::Thread(thread("2"))];
    whole(&search, changed(), MissingIndex::Leave).await;
    assert!(!dir.path().join("state/search.sqlite").exists());
    let as_indexed = |name: &str| SearchRequest {
        freshness: Freshness::AsIndexed,
        ..ask(SearchArea::Thread(thread(name)), "parrot")
    };
    assert_eq!(search.search(as_indexed("2")).await.unwrap(), SearchPage::default());
    assert!(
        !dir.path().join("state/search.sqlite").exists(),
        "a search that does not wait makes none either"
    );
    assert_eq!(
        search.follow(changed(), MissingIndex::Make).await.unwrap(),
        Indexed::Partly,
        "a step is bounded"
    );
    whole(&search, changed(), MissingIndex::Leave).await;
    for name in ["1", "2", "3"] {
        assert_eq!(ids(&search.search(as_indexed(name)).await.unwrap())[0], "last", "{name}");
    }
    search.close().await;
    assert_eq!(ids(&search.search(as_indexed("1")).await.unwrap())[0], "last", "opened again when needed");
}

#[tokio::test]
async fn a_search_that_a_turn_waits_for_looks_for_rare_words_only_where_there_are_many_texts() {
    let dir = scratch();
    let text = |n: usize| match n {
        700 => "the harbour pilot is called Philippa".to_owned(),
        n => format!("the harbour report number {n}"),
    };
    let notes = (0..1_500).map(|n| note(&format!("n{n}"), n as i64, "", &text(n)));
    add(dir.path(), "project", notes.collect()).await;
    let search = FileSearch::new(dir.path());
    whole(&search, vec![memory_of("project")], MissingIndex::Make).await;
    let quick =
        |query: &str| SearchRequest { freshness: Freshness::AsIndexed, ..ask(memory_of("project"), query) };
    for (query, expected) in [
        ("harbour report", None),
        ("harbour pilot Philippa", Some("n700")),
        ("who is Philippa?", Some("n700")),
    ] {
        let page = search.search(quick(query)).await.unwrap();
        assert_eq!(ids(&page).first().copied(), expected, "{query}");
    }
    assert_eq!(
        found(&search, memory_of("project"), "harbour report").await.len(),
        10,
        "asked for, all counts"
    );
}

#[tokio::test]
async fn many_short_threads_are_found_with_their_newest_message_and_forgotten_when_they_are_deleted() {
    let dir = scratch();
    let name = |number: usize| thread(&format!("t{number:03}"));
    for number in 0..400 {
        let own = name(number);
        let words = if number % 100 == 0 { "a green parrot" } else { "nothing much" };
        let said =
            [message(&own, "u1", "r", 1, words), message(&own, "u2", "r", 2, &format!("{words} again"))];
        append(&thread_path(dir.path(), &own), &lines(&said));
    }
    let search = FileSearch::new(dir.path());
    let with = search.threads_with("parrot".to_owned()).await.unwrap();
    assert_eq!(with.into_iter().collect::<Vec<_>>(), [0, 100, 200, 300].map(name));
    let asked = vec![name(300), name(1), name(0)];
    let newest = search.newest_with("green parrot".to_owned(), asked).await.unwrap();
    let newest: Vec<_> = newest.iter().map(|(own, text)| (own.clone(), text.id.as_str())).collect();
    assert_eq!(newest, [(name(300), "u2"), (name(0), "u2")]);
    assert!(search.threads_by("nobody".to_owned()).await.unwrap().is_empty());
    assert_eq!(search.threads_by("USER".to_owned()).await.unwrap().len(), 400);
    std::fs::remove_file(thread_path(dir.path(), &name(100))).unwrap();
    append(&thread_path(dir.path(), &name(5)), &lines(&[message(&name(5), "u3", "r", 3, "one more parrot")]));
    let with = search.threads_with("parrot".to_owned()).await.unwrap();
    assert_eq!(with.into_iter().collect::<Vec<_>>(), [0, 5, 200, 300].map(name));
}

#[tokio::test]
async fn messages_are_listed_by_word_time_and_place() {
    let dir = scratch();
    let own = thread("t");
    let said: Vec<_> = (0..1000)
        .map(|n| {
            let what = if n % 100 == 7 { "部署 the Parrot 会议室" } else { "nothing" };
            // Two platforms' clocks differ by a few seconds.
            message(&own, &format!("u{n}"), "r", n * 1000 - (n % 3) * 2500, &format!("{what} {n}"))
        })
        .collect();
    append(&thread_path(dir.path(), &own), &lines(&said));
    let search = FileSearch::new(dir.path());
    let newest = || HistoryRequest {
        thread: own.clone(),
        keyword: None,
        since: None,
        until: None,
        place: HistoryPlace::Newest,
        limit: 3,
    };
    let of = async |request: HistoryRequest| {
        let page = search.history(request).await.unwrap();
        let ids: Vec<String> = page.messages.into_iter().map(|text| text.id).collect();
        (ids.join(" "), page.has_more)
    };
    let id = |n: u32| format!("u{n}").parse().unwrap();
    assert_eq!(of(newest()).await, ("u997 u998 u999".into(), true));
    assert_eq!(
        of(HistoryRequest { place: HistoryPlace::Before(id(2)), ..newest() }).await,
        ("u0 u1".into(), false)
    );
    assert_eq!(
        of(HistoryRequest { place: HistoryPlace::Around(id(500)), ..newest() }).await,
        ("u499 u500 u501".into(), true)
    );
    assert_eq!(
        of(HistoryRequest { place: HistoryPlace::Around(id(999)), ..newest() }).await,
        ("u998 u999".into(), true)
    );
    for word in ["PARROT", "parrots", "会议室", "会议", "室", "部署 parrot"] {
        let request = HistoryRequest { keyword: Some(word.into()), ..newest() };
        assert_eq!(of(request).await, ("u707 u807 u907".into(), true), "{word}");
    }
    for nothing in ["议会", "zebra", "?", "parrot zebra"] {
        let request = HistoryRequest { keyword: Some(nothing.into()), ..newest() };
        assert_eq!(of(request).await, (String::new(), false), "{nothing}");
    }
    let keyword = Some("parrot".to_owned());
    let until = HistoryRequest { keyword: keyword.clone(), until: Some(300_000), ..newest() };
    assert_eq!(of(until).await, ("u7 u107 u207".into(), false));
    let since = HistoryRequest { keyword, since: Some(850_000), ..newest() };
    assert_eq!(of(since).await, ("u907".into(), false));
    let window = HistoryRequest { since: Some(500_000), until: Some(502_000), limit: 10, ..newest() };
    assert_eq!(of(window).await, ("u501 u506".into(), false), "the times of the messages count");
    let unknown = HistoryRequest { place: HistoryPlace::Before("zz".parse().unwrap()), ..newest() };
    assert_eq!(of(unknown).await, (String::new(), false));
}

/// Questions about conversations, each with the messages that answer it; the share of questions whose answer is among
/// the first ten results.
async fn share_answered(language: &str) -> f64 {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/memory");
    let dir = scratch();
    let mut notes = Vec::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(fixtures.join(language)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            notes.push(note(&text("id"), line["at"].as_i64().unwrap(), &text("author"), &text("text")));
        }
    }
    add(dir.path(), "project", notes).await;
    let search = FileSearch::new(dir.path());
    let (mut answered, mut all) = (0, 0);
    for line in std::fs::read_to_string(fixtures.join(format!("{language}.tsv"))).unwrap().lines() {
        let (question, evidence) = line.split_once('\t').unwrap();
        let page = search.search(ask(memory_of("project"), question)).await.unwrap();
        let hit = page.hits.iter().any(|hit| evidence.split(' ').any(|id| id == hit.found.id));
        all += 1;
        answered += i32::from(hit);
    }
    assert!(all >= 30);
    f64::from(answered) / f64::from(all)
}

#[tokio::test]
async fn questions_about_long_conversations_find_their_answers() {
    let (english, chinese) = (share_answered("english").await, share_answered("chinese").await);
    println!("hit@10: english {english:.3}, chinese {chinese:.3}");
    assert!(english >= 0.88, "{english}");
    assert!(chinese >= 0.95, "{chinese}");
}

/// Questions in other words than their answers, many of which have no word in common with them.
#[tokio::test]
async fn questions_in_other_words_find_most_answers() {
    let english = share_answered("paraphrased-english").await;
    let chinese = share_answered("paraphrased-chinese").await;
    println!("hit@10: english {english:.3}, chinese {chinese:.3}");
    assert!(english >= 0.73, "{english}");
    assert!(chinese >= 0.85, "{chinese}");
}

/// Written after the ranking was fixed, with questions that rarely use the words of their answers.
#[tokio::test]
async fn questions_that_the_ranking_was_not_made_for_find_their_answers() {
    let english = share_answered("held-out-english").await;
    let chinese = share_answered("held-out-chinese").await;
    println!("hit@10: english {english:.3}, chinese {chinese:.3}");
    assert!(english >= 0.76, "{english}");
    assert!(chinese >= 0.95, "{chinese}");
}
