//! Commands that start other commands. They are unwrapped so that the deny list finds the inner command; none of them
//! ever runs without approval. What cannot be unwrapped is reported as hidden.

use super::globals::{Globals, Subcommand};
use super::launchers::{Form, LAUNCHERS, Launcher, is_interpreter, is_shell, lists};
use super::opaque::{CALLING, GIT_SELF_CONTAINED, HIDING, OPAQUE, SELF_CONTAINED};
use super::rules::base_name;
use super::unseen::{hides, may_carry_code};
use super::word::ShellWord;

/// Stands for the words that a command gets from another source.
const MORE: &str = "…";

/// What a command starts.
#[derive(Debug, Default)]
pub(super) struct WrappedCommand {
    pub(super) commands: Vec<Vec<ShellWord>>,
    pub(super) scripts: Vec<String>,
    /// Whether something else may run that is not visible here.
    pub(super) hidden: bool,
}

/// Whether the command exists to start another one.
pub(super) fn is_launcher(words: &[ShellWord]) -> bool {
    let Some((name, args)) = named(words) else { return false };
    launcher(name, args).is_some() || lists(OPAQUE, name) || lists("trap", name)
}

/// Whether an option or the program itself makes it run something that is not parsed here.
pub(super) fn runs_unseen(words: &[ShellWord]) -> bool {
    named(words).is_some_and(|(name, args)| hides(name, args))
}

/// What this command starts, as far as its words show.
pub(super) fn inside(words: &[ShellWord]) -> WrappedCommand {
    let mut inner = WrappedCommand::default();
    if words.is_empty() {
        return inner;
    }
    let Some((name, args)) = named(words) else {
        inner.hidden = true;
        return inner;
    };
    let launcher = launcher(name, args);
    let shell = is_shell(name);
    if shell {
        start_shell(args, &mut inner);
    }
    // `command -v x` only prints the path of x.
    let only_tells = name == "command" && args.first().is_some_and(|arg| matches!(arg.text(), "-v" | "-V"));
    if let Some((launcher, args)) = launcher.filter(|_| !only_tells) {
        launch(launcher, args, &mut inner);
    }
    if lists("trap", name) {
        trap(args, &mut inner);
    }
    for (_, options) in CALLING.iter().filter(|(names, _)| lists(names, name)) {
        calling(options, args, &mut inner);
    }
    let open = words.last().is_some_and(|word| word.literal().is_none() && word.text() == MORE);
    inner.hidden |= open && !takes_any_arguments(name, args);
    let looked_through = shell || launcher.is_some() || lists("trap", name);
    inner.hidden |= hides(name, args) || (!looked_through && may_carry_code(name, args));
    inner
}

fn named(words: &[ShellWord]) -> Option<(&str, &[ShellWord])> {
    let (first, args) = words.split_first()?;
    let name = base_name(first.literal()?);
    // The loader of shared libraries runs the program it is given.
    let loader = name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld64");
    Some((if loader { "ld.so" } else { name }, args))
}

/// The entry of the table for a command, and the arguments after its subcommand.
fn launcher<'a>(name: &str, args: &'a [ShellWord]) -> Option<(&'static Launcher, &'a [ShellWord])> {
    LAUNCHERS.iter().find_map(|launcher| {
        if !lists(launcher.names, name) {
            return None;
        }
        if launcher.subcommands.is_empty() {
            return Some((launcher, args));
        }
        let is_subcommand =
            |arg: &ShellWord| arg.literal().is_some_and(|arg| lists(launcher.subcommands, arg));
        let at = match Globals::of(name).map(|globals| globals.subcommand(args)) {
            Some(Subcommand::At(at)) => args.get(at).is_some_and(is_subcommand).then_some(at),
            // Unknown options may be skipped wrongly; the words are searched as well.
            Some(Subcommand::Missing | Subcommand::Unknown) | None => args.iter().position(is_subcommand),
        }?;
        Some((launcher, args.get(at + 1..).unwrap_or_default()))
    })
}

