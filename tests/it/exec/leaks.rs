//! Commands without approval show no secret: each reading command, with each place of a secret, with and without a
//! sandbox.

use std::fs;
use std::path::Path;

use super::unasked::{Outcome, Repository};

/// Contained in every secret.
const LEAK: &str = "hunter2";

/// Commands that read files. `{…}` is replaced by values of the repository.
const READS: &[&str] = &[
    "cat .env",
    "cat api/.env",
    "cat alias.txt",
    "cat src/linked.txt",
    "cat src/hard.txt",
    "cat clean/hard.txt",
    "cat clean/keys/server.pem",
    "cat out-again/file",
    "cat src/main.rs",
    "cat src/secrets/token.txt",
    "cat .git/../.env",
    "head -5 src/hard.txt",
    "tail -5 src/linked.txt",
    "sort alias.txt",
    "uniq clean/hard.txt",
    "nl src/hard.txt",
    "tac alias.txt",
    "cut -c1-50 src/linked.txt",
    "paste alias.txt src/hard.txt",
    "fold -w 100 alias.txt",
    "column -t alias.txt",
    "sed -n 1,5p alias.txt",
    "comm alias.txt src/main.rs",
    "cmp -l alias.txt src/main.rs",
    "diff alias.txt src/main.rs",
    "diff src clean",
    "diff -r src clean",
    "diff -r keys clean",
    "diff -r . src",
    "diff -rN secrets clean",
    "diff -r --no-dereference keys clean",
    "diff -u src/hard.txt src/main.rs",
    "grep KEY alias.txt",
    "grep KEY src/hard.txt src/linked.txt",
    "grep -r KEY",
    "grep -r KEY .",
    "grep -rn KEY src",
    "grep -rn KEY clean",
    "grep -rn KEY keys",
    "grep -rn KEY api vendor untracked",
    "grep -rhoE 'KEY=.*' a",
    "grep -rh KEY node_modules",
    "grep -ra KEY .git",
    "grep -R KEY .",
    "grep -R KEY src",
    "grep -R KEY clean",
    "grep -R KEY a",
    "grep --dereference-recursive KEY clean",
    "grep --recursive --include='*' KEY .",
    "grep -d recurse KEY .",
    "grep --directories=recurse KEY .",
    "grep -rc hunter2 .",
    "grep -f .env -r src",
    "egrep -r 'KEY' .",
    "fgrep -r KEY .",
    "rg KEY",
    "rg -uuu KEY",
    "rg --hidden --no-ignore KEY .",
    "rg -L KEY",
    "rg KEY src clean",
    "rg KEY keys",
    "jq -R . alias.txt",
    "find . -type f",
    "find . -name '.env*' -printf '%p %s %l\\n'",
    "find -L . -type f",
    "ls -laR",
    "ls -la out-again",
    "du -ab .",
    "du -abL .",
    "tree -a",
    "tree -al",
    "wc -c src/hard.txt",
    "stat -L alias.txt",
    "file -L alias.txt",
    "md5sum src/main.rs",
    "cat < alias.txt",
    "cd clean && cat keys/server.pem",
    "cd src && grep -r KEY . | head",
    "cd keys && cat plain-name.txt",
    "grep -r KEY . | sort | uniq -c",
    "git status && grep -r KEY .",
    "git status; grep -rn KEY keys",
    "git status; grep -rn KEY a/b/c/d/e/f/g/h/i",
    "git status; grep -rn KEY late",
    "git log -1 | cat alias.txt",
    "od -c alias.txt",
    "od -An -c src/hard.txt",
    "hexdump -C src/linked.txt",
    "hexdump -e '1/1 \"%c\"' alias.txt",
    "expr index alias.txt x",
    "grep -rz KEY . | head -c 500",
    "grep -rL nothing .",
    "grep -r '' a/b/c",
    "grep -r -e KEY -e x --exclude-dir=src",
    "grep -rI --include=.env KEY .",
    "diff -rq . src",
    "diff --recursive --text api untracked",
    "sed -n p src/linked.txt clean/hard.txt",
    "find . -newer .env",
    "find . -samefile alias.txt",
    "cd a/b && grep -r KEY ..",
    "cd api; cat .env",
    "cd clean; cat keys/id_rsa",
    "head -c 100 out-again/../project/.env",
    "cat clean/keys/../.env",
    "cat clean/../alias.txt",
    "sort -m alias.txt src/hard.txt",
    "tail -n +1 clean/keys/server.pem src/main.rs",
];

