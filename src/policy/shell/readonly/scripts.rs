//! Commands whose arguments are small programs: only the simplest of these are accepted.

use super::look::{ReadSet, by_spec};
use super::options::{Args, Operands, OptionSpec};
use crate::policy::Reason;

fn refused(command: &str, argument: &str) -> Reason {
    Reason::Argument { command: command.to_owned(), argument: argument.to_owned() }
}

/// `sed` that prints or omits lines by number or a plain pattern. Its language can write files and start programs, so
/// nothing else is accepted.
pub(super) fn sed(words: &[String]) -> Result<ReadSet, Reason> {
    const SPEC: OptionSpec = OptionSpec {
        flags: "nErsuz",
        valued: "e",
        long: &["--quiet", "--silent", "--regexp-extended", "--expression="],
        operands: Operands::PatternThenPaths(&["-e", "--expression"]),
        ..OptionSpec::PLAIN
    };
    let args = Args::read(&SPEC, "sed", words)?;
    let mut scripts: Vec<&String> = args
        .options
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "-e" | "--expression"))
        .filter_map(|(_, value)| value.as_ref())
        .collect();
    if scripts.is_empty() {
        scripts.extend(args.operands.first());
    }
    if scripts.is_empty() {
        return Err(refused("sed", ""));
    }
    match scripts.iter().find(|script| !script.split(';').all(is_print)) {
        Some(script) => Err(refused("sed", script)),
        None => by_spec(&SPEC, "sed", words),
    }
}

/// `[address[,address]]` and one of `p d q =`.
fn is_print(command: &str) -> bool {
    let Some(mut rest) = address(command.trim()) else { return false };
    if let Some(second) = rest.strip_prefix(',') {
        match address(second) {
            Some(after) if after.len() < second.len() => rest = after,
            _ => return false,
        }
    }
    matches!(rest.trim_start_matches('!'), "p" | "d" | "q" | "=")
}

/// The text after an address; the text itself when there is none.
fn address(text: &str) -> Option<&str> {
    if let Some(after) = text.strip_prefix('$') {
        return Some(after);
    }
    let Some(pattern) = text.strip_prefix('/') else {
        return Some(text.trim_start_matches(|c: char| c.is_ascii_digit()));
    };
    // Programs differ about brackets and backslashes, so the end of the pattern would be uncertain.
    let (pattern, after) = pattern.split_once('/')?;
    (!pattern.contains(['[', '\\', '\n'])).then_some(after)
}

/// `awk` that prints fields: `{print $1, $NF}`. Its language can write files and start programs, so nothing else is
/// accepted. An operand with `=` is an assignment.
pub(super) fn awk(words: &[String]) -> Result<ReadSet, Reason> {
    const SPEC: OptionSpec =
        OptionSpec { valued: "F", operands: Operands::PatternThenPaths(&[]), ..OptionSpec::PLAIN };
    let args = Args::read(&SPEC, "awk", words)?;
    let (program, files) = args.operands.split_first().ok_or_else(|| refused("awk", ""))?;
    // Behind its program awk takes no options: they are files.
    if args.places.first().is_some_and(|first| first + args.operands.len() != words.len()) {
        return Err(refused("awk", &words.join(" ")));
    }
    if !prints_fields(program) {
        return Err(refused("awk", program));
    }
    match files.iter().find(|file| file.contains('=')) {
        Some(assignment) => Err(refused("awk", assignment)),
        None => by_spec(&SPEC, "awk", words),
    }
}

/// `{print FIELD[, FIELD]…}`, where a field is `$1`, `$NF`, `NF` or `NR`.
fn prints_fields(program: &str) -> bool {
    let inner = program.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::trim);
    let fields = inner.and_then(|inner| inner.strip_prefix("print"));
    let is_field = |field: &str| {
        let name = field.strip_prefix('$').unwrap_or(field);
        let is_number = field != name && !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        is_number || name == "NF" || field == "NR"
    };
    match fields {
        Some("") => true,
        Some(fields) => {
            fields.starts_with([' ', '$']) && fields.split(',').all(|field| is_field(field.trim()))
        }
        None => false,
    }
}

