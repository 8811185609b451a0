//! Commands that start other commands. They are looked through so that the deny list finds what is inside; none of
//! them ever runs unasked.

use super::launchers::{CALLING, Form, HIDING, INTERPRETERS, SCRIPTED, SHELLS, WRAPPERS, Wrapper};
use super::rules::base_name;
use super::word::Word;

/// What a command starts.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// Commands, as words.
    pub(super) commands: Vec<Vec<Word>>,
    /// Scripts, as text.
    pub(super) scripts: Vec<String>,
    /// Whether something else may run that cannot be seen from here.
    pub(super) hidden: bool,
}

/// Whether the command of this name exists to start others.
pub(in crate::policy) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.names.contains(&name))
        || SCRIPTED.iter().any(|(names, _)| names.contains(&name))
        || matches!(
            name,
            "source" | "." | "at" | "batch" | "alias" | "bind" | "complete" | "mapfile" | "hash"
        )
}

/// What this command starts, as far as its words tell.
pub(super) fn inside(words: &[Word]) -> Inner {
    let mut inner = Inner::default();
    let Some((first, args)) = words.split_first() else { return inner };
    let Some(name) = first.literal().map(base_name) else {
        inner.hidden = true;
        return inner;
    };
    if SHELLS.contains(&name) {
        shell(args, &mut inner);
    }
    for (names, options) in SCRIPTED.iter().filter(|(names, _)| names.contains(&name)) {
        scripted(names, options, args, &mut inner);
    }
    for (_, options) in CALLING.iter().filter(|(names, _)| names.contains(&name)) {
        calling(options, args, &mut inner);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) {
        wrapped(wrapper, args, &mut inner);
    }
    inner.hidden |= hides(name, args);
    inner
}

fn hides(name: &str, args: &[Word]) -> bool {
    let has =
        |options: &[&str]| args.iter().any(|arg| options.iter().any(|option| is_option(arg.text(), option)));
    let runs_text = INTERPRETERS.contains(&name)
        && (args.is_empty() || has(&["-c", "-e", "-E", "-r", "--eval", "-p", "-", "--cmd"]));
    let awk = name.ends_with("awk") && args.iter().any(|arg| arg.text().contains(['(', '|']));
    let editor = matches!(name, "vi" | "vim" | "nvim" | "view" | "less" | "more")
        && args.iter().any(|arg| arg.text().starts_with('+'));
    let escapes = HIDING.iter().any(|(names, options)| names.contains(&name) && has(options));
    let source = matches!(name, "source" | "." | "alias" | "enable");
    runs_text || awk || editor || escapes || source
}

/// Whether an argument is this option, with or without a value in it.
fn is_option(arg: &str, option: &str) -> bool {
    let long = option.starts_with("--") || !option.starts_with('-');
    let rest = arg.strip_prefix(option);
    rest.is_some_and(|rest| rest.is_empty() || !long || rest.starts_with('='))
}

/// `sh [options] -c SCRIPT`, `sh FILE`, or whatever comes on the input.
fn shell(args: &[Word], inner: &mut Inner) {
    let mut takes_script = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.literal() else {
            inner.hidden = true;
            return;
        };
        match text {
            "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => {
                args.next();
            }
            "--" | "-" => {}
            _ if text.starts_with("--") => {}
            _ if text.starts_with(['-', '+']) => takes_script |= text.starts_with('-') && text.contains('c'),
            _ if takes_script => {
                inner.scripts.push(text.to_owned());
                return;
            }
            // A file: its digest is bound into the approval, its text is not judged.
            _ => return,
        }
    }
    inner.hidden = true;
}

fn scripted(names: &[&str], options: &[&str], args: &[Word], inner: &mut Inner) {
    if names.contains(&"trap") {
        let script = args.iter().find(|arg| !arg.text().starts_with('-'));
        inner.scripts.extend(script.and_then(Word::literal).map(str::to_owned));
        inner.hidden |= script.is_some_and(|arg| arg.literal().is_none());
        return;
    }
    for (i, arg) in args.iter().enumerate() {
        let Some(option) = options.iter().find(|option| is_option(arg.text(), option)) else { continue };
        let attached = arg.text().strip_prefix(option).unwrap_or_default().trim_start_matches('=');
        let value =
            if attached.is_empty() { args.get(i + 1).and_then(Word::literal) } else { Some(attached) };
        match (value, arg.literal()) {
            (Some(value), Some(_)) => inner.scripts.push(value.to_owned()),
            _ => inner.hidden = true,
        }
    }
}

fn calling(options: &[&str], args: &[Word], inner: &mut Inner) {
    for (i, arg) in args.iter().enumerate() {
        if options.contains(&arg.text()) {
            let rest = args.iter().skip(i + 1);
            let command: Vec<Word> =
                rest.take_while(|word| !matches!(word.text(), ";" | "+")).cloned().collect();
            inner.commands.push(command);
        }
    }
}