/// Git commands. `{blob}`, `{tree}`, `{commit}` and `{stash}` are hashes.
const GIT: &[&str] = &[
    "git diff",
    "git diff HEAD",
    "git diff --cached",
    "git diff HEAD~4",
    "git diff HEAD~4 HEAD",
    "git diff HEAD~4..HEAD",
    "git diff HEAD~3...HEAD",
    "git diff HEAD -- keys",
    "git diff -- keys/server.pem",
    "git diff keys",
    "git diff -- '*.pem'",
    "git diff -- ':(icase)KEYS'",
    "git diff -R",
    "git diff --text",
    "git diff --word-diff",
    "git diff --color-words",
    "git diff -U100",
    "git diff -W",
    "git diff --binary",
    "git diff --check HEAD~4",
    "git diff --stat -p",
    "git diff --no-index keys clean",
    "git diff --submodule=diff",
    "git diff {blob} {other}",
    "git diff {blob} -- src/main.rs",
    "git diff {tree}",
    "git diff {tree} HEAD",
    "git diff {tree}..HEAD",
    "git diff HEAD {tree}",
    "git diff treetag",
    "git diff treetag HEAD --",
    "git diff blobtag src/main.rs",
    "git diff HEAD:secrets HEAD:src",
    "git diff HEAD:src HEAD:clean",
    "git diff {tree}:token.txt HEAD:src/main.rs",
    "git diff 'stash@{0}'",
    "git diff 'HEAD^!'",
    "git log",
    "git log -p",
    "git log -p -3",
    "git log -p --all",
    "git log -u",
    "git log --patch-with-stat",
    "git log -p --full-diff -- src",
    "git log -p -m",
    "git log -p --cc",
    "git log -c -p",
    "git log -W",
    "git log -U5",
    "git log --color-words",
    "git log --word-diff=porcelain",
    "git log --binary",
    "git log --check",
    "git log -L 1,5:.env",
    "git log -L 1,5:keys/plain-name.txt",
    "git log -p --follow -- keys/plain-name.txt",
    "git log -p -- .env",
    "git log -p -- keys secrets",
    "git log -p '--' '*'",
    "git log -p -- ':(top)'",
    "git log -p {blob}",
    "git log -p {tree}",
    "git log -p blobtag",
    "git log -p -g",
    "git log -p --no-walk HEAD~4",
    "git log -p --reverse",
    "git log -p 'stash@{0}'",
    "git log -p refs/stash",
    "git log --format=%B --raw",
    "git log -G hunter2 --oneline",
    "git log -S hunter2 --oneline",
    "git log -S hunter2 -p",
    "git whatchanged -p",
    "git show",
    "git show HEAD",
    "git show HEAD~3",
    "git show HEAD~4 HEAD",
    "git show {commit}",
    "git show {commit} --",
    "git show {commit} -- secrets",
    "git show HEAD:.env",
    "git show HEAD:secrets/token.txt",
    "git show HEAD:./.env",
    "git show :.env",
    "git show :0:.env",
    "git show HEAD:src/main.rs",
    "git show {blob}",
    "git show {blob} HEAD",
    "git show -s {blob}",
    "git show --stat {blob}",
    "git show {tree}",
    "git show {tree}:token.txt",
    "git show treetag:token.txt",
    "git show blobtag",
    "git show 'blobtag^{}'",
    "git show tags/blobtag",
    "git show :/one",
    "git show stash",
    "git show 'stash@{0}'",
    "git show {stash}",
    "git show '{stash}^2'",
    "git show --text HEAD~1",
    "git show -m HEAD~1",
    "git diff-tree -p HEAD",
    "git diff-tree -p --root HEAD~4",
    "git diff-tree -p {tree} HEAD",
    "git diff-tree -p HEAD~4 HEAD",
    "git stash list -p",
    "git stash list",
    "git stash show",
    "git stash show -p",
    "git stash show -U3",
    "git reflog -p",
    "git reflog",
    "git reflog show -p",
    "git rev-list --all",
    "git rev-list --objects --all",
    "git grep KEY",
    "git grep -h KEY",
    "git grep KEY HEAD",
    "git grep KEY HEAD~4",
    "git grep KEY HEAD -- keys",
    "git grep --cached KEY",
    "git grep --untracked KEY",
    "git grep --untracked --no-exclude-standard KEY",
    "git grep --no-index KEY",
    "git grep KEY {blob}",
    "git grep KEY {tree}",
    "git grep -e KEY {tree}",
    "git grep KEY treetag --",
    "git grep KEY HEAD:secrets",
    "git grep KEY {commit}:src",
    "git grep -c hunter2",
    "git grep -l hunter2 HEAD",
    "git grep --text KEY",
    "git grep -p KEY",
    "git grep -W KEY",
    "git blame .env",
    "git blame keys/server.pem",
    "git blame HEAD -- secrets/token.txt",
    "git blame src/main.rs",
    "git annotate keys/server.pem",
    "git cat-file -p HEAD",
    "git cat-file -p HEAD:.env",
    "git cat-file -p {blob}",
    "git cat-file -p {tree}:token.txt",
    "git cat-file -p blobtag",
    "git cat-file -p 'HEAD^{tree}'",
    "git cat-file -p '{tree}^{tree}'",
    "git cat-file blob {blob}",
    "git cat-file blob HEAD:.env",
    "git cat-file --batch",
    "git cat-file --textconv HEAD:.env",
    "git status -v",
    "git status -vv",
    "git status",
    "git ls-files -s",
    "git ls-tree -r HEAD",
    "git for-each-ref --format='%(raw)'",
    "git for-each-ref --format='%(contents)'",
    "git tag -l --format='%(contents)'",
    "git tag --sort=raw",
    "git archive HEAD",
    "git format-patch --stdout HEAD~4",
    "git bundle create - HEAD",
    "git fast-export HEAD",
    "git difftool",
    "git range-diff HEAD~4 HEAD~1 HEAD",
    "git diff 'treetag^{tree}' HEAD",
    "git diff '{tree}^{tree}' HEAD",
    "git show '{tree}^{tree}:token.txt'",
    "git show 'blobtag^{blob}'",
    "git show 'HEAD^{tree}:.env'",
    "git show 'HEAD^{/one}'",
    "git diff '@{1}'",
    "git log -p | head -50",
    "git diff 2>&1 | cat",
    "cd src && git diff",
    "cd src && git show HEAD~3",
    "cd keys && git diff -- .",
    "git --literal-pathspecs diff",
    "git --no-pager diff",
    "git --noglob-pathspecs diff",
    "git remote",
    "git remote -v",
    "git remote --verbose",
    "git remote get-url origin",
    "git remote get-url --push --all origin",
    "git branch -a -vv",
    "git status -sb",
    "git rev-list --count HEAD",
    "git blame -C -C -C clean/notes.txt",
    "git log --all --graph --oneline -p --stat",
    "git show HEAD~4 --stat --format=%H%n%B",
    "git log -p --diff-filter=D",
    "git log -p -M -C --find-copies=50%",
    "git diff HEAD~4 -M --binary -- . ':(exclude)src'",
    "git diff HEAD~4 -- ':(top,icase)*'",
    "git log -p -- ':(glob)**'",
    "git show HEAD~4 -- ':(attr:x)'",
    "git grep KEY -- ':(icase,glob)**/*'",
    "git grep -n '' -- ':!src'",
    "git ls-files -o -i --exclude-standard",
    "git describe --all --always",
];

