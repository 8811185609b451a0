//! What an answer grants, and where and how long a grant holds.

use super::calls::{NOW, facts, here, judged, thread};
use crate::domain::{GrantNumber, Reach, Risk, Scope, Timestamp};
use crate::policy::fingerprint::FileDigest;
use crate::policy::grants::grant::project_folder;
use crate::policy::grants::{
    CallFacts, Calls, Grant, GrantProposal, GrantedCommand, Pattern, covering, covers, proposed,
};
use crate::policy::{Compound, Verdict};

fn command(command: &str) -> GrantedCommand {
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let folders = project_folder();
    GrantedCommand { pattern: Pattern::of(&argv, &folders), folders }
}

fn exactly(words: &str) -> GrantedCommand {
    let words = words.split(' ').map(str::to_owned).collect();
    GrantedCommand { pattern: Pattern::Exactly(words), folders: project_folder() }
}

fn grant(id: u32, granted: &str, reach: Reach) -> Grant {
    let calls = Calls::Commands(vec![command(granted)]);
    Grant { id: GrantNumber(id), tool: "exec_shell".into(), calls, scripts: Vec::new(), reach }
}

fn covered(grants: &[Grant], compound: Compound, command: &str) -> bool {
    let shell = judged(compound, command);
    covering(grants, &here(), NOW, &facts(&shell)).is_some()
}

#[test]
fn each_part_of_a_line_needs_a_grant_or_must_be_free() {
    let grants = [grant(1, "git add .", Reach::Shape), grant(2, "git commit -m x", Reach::Project)];
    assert!(covered(&grants, Compound::Ask, "git add . && git commit -m y"));
    assert!(!covered(&grants[..1], Compound::Ask, "git add . && git commit -m x"));
    assert!(!covered(&grants, Compound::Ask, "git add . | tail -5"));
    assert!(covered(&grants, Compound::Analyze, "git add . | tail -5"));
    assert!(!covered(&grants, Compound::Analyze, "git add . | tail -5 > x"));
    assert!(!covered(&grants, Compound::Analyze, "git add . | tee x"));
    assert!(!covered(&grants, Compound::Analyze, "ls | git add ."));
}

#[test]
fn a_grant_ends_at_its_moment_and_holds_in_its_thread() {
    let shell = judged(Compound::Ask, "git commit -m x");
    let until = |millis| Reach::Until { thread: here(), until: Timestamp::from_millis(millis) };
    for (reach, want) in [
        (Reach::Thread(here()), true),
        (Reach::Thread(thread("web:chat:2")), false),
        (until(1_000_001), true),
        (until(1_000_000), false),
        (until(999_999), false),
        (Reach::Until { thread: thread("web:chat:2"), until: Timestamp::from_millis(i64::MAX) }, false),
        (Reach::Shape, true),
        (Reach::Project, true),
    ] {
        let grant = grant(1, "git commit -m x", reach.clone());
        assert_eq!(covers(&grant, &here(), NOW, &facts(&shell)), want, "{reach:?}");
    }
}

#[test]
fn a_grant_is_for_its_tool_and_never_for_any_shell_command() {
    let shell = judged(Compound::Ask, "git commit -m x");
    let mut other = grant(1, "git commit -m x", Reach::Shape);
    other.tool = "write_file".into();
    assert!(!covers(&other, &here(), NOW, &facts(&shell)));
    let any = Grant { calls: Calls::Any, ..grant(1, "git commit -m x", Reach::Shape) };
    assert!(!covers(&any, &here(), NOW, &facts(&shell)));
    let write = Grant { tool: "write_file".into(), ..any };
    let call = |risk| CallFacts { tool: "write_file", risk, in_advance: true, shell: None, scripts: None };
    assert!(covers(&write, &here(), NOW, &call(Risk::Medium)));
    assert!(!covers(&write, &here(), NOW, &call(Risk::High)));
    let speaks = CallFacts { in_advance: false, ..call(Risk::Medium) };
    assert!(!covers(&write, &here(), NOW, &speaks));
    assert_eq!(proposed(Scope::Thread, &here(), NOW, &speaks), None);
    assert_eq!(proposed(Scope::Thread, &here(), NOW, &call(Risk::High)), None);
}