fn wrapped(wrapper: &Wrapper, args: &[Word], inner: &mut Inner) {
    let mut at = 0;
    let mut operands = 0;
    while let Some(arg) = args.get(at) {
        let text = arg.text();
        if arg.literal().is_none() {
            // It may be an option, an operand or the command itself.
            inner.hidden = true;
        }
        if text == "--" {
            at += 1;
            inner.hidden |= operands < wrapper.skip;
            break;
        } else if text.starts_with("--") {
            at += if wrapper.long.contains(&text) { 2 } else { 1 };
        } else if text.len() > 1 && text.starts_with('-') {
            // The last letter of a cluster may take the next word.
            let takes = text.chars().last().is_some_and(|c| wrapper.short.contains(c));
            let attached =
                text.chars().nth(1).is_some_and(|c| wrapper.short.contains(c)) && text.chars().count() > 2;
            at += if takes && !attached { 2 } else { 1 };
        } else if is_assignment(text) || matches!(text, "!" | "{" | "time") {
            at += 1;
        } else if operands < wrapper.skip {
            operands += 1;
            at += 1;
        } else {
            break;
        }
    }
    let mut rest: Vec<Word> = args.get(at..).unwrap_or_default().to_vec();
    match wrapper.form {
        Form::Joined => {
            let literal: Option<Vec<&str>> = rest.iter().map(Word::literal).collect();
            match literal {
                Some(words) => inner.scripts.push(words.join(" ")),
                None => inner.hidden = true,
            }
            // Its own words are a command too when no second shell splits them.
            inner.commands.push(rest);
        }
        Form::Open => {
            rest.push(Word::Dynamic("…".to_owned()));
            inner.commands.push(rest);
        }
        Form::Argv => inner.commands.push(rest),
    }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Vec<String>, Vec<String>, bool) {
        let script = super::super::parse::read(text);
        let inner = inside(script.commands.first().unwrap());
        let joined = |words: &Vec<Word>| words.iter().map(Word::text).collect::<Vec<_>>().join(" ");
        (inner.commands.iter().map(joined).collect(), inner.scripts, inner.hidden)
    }

    #[test]
    fn the_command_inside_is_found() {
        for text in [
            "sudo rm x",
            "sudo -u root -E rm x",
            "sudo --user root rm x",
            "sudo --user=root rm x",
            "sudo -uroot rm x",
            "sudo A=1 rm x",
            "doas rm x",
            "env rm x",
            "env A=1 -u B rm x",
            "env -i rm x",
            "env -- rm x",
            "timeout 5 rm x",
            "timeout -k 3 -s KILL 5 rm x",
            "nice -n 5 rm x",
            "nohup rm x",
            "setsid -f rm x",
            "stdbuf -o0 rm x",
            "stdbuf -o 0 rm x",
            "command rm x",
            "command -p rm x",
            "builtin rm x",
            "exec -a y rm x",
            "time -p rm x",
            "time ! rm x",
            "coproc rm x",
            "busybox rm x",
            "chroot /y rm x",
            "flock /y rm x",
            "strace -o y rm x",
            "find . -exec rm x \\;",
            "find . -name y -execdir rm x +",
            "fd y -x rm x",
        ] {
            assert_eq!(found(text).0, ["rm x"], "{text}");
        }
        assert_eq!(found("xargs -0 -n 1 -I{} rm x").0, ["rm x …"]);
    }

    #[test]
    fn the_script_inside_is_found() {
        for text in [
            "sh -c 'rm x'",
            "bash -lc 'rm x'",
            "bash -e -o pipefail -c 'rm x'",
            "bash -c -- 'rm x' y z",
            "/bin/sh -c 'rm x'",
            "eval rm x",
            "eval 'rm x'",
            "watch -n 5 rm x",
            "ssh -p 22 host rm x",
            "su -c 'rm x' root",
            "su root --command='rm x'",
            "trap 'rm x' EXIT",
            "env -S 'rm x'",
            "env '-Srm x'",
        ] {
            assert!(found(text).1.contains(&"rm x".to_owned()), "{text} {:?}", found(text));
        }
    }

    #[test]
    fn what_cannot_be_seen_is_said_to_be_hidden() {
        for text in [
            "$x y",
            "sh",
            "bash -s",
            "sh -c \"$x\"",
            "sh $x",
            "eval \"$x\"",
            "python -c 'x'",
            "perl -e x",
            "node",
            "git -c a=b log",
            "git rebase --exec x",
            "git submodule foreach x",
            "tar --checkpoint-action=exec=x",
            "vim +:!x",
            "rsync -e x",
            "source x",
            ". x",
            "alias a=b",
            "sudo $x y",
            "awk 'BEGIN{system(\"x\")}'",
            "python3 -",
            "env $x",
        ] {
            assert!(found(text).2, "{text}");
        }
    }
}
