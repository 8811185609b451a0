//! Who may decide on QQ, and in which chat a button works.

use super::*;

async fn asked(extra: Value) -> Environment {
    let mut config = json!({ "adapters": { "qq": { "markdown": true } } });
    merge(&mut config, extra);
    let world = Environment::new(runs("touch made"), config).await;
    world.qq.rule(|rules| rules.markdown = true);
    world
}

fn made(world: &Environment) -> bool {
    world.project.path().join("made").exists()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_counts_in_guild_channels_and_in_private_talks_of_guilds() {
    for place in [CHANNEL, DM] {
        let world = asked(json!({})).await;
        let _daemon = world.project.start().await;
        world.qq.says(place, "make it");
        let (_, buttons) = question(&world.qq, place.chat()).await;
        let stranger = world.qq.presses(Place::Dm("S9", "70"), &buttons[0]);
        assert_eq!(acknowledged(&world.qq, &stranger).await, 4, "{place:?}: not where the question stands");
        assert!(!made(&world));
        let press = world.qq.presses(place, &buttons[0]);
        assert_eq!(acknowledged(&world.qq, &press).await, 0, "{place:?}");
        world.qq.text_with(place.chat(), "finished").await;
        assert!(made(&world));
    }
}

const ADMINS: &str = "admins";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_runs_a_guild_decides_by_words_and_by_button_and_nobody_else() {
    for by_button in [false, true] {
        let world = asked(json!({ "approvals": { "approvers": [ADMINS] } })).await;
        world.qq.rule(|rules| {
            rules.roles.insert("80".to_owned(), vec!["4"]);
            rules.roles.insert("70".to_owned(), vec!["1"]);
        });
        let _daemon = world.project.start().await;
        world.qq.says(CHANNEL, "make it");
        let (_, buttons) = question(&world.qq, "C1").await;
        let (member, owner, unknown) =
            (CHANNEL, Place::Channel("C1", "80"), Place::Channel("C1", "nobody-knows"));
        if by_button {
            for place in [member, unknown] {
                let press = world.qq.presses(place, &buttons[0]);
                assert_ne!(acknowledged(&world.qq, &press).await, 0, "{place:?}");
            }
            assert!(!made(&world));
            let press = world.qq.presses(owner, &buttons[0]);
            assert_eq!(acknowledged(&world.qq, &press).await, 0);
        } else {
            world.qq.says_with(member, "approve A1", json!({ "member": { "roles": ["11"] } }));
            world.qq.text_with("C1", "You may not decide A1").await;
            assert!(!made(&world));
            world.qq.says_with(owner, "approve A1", json!({ "member": { "roles": ["2"] } }));
        }
        world.qq.text_with("C1", "finished").await;
        assert!(made(&world));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_runs_a_group_decides_where_the_platform_says_that_they_do() {
    let world = asked(json!({ "approvals": { "approvers": [ADMINS] } })).await;
    let _daemon = world.project.start().await;
    world.qq.says(GROUP, "make it");
    let (_, buttons) = question(&world.qq, "G1").await;
    let boss = Place::Group("G1", "BOSS");
    let early = world.qq.presses(boss, &buttons[0]);
    assert_ne!(acknowledged(&world.qq, &early).await, 0, "nobody has said who that is");
    world.qq.says_with(boss, "/status", json!({ "author": { "member_role": "owner" } }));
    world.qq.text_with("G1", "Waiting").await;
    let press = world.qq.presses(boss, &buttons[0]);
    assert_eq!(acknowledged(&world.qq, &press).await, 0);
    world.qq.text_with("G1", "finished").await;
    assert!(made(&world));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_was_refused_has_used_its_number_up_and_the_words_come_all_the_same() {
    let world = asked(json!({})).await;
    world.qq.rule(|rules| {
        rules.markdown = false;
        rules.refusals_count = true;
    });
    let _daemon = world.project.start().await;
    world.qq.says(GROUP, "make it");
    let (words, _) = question(&world.qq, "G1").await;
    assert!(words.contains("approve A1"), "{words}");
    let shown = world.qq.look(|rules| rules.texts("G1").iter().filter(|text| text.contains("A1")).count());
    assert_eq!(shown, 1);
}