/// `sh [options] -c SCRIPT`, `sh FILE`, or a script on the input.
fn start_shell(args: &[ShellWord], inner: &mut WrappedCommand) {
    const FLAGS: &str = "--debugger --login --noediting --noprofile --norc --no-config --no-execute --posix \
        --private --restricted --verbose";
    let mut takes_script = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.literal() else {
            inner.hidden = true;
            return;
        };
        match text {
            "--rcfile" | "--init-file" => inner.hidden |= args.next().is_none() || takes_script,
            "--command" => takes_script = true,
            "--" | "-" => {}
            _ if text.starts_with("--") => {
                inner.hidden |= !FLAGS.split_ascii_whitespace().any(|flag| flag == text)
            }
            _ if text.starts_with(['-', '+']) => {
                takes_script |= text.starts_with('-') && text.contains('c');
                if text.contains(['o', 'O']) {
                    args.next();
                }
                // `fish -C x` runs x first.
                inner.hidden |= text.contains('C') && text.starts_with('-');
            }
            _ if takes_script => {
                inner.scripts.push(text.to_owned());
                return;
            }
            // A file: its digest is part of the fingerprint, its text is not judged. Its input is no file.
            _ => {
                inner.hidden |= text.starts_with("/dev/") || text.starts_with("/proc/");
                return;
            }
        }
    }
    inner.hidden = true;
}

fn trap(args: &[ShellWord], inner: &mut WrappedCommand) {
    let script = args.iter().find(|arg| !arg.text().starts_with('-'));
    inner.scripts.extend(script.and_then(ShellWord::literal).map(str::to_owned));
    inner.hidden |= script.is_some_and(|arg| arg.literal().is_none());
}

fn calling(options: &str, args: &[ShellWord], inner: &mut WrappedCommand) {
    for (i, arg) in args.iter().enumerate() {
        if options.split_ascii_whitespace().any(|option| option == arg.text()) {
            let rest = args.iter().skip(i + 1);
            let command: Vec<ShellWord> =
                rest.take_while(|word| !matches!(word.text(), ";" | "+")).cloned().collect();
            inner.hidden |= starts_what_it_finds(&command, "{");
            inner.commands.push(command);
        } else if arg.literal().is_none() && arg.text().contains(['$', '`']) {
            inner.hidden = true;
        }
    }
}

/// Whether the program of a command, or what its program starts, is filled in when it runs: `find . -exec {} x`,
/// `xargs -I% env %`.
fn starts_what_it_finds(command: &[ShellWord], placeholder: &str) -> bool {
    let filled_in = |word: &ShellWord| word.text().contains(placeholder);
    let Some((program, rest)) = command.split_first() else { return false };
    let starts = || {
        let name = base_name(program.text());
        is_shell(name) || is_interpreter(name) || Globals::of(name).is_some() || is_launcher(command)
    };
    filled_in(program) || (rest.iter().any(filled_in) && starts())
}

/// The text that `xargs` and `parallel` replace in a command.
fn placeholder(args: &[ShellWord]) -> String {
    const OPTIONS: &[&str] = &["-I", "-J", "--replace=", "-i"];
    let given = args.iter().enumerate().find_map(|(at, arg)| {
        let attached = OPTIONS.iter().find_map(|option| arg.text().strip_prefix(option))?;
        let next = || args.get(at + 1).map(ShellWord::text).unwrap_or_default();
        let own_word = attached.is_empty() && arg.text() != "-i";
        Some(if own_word { next() } else { attached }.to_owned())
    });
    given.filter(|text| !text.is_empty()).unwrap_or_else(|| "{".to_owned())
}

/// The effect of an option on the words after it.
enum Step {
    /// It has this many words, itself included.
    Skip(usize),
    /// Its value is a script: the text attached to it, or the next word.
    Script(Option<String>),
    Unknown,
}

