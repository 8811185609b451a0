//! A repository can name programs for nearly everything that git does. None of them runs because of a command without
//! approval.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use shipagent::policy::shell::{ShellCall, unasked};

use super::unasked::{Outcome, Repository};

/// Read-only commands.
const LOOKS: &[&str] = &[
    "git status",
    "git status -sb --porcelain",
    "git diff",
    "git diff HEAD",
    "git diff --cached",
    "git diff --stat",
    "git diff HEAD~1 HEAD",
    "git log",
    "git log -p",
    "git log --oneline",
    "git log --stat",
    "git log -S main",
    "git log --format=%h",
    "git log --pretty=evil",
    "git log -g",
    "git show",
    "git show HEAD",
    "git show HEAD:src/main.rs",
    "git diff-tree -p HEAD",
    "git whatchanged -p",
    "git blame src/main.rs",
    "git annotate src/main.rs",
    "git grep main",
    "git grep main HEAD",
    "git ls-files",
    "git ls-files -m",
    "git ls-files -o --exclude-standard",
    "git ls-tree -r HEAD",
    "git branch -a",
    "git branch -vv",
    "git tag -l",
    "git for-each-ref",
    "git show-ref",
    "git remote -v",
    "git stash list",
    "git stash show",
    "git reflog",
    "git rev-list --all",
    "git rev-parse HEAD",
    "git rev-parse --show-toplevel",
    "git describe --always",
    "git name-rev HEAD",
    "git merge-base HEAD HEAD~1",
    "git shortlog -sn HEAD",
    "git cat-file -p HEAD",
    "git count-objects -v",
    "git check-ignore -v x",
    "git worktree list",
    "git diff | head -3",
    "cd src && git status",
];

/// Settings that name a program and that git lets the environment override. `{}` is the program.
const OVERRIDDEN: &[(&str, &str)] = &[
    ("core.hooksPath", "{hooks}"),
    ("core.pager", "{}"),
    ("pager.log", "{}"),
    ("pager.diff", "{}"),
    ("pager.status", "{}"),
    ("core.editor", "{}"),
    ("core.sshCommand", "{}"),
    ("core.gitProxy", "{}"),
    ("core.askPass", "{}"),
    ("credential.helper", "!{}"),
    ("gpg.program", "{}"),
    ("gpg.ssh.program", "{}"),
    ("gpg.x509.program", "{}"),
    ("merge.evil.driver", "{}"),
    ("alias.status", "!{}"),
    ("alias.log", "!{}"),
    ("remote.origin.uploadpack", "{}"),
    ("remote.origin.url", "ext::{}"),
    ("submodule.recurse", "true"),
    ("status.submoduleSummary", "true"),
    ("stash.showPatch", "true"),
];

/// Settings that cannot be overridden, or not by every git: they need approval.
const ASKED: &[(&str, &str)] = &[
    ("core.fsmonitor", "{}"),
    ("core.alternateRefsCommand", "{}"),
    ("diff.external", "{}"),
    ("diff.evil.textconv", "{}"),
    ("diff.evil.command", "{}"),
    ("filter.evil.clean", "{}"),
    ("filter.evil.smudge", "{}"),
    ("filter.evil.process", "{}"),
    ("log.showSignature", "true"),
    ("pretty.evil", "%G?"),
    ("format.pretty", "%G? %h"),
    ("include.path", "evil.config"),
    ("hook.evil.command", "{}"),
    ("extensions.partialClone", "origin"),
    ("core.worktree", "/"),
];

struct Trap {
    repository: Repository,
    program: PathBuf,
    marker: PathBuf,
}

impl Trap {
    /// A repository with every kind of content, whose programs leave a mark.
    fn new(repository: Repository) -> Self {
        // Where the program writes without a sandbox; in one it could not, so it also prints.
        let marker = repository.bench.root.join("marker");
        let program = repository.bench.root.join("evil.sh");
        repository.write(
            "evil.sh",
            &format!("#!/bin/sh\necho evil''-ran\necho evil''-ran >&2\ntouch {}\n", marker.display()),
        );
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for hook in [
            "post-index-change",
            "pre-commit",
            "post-checkout",
            "fsmonitor-watchman",
            "reference-transaction",
        ] {
            let hook = format!("hooks/{hook}");
            repository.write(&hook, &fs::read_to_string(&program).unwrap());
            fs::set_permissions(repository.bench.root.join(&hook), fs::Permissions::from_mode(0o755))
                .unwrap();
        }
        repository.write(".gitattributes", "*.rs diff=evil filter=evil merge=evil\n");
        repository.write(".gitignore", "marker\n.ship/\n");
        repository.git("add -A src hooks .gitattributes .gitignore evil.sh");
        repository.git("commit -qm one");
        repository.write("src/main.rs", "fn main() { two() }\n");
        repository.git("commit -qam two");
        repository.write("src/main.rs", "fn main() { stashed() }\n");
        repository.git("stash push -q");
        repository.write("src/main.rs", "fn main() { three() }\n");
        Self { repository, program, marker }
    }

