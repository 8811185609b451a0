//! A shared directory that is missing, not writable or gone, and agents without one.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::scene::{GROUP, Team, echo, texts_of, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_usable_directory_turns_go_on_and_one_warning_is_logged() {
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let file = open.path().join("file");
    #[expect(clippy::disallowed_methods, reason = "a scratch file of a test")]
    std::fs::write(&file, "").unwrap();
    for dir in [open.path().to_owned(), file] {
        let extra = json!({ "groups": { "sharedDir": dir } });
        let team = Team::start(vec![("Alpha", echo("Alpha", "{}"))], extra).await;
        team.write(GROUP, "ou_ada", "hello", &[0]);
        team.hears(0, "Alpha says: hello").await;
        let log = team.agents[0].project.log();
        assert_eq!(log.matches("shared directory not opened").count(), 1, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_cannot_hear_the_others_answers_only_what_names_it() {
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    for respond in ["relevant", "all"] {
        let extra = json!({
            "groups": { "sharedDir": open.path() },
            "adapters": { "feishu": { "groups": { "respond": respond } } },
        });
        let yes = "{\"answer\": true, \"score\": 99}";
        let team = Team::start(vec![("Alpha", echo("Alpha", yes))], extra).await;
        let id = team.write(GROUP, "ou_ada", "who broke the build", &[]);
        team.stored(GROUP, &id).await;
        let decided = || {
            let line = team.agents[0].line_of(GROUP, &id).unwrap_or_default();
            respond == "all" || line.contains("no-claims")
        };
        until("a decision", decided).await;
        team.write(GROUP, "ou_bob", "hello", &[0]);
        team.hears(0, "Alpha says: hello").await;
        assert_eq!(team.agents[0].said().len(), 1, "{respond}");
        assert_eq!(team.agents[0].gates(), 0, "{respond}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_vanishes_or_turns_read_only_while_agents_run_stops_no_turn() {
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let team = Team::start(scripts, json!({})).await;
    team.write(GROUP, "ou_ada", "one", &[0]);
    team.hears(0, "Alpha says: one").await;
    team.told("Alpha says: one", 1).await;
    let rooms = team.shared.path().join("rooms");
    // The agents may write while it is removed.
    until("the directory to be gone", || std::fs::remove_dir_all(&rooms).is_ok()).await;
    team.write(GROUP, "ou_ada", "two", &[1]);
    team.hears(1, "Beta says: two").await;
    // A file in its place fails for every user, root included.
    let replaced = || {
        drop(std::fs::remove_dir_all(&rooms));
        std::fs::File::create_new(&rooms).is_ok()
    };
    until("a file in its place", replaced).await;
    for number in 0..3 {
        team.write(GROUP, "ou_ada", &format!("three {number}"), &[1]);
        team.hears(1, &format!("Beta says: three {number}")).await;
    }
    let log = team.agents[1].project.log();
    assert_eq!(log.matches("shared directory of groups failed").count(), 1, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_below_the_shared_directory_stops_no_turn() {
    let team = Team::start(vec![("Alpha", echo("Alpha", "{}"))], json!({})).await;
    team.write(GROUP, "ou_ada", "one", &[0]);
    team.hears(0, "Alpha says: one").await;
    team.told("Alpha says: one", 1).await;
    let segment = team.segments().pop().unwrap();
    std::fs::remove_file(&segment).unwrap();
    std::os::unix::fs::symlink("/dev/full", &segment).unwrap();
    for number in 0..3 {
        team.write(GROUP, "ou_ada", &format!("two {number}"), &[0]);
        team.hears(0, &format!("Alpha says: two {number}")).await;
    }
    let log = team.agents[0].project.log();
    assert_eq!(log.matches("shared directory of groups failed").count(), 1, "{log}");
    assert!(log.contains("No space left on device"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_without_a_shared_directory_hears_nothing_of_the_others() {
    let extra = json!({ "groups": { "sharedDir": "" } });
    let scripts = vec![("Alpha", echo("Alpha", "{}")), ("Beta", echo("Beta", "{}"))];
    let team = Team::start(scripts, extra).await;
    let id = team.write(GROUP, "ou_ada", "@Beta one", &[0]);
    team.hears(0, "Alpha says: @Beta one").await;
    team.stored(GROUP, &id).await;
    team.write(GROUP, "ou_ada", "two", &[1]);
    team.hears(1, "Beta says: two").await;
    let prompt = texts_of(&team.agents[1].prompts()[0]).join("\n");
    assert!(!prompt.contains("Alpha says"), "{prompt}");
    assert!(!team.shared.path().join("rooms").exists());
}
