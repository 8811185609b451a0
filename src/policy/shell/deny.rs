//! Whether a deny rule matches a command: certainly, perhaps, or not. A rule is a program and the words after it. There
//! are two tests. The first is for one simple command with known words, skipping the options before the subcommand. The
//! second is for the text of the whole line: the words of a rule anywhere in it, quoted or not, may be a command that
//! another program starts.

use super::globals::{Globals, Subcommand, same_subcommand};
use super::launchers::unversioned;
use super::rules::base_name;
use super::word::ShellWord;

/// Whether a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// It depends on words that are unknown until it runs, or on an unknown option.
    Perhaps,
    Yes,
}

/// Whether the rule matches this simple command.
pub(super) fn matches(rule: &[String], words: &[ShellWord]) -> Match {
    let (Some((program, rest)), Some((name, args))) = (rule.split_first(), words.split_first()) else {
        return Match::No;
    };
    let Some(name) = name.literal() else { return Match::Perhaps };
    match same_program(program, name) {
        Match::No => Match::No,
        Match::Perhaps => arguments(program, rest, args).min(Match::Perhaps),
        Match::Yes => arguments(program, rest, args),
    }
}

/// Whether a word names the program of a rule, by any path and in any case. A version suffix may make it another
/// program.
fn same_program(program: &str, name: &str) -> Match {
    let (program, name) = (base_name(program), base_name(name));
    if program.eq_ignore_ascii_case(name) {
        Match::Yes
    } else if program.eq_ignore_ascii_case(unversioned(name)) {
        Match::Perhaps
    } else {
        Match::No
    }
}

fn arguments(program: &str, rest: &[String], args: &[ShellWord]) -> Match {
    let direct = begins(program, rest, args);
    if direct == Match::Yes || rest.is_empty() {
        return direct;
    }
    let Some(globals) = Globals::of(program) else { return direct.max(in_order(rest, args)) };
    match globals.subcommand(args) {
        Subcommand::Unknown => {
            direct.max(in_order(rest, args)).max(by_default(program, rest).min(Match::Perhaps))
        }
        Subcommand::Missing => direct.max(by_default(program, rest)),
        Subcommand::At(at) => {
            let after = args.get(at..).unwrap_or_default();
            let subcommand = after.first().and_then(ShellWord::literal).unwrap_or_default();
            let wanted = rest.first().map(String::as_str).unwrap_or_default();
            let aliased = !globals.subcommands.is_empty()
                && !globals.subcommands.split(' ').any(|known| known == subcommand);
            let found = begins(program, rest, after);
            let installs = same_subcommand(program, "install", wanted);
            if found == Match::Yes {
                Match::Yes
            } else if aliased || (installs && same_subcommand(program, "ci", subcommand)) {
                // `npm ci` installs as well, from a list.
                Match::Perhaps
            } else if wanted.starts_with('-') || same_subcommand(program, wanted, subcommand) {
                found.max(in_order(rest, args))
            } else if globals.subcommands.is_empty() {
                // `docker container run` is `docker run`.
                in_order(rest, args)
            } else {
                Match::No
            }
        }
    }
}

/// Whether a program without a subcommand does what the rule is about: `yarn` installs.
fn by_default(program: &str, rest: &[String]) -> Match {
    let installs = matches!(base_name(program), "yarn" | "bundle" | "bundler");
    match rest {
        [only] if installs && same_subcommand(program, "install", only) => Match::Yes,
        [first, ..] if installs && same_subcommand(program, "install", first) => Match::Perhaps,
        _ => Match::No,
    }
}

/// Whether the arguments begin with the rule's words.
fn begins(program: &str, rest: &[String], args: &[ShellWord]) -> Match {
    for (i, wanted) in rest.iter().enumerate() {
        match args.get(i) {
            None => return Match::No,
            Some(ShellWord::Dynamic(_)) => return Match::Perhaps,
            Some(ShellWord::Literal(word)) if word == wanted => {}
            Some(ShellWord::Literal(word)) if i == 0 && same_subcommand(program, wanted, word) => {}
            Some(ShellWord::Literal(_)) => return Match::No,
        }
    }
    Match::Yes
}

/// Whether the rule's words occur in order among the arguments, with others between them. Any option may be another
/// spelling of a rule's options: `-r -f` for `-rf`.
fn in_order(rest: &[String], args: &[ShellWord]) -> Match {
    let mut args_left = args.iter();
    for wanted in rest.iter().filter(|wanted| !wanted.starts_with('-')) {
        // A file has many spellings: `./x`, `y/../x`.
        let same = |word: &str| base_name(word).eq_ignore_ascii_case(base_name(wanted));
        if !args_left.any(|arg| arg.literal().is_none_or(same)) {
            return Match::No;
        }
    }
    let wants_option = rest.iter().any(|wanted| wanted.starts_with('-'));
    // `+main` is `--force`, `:main` is `--delete`.
    let has_option =
        args.iter().any(|arg| arg.literal().is_none_or(|word| word.starts_with(['-', '+', ':'])));
    if !wants_option || has_option { Match::Perhaps } else { Match::No }
}