#[test]
fn an_answer_grants_the_shape_that_was_shown_or_only_the_very_same_command() {
    let minutes = |n: u32| Scope::Minutes(n.try_into().unwrap());
    let of = |command: &str, scope| {
        let shell = judged(Compound::Ask, command);
        proposed(scope, &here(), NOW, &facts(&shell))
    };
    let proposal = |commands: &[GrantedCommand], reach| {
        Some(GrantProposal { calls: Calls::Commands(commands.to_vec()), scripts: Vec::new(), reach })
    };
    assert_eq!(of("git commit -m x", Scope::Once), None);
    let shape = [command("git commit -m x")];
    assert_eq!(shape[0].pattern, Pattern::Shape("git commit".into()));
    assert_eq!(of("git commit -m 'x y'", Scope::Shape), proposal(&shape, Reach::Shape));
    let until = Timestamp::from_millis(1_600_000);
    assert_eq!(of("git commit -m x", minutes(10)), proposal(&shape, Reach::Until { thread: here(), until }));
    assert_eq!(of("git commit", Scope::Shape), proposal(&[exactly("git commit")], Reach::Shape));
    assert_eq!(of("make -j build", Scope::Project), proposal(&[exactly("make -j build")], Reach::Project));
    let both = [command("git add ."), command("git commit -m x")];
    assert_eq!(
        of("git add . && git commit -m x && git add x", Scope::Thread),
        proposal(&both, Reach::Thread(here()))
    );
    for command in ["make $x", "ls > x", "make < x", "rm x", "curl x", "touch .git/hooks/x", "make -C /etc"] {
        assert_eq!(of(command, Scope::Thread), None, "{command}");
    }
}

#[test]
fn without_knowing_the_files_it_runs_nothing_is_granted_or_covered() {
    let shell = judged(Compound::Ask, "git commit -m x");
    let unknown = CallFacts { scripts: None, ..facts(&shell) };
    assert_eq!(proposed(Scope::Thread, &here(), NOW, &unknown), None);
    assert!(!covers(&grant(1, "git commit -m x", Reach::Shape), &here(), NOW, &unknown));
}

#[test]
fn what_the_deny_list_has_stays_denied() {
    // Grants are checked only for calls that need approval; this one is denied.
    assert!(matches!(judged(Compound::Ask, "git push").verdict, Verdict::Deny { .. }));
}

#[test]
fn a_program_of_the_project_that_a_person_names_is_granted_with_plain_arguments() {
    let argv = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let folders = project_folder();
    let pattern = Pattern::program_of(&argv("./bump.sh g1"), &folders).unwrap();
    let script = [FileDigest { path: "./bump.sh".into(), digest: Some("1".into()) }];
    let calls = Calls::Commands(vec![GrantedCommand { pattern, folders: folders.clone() }]);
    let grant = Grant { calls, scripts: script.to_vec(), ..grant(1, "x", Reach::Thread(here())) };
    let changed = [FileDigest { path: "./bump.sh".into(), digest: Some("2".into()) }];
    for (command, scripts, want) in [
        ("./bump.sh g1", &script, true),
        ("./bump.sh g2 g3", &script, true),
        ("./bump.sh", &script, true),
        ("./bump.sh g2", &changed, false),
        ("./bump.sh --force", &script, false),
        ("./bump.sh A=b", &script, false),
        ("./bump.sh ../x", &script, false),
        ("./bump.sh g1 > x", &script, false),
        ("./bump.sh $x", &script, false),
        ("./other.sh g1", &script, false),
    ] {
        let shell = judged(Compound::Ask, command);
        let facts = CallFacts { scripts: Some(scripts), ..facts(&shell) };
        assert_eq!(covers(&grant, &here(), NOW, &facts), want, "{command}");
    }
    for command in ["/bin/x a", "make a", "../x a", ".git/hooks/x a", "./x --all"] {
        assert_eq!(Pattern::program_of(&argv(command), &folders), None, "{command}");
    }
}

#[test]
fn a_grant_survives_its_file() {
    let grants = [
        grant(1, "git commit -m x", Reach::Until { thread: here(), until: NOW }),
        Grant { calls: Calls::Any, ..grant(2, "x", Reach::Thread(here())) },
        Grant {
            scripts: vec![FileDigest { path: "Makefile".into(), digest: None }],
            ..grant(3, "npm test", Reach::Shape)
        },
    ];
    let text = serde_json::to_string(&grants).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Grant>>(&text).unwrap(), grants);
}