/// `jq` with a filter that does not read the environment or other files.
pub(super) fn jq(words: &[String]) -> Result<ReadSet, Reason> {
    const SPEC: OptionSpec = OptionSpec {
        flags: "acCeMjnrRsS",
        long: &[
            "--ascii-output",
            "--color-output",
            "--compact-output",
            "--exit-status",
            "--indent=",
            "--join-output",
            "--monochrome-output",
            "--null-input",
            "--raw-input",
            "--raw-output",
            "--slurp",
            "--sort-keys",
            "--stream",
            "--tab",
        ],
        operands: Operands::PatternThenPaths(&[]),
        ..OptionSpec::PLAIN
    };
    let args = Args::read(&SPEC, "jq", words)?;
    let filter = args.operands.first().ok_or_else(|| refused("jq", ""))?;
    let mut names = filter.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    if names.any(|name| matches!(name, "env" | "ENV" | "import" | "include" | "__prog_args" | "modulemeta")) {
        return Err(refused("jq", filter));
    }
    by_spec(&SPEC, "jq", words)
}

/// `test` and `[`. `-v` and `-R` would evaluate an index, and with it a command.
pub(super) fn test(name: &str, words: &[String]) -> Result<ReadSet, Reason> {
    const SIGNS: &[&str] = &[
        "!", "(", ")", "=", "==", "!=", "-a", "-o", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L",
        "-n", "-p", "-r", "-s", "-S", "-u", "-w", "-x", "-z", "-G", "-N", "-O", "-nt", "-ot", "-ef", "]",
    ];
    const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    if name == "[" && words.last().is_none_or(|last| last != "]") {
        return Err(refused(name, "["));
    }
    let mut look = ReadSet::default();
    for (i, word) in words.iter().enumerate() {
        if NUMERIC.contains(&word.as_str()) {
            let sides = [i.checked_sub(1).and_then(|before| words.get(before)), words.get(i + 1)];
            let is_number = |side: &String| side.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
            if !sides.iter().all(|side| side.is_some_and(is_number)) {
                return Err(refused(name, word));
            }
        } else if word.starts_with('-') && !SIGNS.contains(&word.as_str()) && word.parse::<i64>().is_err() {
            return Err(refused(name, word));
        } else if !SIGNS.contains(&word.as_str()) {
            look.paths.push(word.clone());
        }
    }
    Ok(look)
}

/// `printf` whose first word is a format: `-v` would set a variable, and its index could run a command.
pub(super) fn printf(words: &[String]) -> Result<ReadSet, Reason> {
    match words.first() {
        Some(first) if first.starts_with('-') => Err(refused("printf", first)),
        // Some shells evaluate a number argument, and a number may have an index.
        _ => match words.iter().find(|word| word.contains("$(") || word.contains('`')) {
            Some(word) => Err(refused("printf", word)),
            None => Ok(ReadSet::default()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_may_only_print() {
        for script in
            ["5p", "1,20p", "$p", "10q", "/abc/p", "/a/,/b/p", "1,/b/p", "p", "2!p", "1p;5p", "/x/d", "$="]
        {
            assert!(script.split(';').all(is_print), "{script}");
        }
        for script in [
            "w f",
            "1w f",
            "e",
            "1e id",
            "s/a/b/",
            "s/a/b/w f",
            "s/a/b/e",
            "r f",
            "R f",
            "W f",
            "1,p",
            "/[/]w f/p",
            "/a\\/p",
            "y/a/b/",
            "{p}",
            "p w f",
            "p\nw f",
            "a x",
            "i x",
            "c x",
            "",
            "/a/e",
            "/a/w f",
            "/a/I,/b/w f",
            "1~2p",
            "0,/a/p w f",
            "p}w f",
            "F",
            "=w",
        ] {
            assert!(!script.split(';').all(is_print), "{script:?}");
        }
    }
}