/// Whether all words of the rule occur in the text, in any order: as words of a command, inside quotes, in an
/// assignment. Letters and digits make a word; `firmware` has no `rm` in it, `"sudo rm"` has.
pub(super) fn mentions(rule: &[String], text: &str) -> bool {
    let Some((program, rest)) = rule.split_first() else { return false };
    let text = text.to_ascii_lowercase();
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    [text.replace("\\\n", ""), plain.replace('\n', ""), plain].iter().any(|text| {
        has_word(text, base_name(program), |after| !after.is_alphabetic())
            && rest.iter().all(|word| match word.starts_with('-') {
                true => text.contains('-'),
                false => has_word(text, word, |after| !after.is_alphanumeric()),
            })
    })
}

fn has_word(text: &str, word: &str, may_follow: fn(char) -> bool) -> bool {
    let word = word.to_ascii_lowercase();
    let ends_open = |before: &str| before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
    !word.is_empty()
        && text.match_indices(&word).any(|(at, _)| {
            let after = text.get(at + word.len()..).unwrap_or_default();
            ends_open(text.get(..at).unwrap_or_default()) && after.chars().next().is_none_or(may_follow)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn words(text: &str) -> Vec<ShellWord> {
        text.split(' ').map(ShellWord::read).collect()
    }

    #[test]
    fn a_rule_is_found_behind_the_options_before_the_subcommand() {
        use Match::{No, Perhaps, Yes};
        for (deny, command, want) in [
            ("rm", "rm", Yes),
            ("rm", "/usr/bin/../bin/rm x", Yes),
            ("rm", "./RM x", Yes),
            ("rm", "rmdir x", No),
            ("rm", "$x y", Perhaps),
            ("python", "python3.12 x", Perhaps),
            ("python2", "python3 x", No),
            ("git push", "git push origin", Yes),
            ("git push", "git -C x push", Yes),
            ("git push", "git -Cx push", Yes),
            ("git push", "git -c a=b -p --no-pager push", Yes),
            ("git push", "git --git-dir=y --work-tree z --namespace n --bare push", Yes),
            ("git push", "git --git-dir push status", No),
            ("git push", "git --future-option push", Perhaps),
            ("git push", "git --future-option=1 push", Yes),
            ("git push", "git --future-option 1 push", Perhaps),
            ("git push", "git $x", Perhaps),
            ("git push", "git -C $x push", Perhaps),
            ("git push", "git log push", No),
            ("git push", "git commit -m push", No),
            ("git push", "git p", Perhaps),
            ("git push", "git", No),
            ("git push --force", "git push --force", Yes),
            ("git push --force", "git push -f", Perhaps),
            ("git push --force", "git push origin --force", Perhaps),
            ("git push --force", "git push origin", No),
            ("git push --force", "git push origin +main", Perhaps),
            ("git push --delete", "git push origin :main", Perhaps),
            ("yarn install", "yarn", Yes),
            ("yarn install", "yarn --frozen-lockfile", Perhaps),
            ("yarn install", "yarn test", No),
            ("yarn install --force", "yarn --force", Perhaps),
            ("yarn add", "yarn", Yes),
            ("bundle install", "bundle", Yes),
            ("bundle install", "bundle --jobs 4", Perhaps),
            ("bundle install", "bundle exec rake", No),
            ("npm install", "npm it", Yes),
            ("npm ci", "npm cit", Yes),
            ("npm install", "npm ci", Perhaps),
            ("npm install", "npm --prefix x cit", Perhaps),
            ("npm ci", "npm install", No),
            ("rm -rf", "rm -rf x", Yes),
            ("rm -rf", "rm -fr x", Perhaps),
            ("rm -rf", "rm -r -f x", Perhaps),
            ("rm -rf", "rm --recursive --force x", Perhaps),
            ("rm -rf", "rm x", No),
            ("npm install", "npm --prefix x i left-pad", Yes),
            ("npm install", "npm --some-option x install", Perhaps),
            ("npm install", "npm run build", No),
            ("docker rm", "docker --context x container rm y", Perhaps),
            ("docker rm", "docker -H x rm y", Yes),
            ("docker rm", "docker ps", No),
            ("cargo publish", "cargo +nightly -q publish", Yes),
            ("systemctl stop", "systemctl --user -q stop x", Yes),
            ("terraform destroy", "terraform -chdir=x destroy", Yes),
            ("foo bar", "foo --x 1 bar", Perhaps),
            ("foo bar", "foo baz", No),
            ("cat notes.txt", "cat ./sub/../notes.txt", Perhaps),
            ("cat notes.txt", "cat -n notes.txt", Perhaps),
        ] {
            assert_eq!(matches(&rule(deny), &words(command)), want, "{deny} / {command}");
        }
    }

    #[test]
    fn a_rule_is_found_in_a_text_by_whole_words() {
        for (deny, text, want) in [
            ("rm", "X=rm", true),
            ("rm", "echo \"sudo rm -rf\"", true),
            ("rm", "bash -c \"r\"\"m x\"", true),
            ("rm", "r\\m x", true),
            ("rm", "r\\\nm x", true),
            ("rm", "foo --rm", true),
            ("rm", "RM", true),
            ("rm", "/bin/rm", true),
            ("rm", "rm2", true),
            ("rm", "firmware rmdir norm", false),
            ("rm", "confirm.sh", false),
            ("git push", "a=push; git $a", true),
            ("git push", "git pushed", false),
            ("git push", "push", false),
            ("rm -rf", "rm x", false),
            ("rm -rf", "x 'rm -r -f'", true),
            ("apt-get", "apt-get", true),
            ("apt-get", "apt get", false),
        ] {
            assert_eq!(mentions(&rule(deny), text), want, "{deny} / {text}");
        }
    }
}