/// Skips the options and operands of a launcher to find the command it starts.
fn launch(launcher: &Launcher, args: &[ShellWord], inner: &mut WrappedCommand) {
    let (least, most) = launcher.operands;
    let mut at = 0;
    let mut operands = 0;
    let mut started = false;
    let mut ended = false;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.literal() else {
            // It may be an option, an operand or the command itself.
            inner.hidden = true;
            break;
        };
        let step = if !ended && matches!(text, "--" | "-") {
            ended |= text == "--";
            Step::Skip(1)
        } else if !ended && text.starts_with('-') {
            option(launcher, text)
        } else if (launcher.assigns && is_assignment(text)) || matches!(text, "!" | "{") {
            Step::Skip(1)
        } else if operands < most {
            if operands >= least {
                inner.commands.push(args.get(at..).unwrap_or_default().to_vec());
            }
            operands += 1;
            Step::Skip(1)
        } else {
            break;
        };
        match step {
            Step::Skip(words) => at += words,
            Step::Unknown => {
                inner.hidden = true;
                return;
            }
            Step::Script(attached) => {
                let words = usize::from(attached.is_none()) + 1;
                let value = attached.or_else(|| args.get(at + 1)?.literal().map(str::to_owned));
                let rest: Option<Vec<&str>> =
                    args.get(at + words..).unwrap_or_default().iter().map(ShellWord::literal).collect();
                match (value, rest) {
                    // `env -S` uses the words after it too; others ignore them.
                    (Some(value), Some(rest)) => {
                        inner.scripts.push([&[value.as_str()], rest.as_slice()].concat().join(" "));
                        inner.scripts.push(value);
                    }
                    _ => inner.hidden = true,
                }
                started = true;
                at += words;
            }
        }
    }
    let rest: Vec<ShellWord> = args.get(at..).unwrap_or_default().to_vec();
    // A launcher without a command starts a shell, or reads commands from its input.
    let nothing_to_start = inner.commands.is_empty() || !launcher.scripts.is_empty();
    inner.hidden |= rest.is_empty() && !started && nothing_to_start && !lists("flock exec", launcher.names);
    if launcher.form == Form::Open {
        // `parallel ::: x` and `parallel :::: file` have their commands elsewhere.
        inner.hidden |= rest.first().is_some_and(|first| first.text().starts_with(":::"));
        inner.hidden |= starts_what_it_finds(&rest, &placeholder(args));
    }
    finish(launcher, rest, inner);
}

fn finish(launcher: &Launcher, mut rest: Vec<ShellWord>, inner: &mut WrappedCommand) {
    match launcher.form {
        Form::Joined => {
            let literal: Option<Vec<&str>> = rest.iter().map(ShellWord::literal).collect();
            match literal {
                Some(words) => inner.scripts.push(words.join(" ")),
                None => inner.hidden = true,
            }
            // Its own words are a command too when no second shell splits them.
            inner.commands.push(rest);
        }
        Form::Open => {
            rest.push(ShellWord::Dynamic(MORE.to_owned()));
            inner.commands.push(rest);
        }
        Form::Argv => inner.commands.push(rest),
    }
}

/// Whether a command starts nothing, with any further arguments.
fn takes_any_arguments(name: &str, args: &[ShellWord]) -> bool {
    let has_options = |(names, _): &(&str, &str)| lists(names, name);
    let subcommand = args.iter().find_map(ShellWord::literal).unwrap_or_default();
    let git = name == "git" && lists(GIT_SELF_CONTAINED, subcommand);
    let launches = launcher(name, args).is_some();
    git || launches || (lists(SELF_CONTAINED, name) && !HIDING.iter().chain(CALLING).any(has_options))
}

fn option(launcher: &Launcher, text: &str) -> Step {
    let is_script = |name: &str| launcher.scripts.split_ascii_whitespace().any(|script| script == name);
    if text.starts_with("--") {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if is_script(name) {
            return Step::Script(value.map(str::to_owned));
        }
        let known = |ending: &str| {
            launcher.long.split_ascii_whitespace().any(|long| long.strip_suffix(ending) == Some(name))
        };
        return match value {
            Some(_) if known("=") || known("[=]") => Step::Skip(1),
            None if known("[=]") || known("") => Step::Skip(1),
            None if known("=") => Step::Skip(2),
            _ => Step::Unknown,
        };
    }
    let mut letters = text.strip_prefix('-').unwrap_or_default().chars();
    while let Some(letter) = letters.next() {
        if is_script(&format!("-{letter}")) {
            let attached = letters.as_str();
            return Step::Script((!attached.is_empty()).then(|| attached.to_owned()));
        }
        if launcher.valued.contains(letter) {
            return Step::Skip(if letters.as_str().is_empty() { 2 } else { 1 });
        }
        if launcher.attached.contains(letter) {
            return Step::Skip(1);
        }
        if !launcher.flags.contains(letter) {
            return Step::Unknown;
        }
    }
    Step::Skip(1)
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
        let joined = |words: &Vec<ShellWord>| words.iter().map(ShellWord::text).collect::<Vec<_>>().join(" ");
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
