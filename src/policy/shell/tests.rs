//! The corpus of commands with their expected verdicts, and laws that hold for any text.

use proptest::prelude::*;

use super::{ShellCall, ShellRules, judge};
use crate::domain::{Class, Risk};
use crate::policy::{Compound, Mode, Reason, Verdict};

const CORPUS: &str = include_str!("../../../tests/fixtures/shell_corpus.tsv");

const NONE: &[&str] = &[];

/// The rule sets the corpus names.
fn rules(set: &str) -> ShellRules {
    let (mode, compound, allow, deny) = match set {
        "default" => (Mode::Ask, Compound::Ask, NONE, NONE),
        "analyze" => (Mode::Ask, Compound::Analyze, NONE, NONE),
        "rules" => (
            Mode::Ask,
            Compound::Analyze,
            &["git add", "npm test", "cargo build", "sudo systemctl status"][..],
            &["rm", "git push", "curl"][..],
        ),
        "open" => (Mode::Allow, Compound::Ask, NONE, &["rm", "git push"][..]),
        "wide" => (
            Mode::Allow,
            Compound::Ask,
            NONE,
            &[
                "npm install",
                "docker rm",
                "kubectl delete",
                "terraform destroy",
                "systemctl stop",
                "cargo publish",
                "pip uninstall",
                "rm -rf",
                "python",
            ][..],
        ),
        "five" => {
            (Mode::Allow, Compound::Ask, NONE, &["shutdown", "git push", "rm", "npm install", "curl"][..])
        }
        "free" => (Mode::Allow, Compound::Ask, NONE, NONE),
        "closed" => (Mode::Deny, Compound::Analyze, &["git status", "npm test"][..], NONE),
        other => panic!("the corpus names no rule set {other}"),
    };
    ShellRules::new(mode, compound, allow, deny, "/home/u/p").unwrap()
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow(Class::ReadOnly) => "look",
        Verdict::Allow(Class::ProjectWritable) => "write",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

fn verdict(set: &str, command: &str) -> Verdict {
    judge(&rules(set), &ShellCall { command, cwd: "" }).verdict
}

/// `<LF>`, `<U+202E>` and the like stand for characters that a line of a file cannot contain or that are invisible.
fn unescaped(text: &str) -> String {
    let mut out =
        text.replace("<LF>", "\n").replace("<CR>", "\r").replace("<NUL>", "\0").replace("<TAB>", "\t");
    while let Some((before, rest)) = out.split_once("<U+") {
        let (code, after) = rest.split_once('>').unwrap();
        let letter = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
        out = format!("{before}{letter}{after}");
    }
    out
}

/// (line, verdict, rule set, command)
fn corpus() -> Vec<(usize, &'static str, &'static str, String)> {
    let mut rows = Vec::new();
    for (number, line) in CORPUS.lines().enumerate() {
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        let mut fields = line.splitn(3, '\t');
        let (want, set, command) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        rows.push((number + 1, want, set, unescaped(command)));
    }
    rows
}

#[test]
fn every_command_of_the_corpus_gets_its_verdict() {
    let mut wrong = Vec::new();
    let rows = corpus();
    for (line, want, set, command) in &rows {
        let got = verdict(set, command);
        if word(&got) != *want {
            wrong.push(format!("line {line}: {command:?} ({set}) must {want}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() >= 320, "the corpus has shrunk to {}", rows.len());
}

#[test]
fn no_command_is_in_the_corpus_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for (line, _, set, command) in corpus() {
        assert!(seen.insert((set, command.clone())), "line {line}: {command:?} is there already");
    }
}

#[test]
fn what_asks_says_why_and_what_looks_does_not_write() {
    for (line, _, set, command) in corpus() {
        let judged = judge(&rules(set), &ShellCall { command: &command, cwd: "" });
        match &judged.verdict {
            Verdict::Ask { reasons, risk } => {
                assert!(!reasons.is_empty(), "line {line}");
                assert_eq!(*risk, judged.risk, "line {line}");
                if reasons.contains(&Reason::PerhapsDenied) {
                    assert!(*risk == Risk::High && !judged.grantable, "line {line}");
                }
            }
            Verdict::Allow(Class::ReadOnly) => assert!(!judged.writes && !judged.network, "line {line}"),
            Verdict::Allow(Class::ProjectWritable) | Verdict::Deny { .. } => {}
        }
    }
}

#[test]
fn the_place_counts() {
    let place =
        |cwd: &str, command: &str| word(&judge(&rules("analyze"), &ShellCall { command, cwd }).verdict);
    assert_eq!(place("", "cat ../x"), "ask");
    assert_eq!(place("sub", "cat ../x"), "look");
    assert_eq!(place("sub", "cat ../../x"), "ask");
    assert_eq!(place("sub", "cat ../.env"), "ask");
    assert_eq!(place("", "cd sub && cat a"), "look");
    // If the first fails, the second runs in the old folder.
    assert_eq!(place("", "cd sub; cat ../a"), "ask");
    assert_eq!(place("sub", "cat /home/u/p/a"), "look");
}

#[test]
fn what_is_read_is_named_with_its_links_still_in_it() {
    let judged = judge(&rules("analyze"), &ShellCall { command: "cat a/../b && grep -r x", cwd: "sub" });
    let reads: Vec<_> = judged.reads.iter().map(|read| (read.path.as_str(), read.deep)).collect();
    assert_eq!(reads, [("sub/a/../b", false), ("sub/.", true)]);
}

#[test]
fn scripts_are_named_through_wrappers_and_beside_variables() {
    let judged = judge(&rules("default"), &ShellCall { command: "sudo bash tools/x.sh $A; ./y", cwd: "" });
    assert_eq!(judged.scripts, ["./y", "tools/x.sh"]);
}

fn looking() -> impl Strategy<Value = String> {
    let rows: Vec<String> = corpus().into_iter().filter(|row| row.1 == "look").map(|row| row.3).collect();
    proptest::sample::select(rows)
}

fn dangerous() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "rm x",
        "curl http://x",
        "tee x",
        "sh",
        "python -c 1",
        "find . -delete",
        "git push",
        "sort -o x y",
        "dd of=x",
        "env",
        "sed -i s/a/b/ x",
        "xargs rm",
        "touch x",
        "uniq a b",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_makes_the_judge_panic(text in any::<String>(), set in proptest::sample::select(vec!["default", "rules", "open"])) {
        judge(&rules(set), &ShellCall { command: &text, cwd: "" });
    }

    #[test]
    fn no_soup_of_shell_words_makes_the_judge_panic(
        soup in proptest::collection::vec(proptest::sample::select(vec![
            "ls", "rm", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{", "}", "$(", "`", "\"", "'", "<<E", "\nE\n", "<(",
            ">", "<", "<<<", "${", "x", "[[", "]]", "((", "))", "[", "]", "if", "then", "fi", "for", "in", "do", "done", "case",
            "esac", "\\", "$", "=", "A=", "!", "*", "~", "#", "sh -c '", "eval ", "sudo ", "xargs ", "find . -exec ", "2>&1",
            "é", "会", "{\u{e0041}", "{1..", "{a..", "\u{202e}", "\r", "function f", "select", "time", "coproc", "@(", "?(", "-c", "\0",
        ]), 0..40)
    ) {
        let text: String = soup.concat();
        let judged = judge(&rules("analyze"), &ShellCall { command: &text, cwd: "" });
        // A line judged read-only names no command with side effects.
        if word(&judged.verdict) == "look" {
            prop_assert!(judged.commands.iter().flatten().all(|w| w != "rm" && w != "eval") || text.contains("ls"));
            for part in &judged.parts {
                prop_assert!(part.argv.first().is_some_and(|name| name != "rm" && name != "sudo"), "{text:?}");
            }
        }
    }

    #[test]
    fn nothing_dangerous_rides_along_with_what_looks(
        look in looking(),
        danger in dangerous(),
        separator in proptest::sample::select(vec![
            " && ", " || ", "; ", " | ", " & ", "\n", " |& ", ";\n", "&", ";", "|", "\r\n", "\n\n", " $(", " `", " <(", " >(", " && (",
            " && { ", " && ! ", "; if ", " && time ", " &&\n", "\\\n", ";;", "\u{2028}",
        ]),
        first in any::<bool>(),
        set in proptest::sample::select(vec!["default", "analyze"]),
    ) {
        // In a comment or after a bare `\`, nothing would run; that is not tested here.
        prop_assume!(!look.contains('#'));
        let text = if first { format!("{danger}{separator}{look}") } else { format!("{look}{separator}{danger}") };
        let got = verdict(set, &text);
        prop_assert!(!got.is_allowed(), "{text:?} {got:?}");
    }

    #[test]
    fn no_sign_makes_a_dangerous_command_look_harmless(
        danger in proptest::sample::select(vec![
            "rm x", "curl http://x", "tee x", "sh", "python -c 1", "git push", "dd of=x", "env", "xargs rm", "touch x", "eval rm",
            "sudo rm", "awk 1 x", "sh -c rm", "mv a b",
        ]),
        sign in any::<char>().prop_filter("a sign", |c| !c.is_alphanumeric()),
        shell_sign in proptest::sample::select("\n\r\t;&|<>(){}[]$`'\"\\*?~#!=%^-+,. \u{200b}".chars().collect::<Vec<_>>()),
        strange in any::<bool>(),
        at in 0_usize..22,
        set in proptest::sample::select(vec!["default", "analyze"]),
    ) {
        let sign = if strange { sign } else { shell_sign };
        let at = at.min(danger.chars().count());
        let text: String = danger.chars().take(at).chain([sign]).chain(danger.chars().skip(at)).collect();
        let got = verdict(set, &text);
        prop_assert!(word(&got) != "look", "{text:?}");
    }

    #[test]
    fn a_denied_command_is_found_inside_any_other_command(
        look in looking(),
        wrapper in proptest::sample::select(vec![
            "", "sudo ", "env A=1 ", "timeout 5 ", "nohup ", "command ", "sh -c '", "bash -lc '", "eval ", "xargs ", "nice -n 3 ",
            "find . -exec ", "( ", "echo $(", "echo `", "/bin/", "time ", "! ", "if true; then ", "\\", "sudo -u root env -i timeout 3 ",
        ]),
        joint in proptest::sample::select(vec!["; ", " && ", " | ", "\n", " || "]),
    ) {
        prop_assume!(!look.contains(['#', '\'']));
        let end = match wrapper {
            "sh -c '" | "bash -lc '" => "'",
            "( " | "echo $(" => ")",
            "echo `" => "`",
            "find . -exec " => " \\;",
            "if true; then " => "; fi",
            _ => "",
        };
        let text = format!("{look}{joint}{wrapper}rm x{end}");
        for set in ["rules", "open"] {
            prop_assert!(word(&verdict(set, &text)) == "deny", "{set} {text:?} {:?}", verdict(set, &text));
        }
    }

    #[test]
    fn no_launcher_and_no_option_lets_a_denied_command_run(
        denied in proptest::sample::select(vec!["rm x", "/bin/rm -f x", "git push", "git -C y push", "r\"\"m x", "RM x"]),
        launchers in proptest::collection::vec(launcher(), 0..4),
        before in proptest::sample::select(vec!["", "make && ", "ls | ", "A=1 ", "X=y; ", "2>&1 ", "! ", "cd y; ", "true || "]),
        after in proptest::sample::select(vec!["", " && ls", "; ls", " | cat", " > y", " 2>&1", " # x", " &"]),
    ) {
        let text = format!("{before}{}{denied}{after}", launchers.concat());
        for set in ["rules", "open"] {
            let got = verdict(set, &text);
            prop_assert!(!got.is_allowed(), "{set} {text:?} {got:?}");
            if let Verdict::Ask { risk, reasons } = &got {
                prop_assert!(*risk == Risk::High && reasons.contains(&Reason::PerhapsDenied), "{text:?} {got:?}");
            }
        }
    }

    #[test]
    fn a_denied_command_in_a_text_that_something_may_run_always_asks(
        denied in proptest::sample::select(vec!["rm x", "git push", "/bin/rm x", "git --bare push"]),
        program in proptest::sample::select(vec![
            "foo", "foo -e", "foo --run", "python -c", "perl -e", "ssh host", "tmux new", "docker run x", "make", "npx x", "awk", "sed",
            "X=y foo", "export X=", "printf %s", "tee y <<<", "su -c", "find . -name", "xargs -I{} sh -c", "nix-shell --run", "at now -f",
        ]),
        quote in proptest::sample::select(vec!["'", "\""]),
    ) {
        let text = format!("{program} {quote}{denied}{quote} > y");
        let got = verdict("open", &text);
        prop_assert!(!got.is_allowed(), "{text:?} {got:?}");
    }
}

/// A launcher with any options, known or unknown.
fn launcher() -> impl Strategy<Value = String> {
    let names = proptest::sample::select(vec![
        "sudo",
        "doas",
        "env",
        "env A=b",
        "timeout 5",
        "nice",
        "ionice",
        "nohup",
        "setsid",
        "stdbuf -oL",
        "command",
        "exec",
        "time",
        "/usr/bin/time",
        "strace",
        "ltrace",
        "flock /l",
        "setpriv",
        "setarch x86_64",
        "unshare",
        "nsenter",
        "chroot .",
        "chrt 1",
        "taskset 1",
        "runuser -u a",
        "npx",
        "npm exec",
        "pnpm dlx",
        "poetry run",
        "uv run",
        "pipenv run",
        "bundle exec",
        "xargs",
        "parallel",
        "watch",
        "ssh host",
        "busybox",
        "systemd-run",
        "eval",
        "builtin",
        "coproc",
        "firejail",
        "somewrapper",
        "tmux new",
        "docker run x",
        "kubectl exec x --",
        "find . -exec",
        "fd x -x",
        "script -q y",
        "su a -s",
        "trap",
        "ld-linux-x86-64.so.2",
    ]);
    let options = proptest::collection::vec(
        proptest::sample::select(vec![
            "-a", "-c", "-e", "-f", "-i", "-n 5", "-o y", "-p", "-q", "-s", "-u a", "-v", "-x", "-C y", "-E",
            "-I{}", "-P4", "-S", "-0", "--", "--foo", "--foo=y", "--foo y", "--user=a", "--user a", "-abc",
            "A=b", "$x", "\"$x\"", "y",
        ]),
        0..3,
    );
    (names, options).prop_map(|(name, options)| {
        let options: String = options.iter().map(|option| format!("{option} ")).collect();
        format!("{name} {options}")
    })
}

/// Whatever the mode and the rules say, as with `write_file`.
#[test]
fn a_write_to_a_file_that_starts_programs_or_holds_secrets_asks_with_high_risk() {
    let copies =
        ShellRules::new(Mode::Ask, Compound::Analyze, &["cp", "git", "tee"], NONE, "/home/u/p").unwrap();
    for rules in [&copies, &rules("free"), &rules("open"), &rules("default")] {
        for command in [
            "cp x .git/hooks/post-checkout",
            "cp x ./sub/../Agent.md",
            "cp -t.git/hooks x",
            "cp id_rsa x",
            "tee Agent.md",
            "echo x > .git/hooks/post-checkout",
            "echo x > .env",
            "echo x 2> \"Agent.md\"",
            "A=1 cp x .git/hooks/pre-commit",
            "(cp x Agent.md)",
            "cp \"$x\" .github/workflows/ci.yml",
            "cp x .gi*/hooks/pre-commit",
            "sh -c 'echo x > Agent.md'",
            "if true; then cp x Agent.md; fi",
            "cp x /home/u/p/.husky/pre-push",
            "cp x ../p/Agent.md",
            "git config core.hooksPath x",
            "git config core.hooksPath list",
            "git config core.hooksPath get",
            "cd .git && cp x hooks",
        ] {
            let verdict = judge(rules, &ShellCall { command, cwd: "" }).verdict;
            assert!(matches!(verdict, Verdict::Ask { risk: Risk::High, .. }), "{command}: {verdict:?}");
        }
        let inside = judge(rules, &ShellCall { command: "cp ../x hooks/y", cwd: ".git" });
        assert_eq!(inside.risk, Risk::High, "{:?}", inside.verdict);
    }
}