    fn set(&self, key: &str, value: &str) {
        let hooks = self.repository.bench.root.join("hooks");
        let value =
            value.replace("{hooks}", &hooks.to_string_lossy()).replace("{}", &self.program.to_string_lossy());
        let file = self.repository.bench.root.join(".git/config");
        let status = Command::new("git")
            .args(["config", "--file"])
            .arg(file)
            .args(["--add", key, &value])
            .status()
            .unwrap();
        assert!(status.success(), "{key}");
    }

    fn unset(&self, key: &str) {
        let section = key.rsplit_once('.').unwrap().0;
        let file = self.repository.bench.root.join(".git/config");
        let arguments = match section {
            "core" | "log" => vec!["--unset-all", key],
            section => vec!["--remove-section", section],
        };
        let status =
            Command::new("git").args(["config", "--file"]).arg(file).args(arguments).status().unwrap();
        assert!(status.success(), "{key}");
    }

    fn assert_nothing_ran(&self, command: &str, output: &str) {
        assert!(!output.contains("evil-ran"), "{command}: {output}");
        assert!(!self.marker.exists(), "{command}: {output}");
    }
}

fn traps() -> Vec<Trap> {
    Repository::sandboxed().into_iter().chain([Repository::bare()]).map(Trap::new).collect()
}

#[tokio::test]
async fn the_trap_works_when_git_is_not_hardened() {
    let trap = Trap::new(Repository::bare());
    trap.set("core.fsmonitor", "{}");
    trap.repository.git("status");
    assert!(trap.marker.exists());
}

#[tokio::test]
async fn no_program_of_a_repository_runs_because_of_a_command_that_only_looks() {
    for trap in traps() {
        for (key, value) in OVERRIDDEN {
            trap.set(key, value);
        }
        for command in LOOKS {
            let outcome = trap.repository.call(command, "").await;
            let Outcome::Ran(output) = &outcome else { panic!("{command}: {outcome:?}") };
            trap.assert_nothing_ran(command, &output.to_string());
        }
    }
}

#[tokio::test]
async fn a_repository_whose_programs_cannot_be_turned_off_is_asked_about() {
    let trap = Trap::new(Repository::sandboxed().remove(0));
    assert!(trap.repository.call("git status", "").await.ran().is_some());
    for (key, value) in ASKED {
        trap.set(key, value);
        for command in
            ["git status", "git diff", "git log", "git show", "git blame src/main.rs", "cd src && git diff"]
        {
            let outcome = trap.repository.call(command, "").await;
            assert!(outcome.ran().is_none(), "{key}: {command}: {outcome:?}");
        }
        assert!(trap.repository.call("cat src/main.rs", "").await.ran().is_some());
        trap.unset(key);
    }
    assert!(trap.repository.call("git status", "").await.ran().is_some());
}

/// Even if a setting passed the check, as it could between the check and the command: options and the environment turn
/// it off.
#[tokio::test]
async fn settings_that_are_asked_about_are_turned_off_as_well() {
    let trap = Trap::new(Repository::bare());
    let environment = [
        "core.fsmonitor",
        "diff.external",
        "log.showSignature",
        "format.pretty",
        "core.alternateRefsCommand",
    ];
    for (key, value) in ASKED.iter().filter(|(key, _)| environment.contains(key)) {
        trap.set(key, value);
    }
    trap.set("diff.evil.textconv", "{}");
    trap.set("diff.evil.command", "{}");
    for command in LOOKS.iter().filter(|command| !command.contains('|') && !command.contains("&&")) {
        let root = trap.repository.bench.root.to_string_lossy().into_owned();
        let call = ShellCall { command, cwd: "" };
        let hardened = unasked(&root, &call, &|_| false).unwrap().unwrap();
        let output = trap.repository.run_hardened(&hardened.command);
        trap.assert_nothing_ran(command, &output);
    }
}

#[tokio::test]
async fn git_finds_no_repository_but_the_ones_that_were_checked() {
    for trap in traps() {
        let repository = &trap.repository;
        // A bare repository among the files.
        repository.git("init -q --bare fixture.git");
        repository.git("--git-dir=fixture.git config core.fsmonitor ./evil.sh");
        for command in ["git status", "git log"] {
            let outcome = repository.call(command, "fixture.git").await;
            assert!(outcome.ran().is_none(), "{command}: {outcome:?}");
        }
        // A repository of its own in a folder.
        repository.git("init -q nested");
        repository.git("-C nested config filter.evil.clean ../evil.sh");
        assert!(repository.call("git status", "nested").await.ran().is_none());
        assert!(repository.call("cd nested && git status", "").await.ran().is_none());
        assert!(repository.call("git status", "src").await.ran().is_some());
        // A repository somewhere else.
        repository.write("pointer/.git", &format!("gitdir: {}\n", repository.bench.outside.display()));
        assert!(repository.call("git status", "pointer").await.ran().is_none());
        assert!(repository.call("git status", ".git").await.ran().is_none());
        assert!(!trap.marker.exists());
    }
}

#[tokio::test]
async fn git_does_not_look_above_the_project() {
    for repository in Repository::sandboxed().into_iter().chain([Repository::bare()]) {
        let root = repository.bench.root.clone();
        fs::remove_dir_all(root.join(".git")).unwrap();
        let outcome = repository.call("git status", "src").await;
        assert_ne!(outcome.ran().unwrap()["exitCode"], 0, "{outcome:?}");
    }
}