fn has(program: &str) -> bool {
    ["/usr/bin", "/usr/local/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}

/// Every command, with the hashes of a repository in it.
fn commands(repository: &Repository) -> Vec<String> {
    let hash = |name: &str| repository.git(&format!("rev-parse {name}"));
    let hashes = [
        ("{blob}", hash("HEAD:.env")),
        ("{other}", hash("HEAD:src/main.rs")),
        ("{tree}", hash("HEAD:secrets")),
        ("{commit}", hash("HEAD~1")),
        ("{stash}", hash("stash")),
    ];
    READS
        .iter()
        .chain(GIT)
        .map(|command| {
            hashes.iter().fold((*command).to_owned(), |text, (name, hash)| text.replace(name, hash))
        })
        .collect()
}

/// Runs them all; returns those that ran.
async fn run_all(repository: &Repository) -> Vec<String> {
    let mut ran = Vec::new();
    for command in commands(repository) {
        let program = command.split(' ').next().unwrap_or_default();
        if matches!(program, "rg" | "tree") && !has(program) {
            continue;
        }
        if let Outcome::Ran(output) = repository.call(&command, "").await {
            assert!(
                !output.to_string().contains(LEAK),
                "{:?}: {command}: {output}",
                repository.bench.isolation
            );
            ran.push(command);
        }
    }
    ran
}

#[tokio::test]
async fn nothing_that_runs_unasked_in_a_sandbox_shows_a_secret() {
    for repository in Repository::sandboxed() {
        repository.fill();
        let ran = run_all(&repository).await;
        assert!(ran.len() > 100, "{ran:?}");
        for command in [
            "grep -r KEY .",
            "grep -rn KEY clean",
            "grep -rh KEY node_modules",
            "git diff",
            "git log -p -3",
            "git show HEAD~3",
            "git grep KEY",
            "git status",
            "git stash list",
            "git blame src/main.rs",
        ] {
            assert!(ran.iter().any(|ran| ran == command), "{command} was asked about");
        }
    }
}

#[tokio::test]
async fn nothing_that_runs_unasked_without_a_sandbox_shows_a_secret() {
    let repository = Repository::bare();
    repository.fill();
    let ran = run_all(&repository).await;
    for command in
        ["cat src/main.rs", "git diff", "git log -p -3", "git show HEAD~3", "git grep KEY", "git status"]
    {
        assert!(ran.iter().any(|ran| ran == command), "{command} was asked about");
    }
    for command in ["grep -r KEY .", "grep -rn KEY keys", "grep -R KEY clean", "diff -r keys clean"] {
        assert!(!ran.iter().any(|ran| ran == command), "{command} ran");
    }
}

#[tokio::test]
async fn a_second_name_of_a_secret_is_not_shown_either() {
    for repository in Repository::sandboxed().into_iter().chain([Repository::bare()]) {
        repository.fill();
        repository.link_secrets();
        let ran = run_all(&repository).await;
        assert!(!ran.iter().any(|ran| ran == "git diff" || ran.starts_with("cat src/")), "{ran:?}");
    }
}

#[tokio::test]
async fn what_git_leaves_out_is_all_it_leaves_out() {
    let repository = Repository::sandboxed().remove(0);
    repository.fill();
    for (command, expected) in [
        ("git diff", "changed()"),
        ("git diff HEAD~1", "changed()"),
        ("git log -p", "+fn main() { run() }"),
        ("git log -p HEAD", "+fn main() { run() }"),
        ("git log -p -- src", "+fn main() { run() }"),
        ("git show HEAD~3", "+fn main() { run() }"),
        ("git show HEAD:src/main.rs", "fn main() { run() }"),
        ("git show HEAD~1:src/main.rs", "fn main() { run() }"),
        ("git cat-file -p HEAD", "five"),
        ("git grep -n KEY", "clean/notes.txt"),
        ("git grep -n KEY HEAD~1", "clean/notes.txt:1:KEY of nothing"),
        ("git stash show", "src/main.rs"),
        ("cd src && git diff HEAD~4 | head -50", "changed()"),
    ] {
        let outcome = repository.call(command, "").await;
        let output = outcome.ran().unwrap_or_else(|| panic!("{command}: {outcome:?}"));
        assert!(output["stdout"].as_str().unwrap().contains(expected), "{command}: {output}");
        assert_eq!(output["exitCode"], 0, "{command}: {output}");
    }
    let commits = repository.call("git log -p --format=%s", "").await;
    let text = commits.ran().unwrap()["stdout"].as_str().unwrap().to_owned();
    for subject in ["one", "two", "three", "four", "five"] {
        assert!(text.lines().any(|line| line == subject), "{subject} is missing: {text}");
    }
}

#[tokio::test]
async fn ordinary_work_in_an_ordinary_project_is_not_asked_about() {
    for repository in Repository::sandboxed() {
        repository.write("src/lib.rs", "pub fn foo() {}\n");
        repository.git("add src ship.json");
        repository.git("commit -qm one");
        for command in [
            "grep -rn foo src",
            "grep -rn foo .",
            "grep -R foo src",
            "find . -name '*.rs'",
            "ls -la",
            "cat src/lib.rs",
            "diff -r src api",
            "du -sh .",
            "git diff",
            "git diff HEAD",
            "git log -p -3",
            "git log --oneline --graph",
            "git show HEAD",
            "git grep foo",
            "git blame src/lib.rs",
            "git branch -a",
            "git describe --always",
        ] {
            let outcome = repository.call(command, "").await;
            let output = outcome.ran().unwrap_or_else(|| panic!("{command}: {outcome:?}"));
            // Files in two folders differ, and grep lists the files it cannot read.
            let code = output["exitCode"].as_i64().unwrap();
            assert!(
                code == 0 || command.starts_with("diff") || command.ends_with('.'),
                "{command}: {output}"
            );
            assert!(!output.to_string().contains(LEAK), "{command}: {output}");
        }
        // A tracked ship.json is not reported as changed.
        let outcome = repository.call("git status --porcelain -uno", "").await;
        assert_eq!(outcome.ran().unwrap()["stdout"], "", "{outcome:?}");
    }
}

#[tokio::test]
async fn a_directory_that_is_too_large_to_check_is_asked_about_and_others_are_not() {
    for repository in [Repository::sandboxed().remove(0), Repository::bare()] {
        let large = repository.bench.root.join("large");
        for n in 0..1_100 {
            let folder = large.join(n.to_string());
            fs::create_dir_all(&folder).unwrap();
            fs::File::create(folder.join("a.pem")).unwrap();
        }
        repository.secret("large/9/deep/down/.env");
        let outcome = repository.call("grep -r KEY large", "").await;
        let Outcome::Asked(why) = &outcome else { panic!("{outcome:?}") };
        assert!(why.contains("too many files") || why.contains("may hold secrets"), "{why}");
        assert!(repository.call("grep -r foo src", "").await.ran().is_some());
        assert!(repository.call("cat src/main.rs", "").await.ran().is_some());
    }
}

#[tokio::test]
async fn what_changes_between_judging_and_running_is_noticed() {
    let repository = Repository::sandboxed().remove(0);
    repository.write("plain/a.txt", "x");
    assert!(repository.call("grep -R x plain", "").await.ran().is_some());
    repository.link(repository.bench.outside.clone(), "plain/out");
    let refused = repository.run_unjudged("grep -R x plain").await.unwrap_err();
    assert!(refused.contains("outside the project") && refused.contains("needs approval"), "{refused}");
    let bare = Repository::bare();
    let refused = bare.run_unjudged("grep -r KEY .").await.unwrap_err();
    assert!(refused.contains("may hold secrets"), "{refused}");
    assert!(bare.run_unjudged("rm -rf src").await.is_err(), "not known to only read");
    assert!(bare.bench.root.join("src/main.rs").exists());
}
