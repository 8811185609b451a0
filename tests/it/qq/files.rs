//! Files on QQ that are slow: other messages do not wait, and nothing is lost.

use super::*;

/// Answers with those of these words that the last message had.
fn inventory(seen: &Seen) -> Reply {
    let messages = seen.body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|message| message["role"] == "user").cloned().unwrap_or_default();
    let all = last["content"].to_string();
    let named = ["late.txt", "gone.txt", "second", "third"].into_iter().filter(|word| all.contains(word));
    Reply::text(&format!("got {}", named.collect::<Vec<_>>().join(" ")))
}

fn attached(world: &Environment, name: &str) -> Value {
    let url = world.qq.file(name, b"what is in it");
    json!({ "attachments": [{ "content_type": "file", "filename": name, "url": url, "size": 13 }] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_file_holds_up_no_command_and_order_is_kept() {
    let world = Environment::new(Script::compute(inventory), json!({})).await;
    world.qq.rule(|rules| rules.holds_files = true);
    let _daemon = world.project.start().await;
    world.qq.says_with(ANN, "look", attached(&world, "late.txt"));
    world.qq.says(ANN, "second");
    world.qq.says(ANN, "/status");
    world.qq.text_with("U1", "Idle").await;
    assert_eq!(world.model.requests().len(), 0, "what was said behind the file waits for it");
    world.qq.says(GROUP, "third");
    world.qq.text_with("G1", "got third").await;
    world.qq.rule(|rules| rules.holds_files = false);
    world.qq.text_with("U1", "second").await;
    let asked = world.model.requests().pop().unwrap().body["messages"].to_string();
    assert!(asked.find("late.txt").unwrap() < asked.find("second").unwrap(), "{asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_each_has_a_thread_nobody_waits_for_the_files_of_another() {
    let extra = json!({ "adapters": { "qq": { "groups": { "threading": "per-user" } } } });
    let world = Environment::new(Script::compute(inventory), extra).await;
    world.qq.rule(|rules| rules.holds_files = true);
    let _daemon = world.project.start().await;
    world.qq.says_with(GROUP, "look", attached(&world, "late.txt"));
    world.qq.says(Place::Group("G1", "M2"), "third");
    world.qq.text_with("G1", "got third").await;
    assert_eq!(world.model.requests().len(), 1);
    world.qq.rule(|rules| rules.holds_files = false);
    world.qq.text_with("G1", "got late.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_press_counts_while_a_file_is_on_its_way() {
    let world = Environment::new(runs("touch made"), json!({})).await;
    world.qq.rule(|rules| rules.markdown = true);
    let _daemon = world.project.start().await;
    world.qq.says(GROUP, "make it");
    // Buttons need no setting.
    let (_, buttons) = question(&world.qq, "G1").await;
    world.qq.rule(|rules| rules.holds_files = true);
    world.qq.says_with(GROUP, "look", attached(&world, "late.txt"));
    let press = world.qq.presses(GROUP, &buttons[0]);
    assert_eq!(acknowledged(&world.qq, &press).await, 0);
    world.qq.text_with("G1", "finished").await;
    world.qq.rule(|rules| rules.holds_files = false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_a_file_is_fetched_loses_and_doubles_nothing() {
    let world = Environment::new(Script::compute(inventory), json!({})).await;
    world.qq.rule(|rules| rules.holds_files = true);
    let mut daemon = world.project.start().await;
    let extra = attached(&world, "late.txt");
    let id = world.qq.says_with(ANN, "look", extra);
    let inbox = world.project.path().join(".ship/state/qq/inbox");
    // A file that is still being written does not count.
    let kept = || {
        let names = std::fs::read_dir(&inbox).into_iter().flatten().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|extension| extension == "json")).count()
    };
    troubles::wait_until(|| kept() == 1).await;
    for _ in 0..3 {
        daemon.kill();
        daemon = world.project.start().await;
        world.qq.says_again(ANN, &id, "look");
    }
    world.qq.says(ANN, "second");
    world.qq.rule(|rules| rules.holds_files = false);
    world.qq.text_with("U1", "second").await;
    let thread = std::fs::read_to_string(world.project.thread_file("qq:chat:U1")).unwrap();
    let lines = thread.lines().filter(|line| line.contains("\"role\":\"user\"") && line.contains(&id));
    assert_eq!(lines.count(), 1, "{thread}");
    troubles::wait_until(|| kept() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_had_or_is_too_large_is_described_and_the_message_comes_in() {
    let world = Environment::new(Script::compute(inventory), json!({})).await;
    let _daemon = world.project.start().await;
    let base = world.qq.look(|rules| rules.base.clone());
    for (size, words) in [(5, "could not fetch gone.txt"), (99 << 20, "30 MB")] {
        let gone = json!({ "attachments": [{ "content_type": "file", "filename": "gone.txt", "size": size,
            "url": format!("{base}/files/none") }] });
        let before = world.model.requests().len();
        world.qq.says_with(ANN, "", gone);
        world.model.wait_for_requests(before + 1).await;
        let asked = world.model.requests().pop().unwrap().body["messages"].to_string();
        assert!(asked.contains(words), "{words}: {asked}");
    }
}
