//! The files of the project that a command line depends on: those it runs, those that programs load by convention, and
//! every file it names. Determined by words alone, and generously: a file too many repeats a question, a file too few
//! would run code that was not shown. Names inside files are followed by `named_files`.

use std::collections::BTreeSet;

use super::build_files::{build_files, is_python, takes_data};
use super::launchers::lists;
use super::named_files::is_build_file;
use super::opaque::{CALLING, SELF_CONTAINED, decides_programs};
use super::rules::base_name;
use super::script::Redirect;
use super::word::ShellWord;

/// Limits for one command line.
pub(super) const MOST_WORDS: usize = 256;
const MOST_FOLDERS: usize = 24;
const MOST_FILES: usize = 2_000;
const LONGEST_WORD: usize = 1_024;

/// Options whose value is the working folder of a command.
const FOLDER_OPTIONS: &[&str] = &[
    "-C",
    "--directory",
    "--chdir",
    "--cwd",
    "--prefix",
    "--project",
    "--project-directory",
    "--dir",
    "--root",
    "--rootdir",
    "--workdir",
    "--work-tree",
    "--working-directory",
    "--path",
    "--chart",
    "-w",
];

/// Something a command depends on, relative to the project or absolute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// A file, if it exists.
    File(String),
    /// The files directly in a folder: which of them are meant is unknown until the command runs.
    Folder(String),
    /// The files in a folder and below it.
    Tree(String),
}

/// The dependencies of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// The files it runs, and those that programs load by convention.
    pub scripts: BTreeSet<Dependency>,
    /// The other files it names.
    pub operands: BTreeSet<Dependency>,
    /// The files that it writes by redirection and names nowhere else: their content does not matter, their location
    /// does.
    pub written: BTreeSet<String>,
    /// Whether some of it is unknown until it runs, or a limit was reached.
    pub undetermined: bool,
}

/// Determines the dependencies of a command line. `text` is the line as written, `commands` are the commands found in
/// it, at any depth, and `redirects` are its own redirections.
pub(super) fn depends(
    cwd: &str,
    text: &str,
    commands: &[Vec<ShellWord>],
    redirects: &[Redirect],
) -> Dependencies {
    let text = &text.replace("$PWD", ".").replace("${PWD}", ".");
    let mut found = Dependencies::default();
    let mut words = literal_words(commands);
    let only_written = only_written(text, &words, redirects);
    words.extend(tokens(text).filter(|token| !only_written.contains(*token)).map(str::to_owned));
    found.undetermined |= words.len() > MOST_WORDS;
    let folders = folders(cwd, commands, &mut found);
    let searched = with_parents(&folders);

    let programs: Vec<&str> =
        commands.iter().filter_map(|words| words.first()).map(|word| base_name(word.text())).collect();
    let chosen_by_variable = assigns_programs(text);
    // These run their command in folders that are found when they run.
    let roams =
        commands.iter().flatten().any(|word| matches!(word.text(), "-execdir" | "-okdir" | "foreach"));
    found.undetermined |= chosen_by_variable || roams;
    let only_data = !chosen_by_variable && !roams && programs.iter().all(|program| takes_data(program));
    for program in programs.iter().copied().chain(words.iter().map(|word| base_name(word))) {
        for file in build_files(program) {
            found.scripts.extend(searched.iter().map(|folder| looked_for(folder, file)));
        }
    }
    // A program of the project is executed, so its content counts.
    for first in commands.iter().filter_map(|words| words.first()).filter(|word| word.text().contains('/')) {
        found.scripts.extend(folders.iter().map(|folder| dependency(folder, first.text())));
    }
    for name in &only_written {
        found.written.extend(folders.iter().map(|folder| normal(&join(folder, name))));
    }
    let python = words.iter().any(|word| is_python(base_name(word)));
    for word in words.iter().take(MOST_WORDS) {
        let names = spellings(word, python);
        let named = folders.iter().flat_map(|folder| names.iter().map(move |name| dependency(folder, name)));
        if only_data {
            found.operands.extend(named);
        } else {
            found.scripts.extend(named);
        }
    }
    for words in commands {
        runs_what_it_finds(words, &folders, &mut found);
    }
    if chosen_by_variable {
        found.scripts.extend(folders.iter().cloned().map(Dependency::Folder));
    }
    if !only_data {
        dynamic(&folders, text, commands, &mut found);
    }
    for set in [&mut found.scripts, &mut found.operands] {
        found.undetermined |= set.len() > MOST_FILES;
        while set.len() > MOST_FILES {
            set.pop_last();
        }
    }
    found
}

/// `find scripts -exec sh {} +`, `fd -x sh`, `run-parts scripts`: which files run is known when the command runs, so
/// everything below the folders counts.
fn runs_what_it_finds(words: &[ShellWord], folders: &[String], found: &mut Dependencies) {
    let Some((name, args)) = words.split_first() else { return };
    let name = base_name(name.text());
    let options = CALLING.iter().find(|(names, _)| lists(names, name)).map(|(_, options)| *options);
    let calls = |arg: &ShellWord| options.is_some_and(|options| lists(options, arg.text()));
    let at = args.iter().position(calls);
    let program = at.and_then(|at| args.get(at + 1)).map(|word| base_name(word.text()));
    let executes = program.is_some_and(|program| !lists(SELF_CONTAINED, program));
    if !(name == "run-parts" || (executes && !program.is_some_and(takes_data))) {
        return;
    }
    found.undetermined = true;
    let mut tops: Vec<&str> = args
        .iter()
        .take(at.unwrap_or(args.len()))
        .map(ShellWord::text)
        .filter(|word| !word.starts_with('-'))
        .collect();
    if tops.is_empty() || lists("fd fdfind", name) {
        tops.push(".");
    }
    for folder in folders {
        found.scripts.extend(tops.iter().map(|top| Dependency::Tree(normal(&join(folder, top)))));
    }
}

/// The files that are written by redirection and occur nowhere else in the line.
fn only_written<'a>(text: &str, words: &BTreeSet<String>, redirects: &'a [Redirect]) -> BTreeSet<&'a str> {
    let targets: Vec<&str> = redirects.iter().filter_map(Redirect::written).collect();
    let same = |one: &str, other: &str| normal(one) == normal(other);
    let alone = |target: &&str| {
        let as_target = targets.iter().filter(|other| same(other, target)).count();
        let in_text = tokens(text).filter(|token| same(token, target)).count();
        in_text <= as_target && !words.iter().any(|word| same(word, target))
    };
    targets.iter().copied().filter(alone).collect()
}

/// The words with a known value, and the values inside options.
fn literal_words(commands: &[Vec<ShellWord>]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for word in commands.iter().flatten().filter_map(ShellWord::literal) {
        if word.len() > LONGEST_WORD || word.is_empty() {
            continue;
        }
        out.insert(word.to_owned());
        out.extend(word.split(['=', ':', ',']).skip(1).filter(|piece| !piece.is_empty()).map(str::to_owned));
    }
    out
}

/// Whether the text sets a variable that determines which programs run or what they load: `PATH=lib x`.
fn assigns_programs(text: &str) -> bool {
    text.match_indices('=').any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let begins = start.chars().next_back().is_none_or(|c| c.is_whitespace() || "'\";&|(`{".contains(c));
        begins && before.get(start.len()..).is_some_and(decides_programs)
    })
}

/// Everything in a text that may be a file name: split at quotes, operators and other characters.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./+@%~^#".contains(c);
    text.split(move |c| !is_part(c)).filter(|token| !token.is_empty() && token.len() <= LONGEST_WORD)
}

/// The ways a program may read a word as a file.
fn spellings(word: &str, python: bool) -> Vec<String> {
    let bare = word.trim_start_matches('@');
    let value = match bare.strip_prefix('-') {
        // `-fFILE`, `-Ifolder`
        Some(short) if !short.starts_with('-') => short.chars().skip(1).collect(),
        Some(_) => return Vec::new(),
        None => bare.to_owned(),
    };
    if value.is_empty() || value.contains(['\n', '\0']) {
        return Vec::new();
    }
    let mut out = vec![value.clone()];
    let value = value.trim_end_matches('/');
    for end in [".js", ".mjs", ".cjs", ".ts", "/index.js", "/package.json"] {
        out.push(format!("{value}{end}"));
    }
    if python {
        let path = value.replace('.', "/");
        for module in [value, path.as_str()] {
            for end in [".py", "/__main__.py", "/__init__.py"] {
                out.push(format!("{module}{end}"));
            }
        }
        // Parent packages of `a.b` have their own initialization file.
        out.extend(path.split_once('/').map(|(first, _)| format!("{first}/__init__.py")));
    }
    out
}

/// Every folder that a part of the line may run in: after any `cd`, with any `-C`, in any combination.
fn folders(cwd: &str, commands: &[Vec<ShellWord>], found: &mut Dependencies) -> Vec<String> {
    let mut changes: BTreeSet<&str> = BTreeSet::new();
    for words in commands {
        let name = words.first().map(|word| base_name(word.text())).unwrap_or_default();
        if matches!(name, "cd" | "pushd" | "chdir") {
            let target = words.iter().skip(1).find(|word| !word.text().starts_with('-'));
            match target.map(ShellWord::literal) {
                Some(Some(folder)) => drop(changes.insert(folder)),
                Some(None) | None => found.undetermined = true,
            }
        }
        for (at, word) in words.iter().enumerate() {
            let Some(text) = word.literal() else { continue };
            if FOLDER_OPTIONS.contains(&text) {
                changes.extend(words.get(at + 1).and_then(ShellWord::literal));
            } else if let Some((option, value)) = text.split_once('=') {
                changes.extend(FOLDER_OPTIONS.contains(&option).then_some(value));
            } else if let Some(value) = text.strip_prefix("-C") {
                changes.insert(value);
            }
            if let Some(manifest) = text.rsplit_once('/').filter(|(_, file)| is_build_file(file)) {
                changes.insert(manifest.0.rsplit('=').next().unwrap_or_default());
            }
        }
    }
    let mut folders = vec![normal(cwd)];
    for _ in 0..changes.len().min(4) {
        for change in &changes {
            for from in folders.clone() {
                let next = normal(&join(&from, change));
                if folders.contains(&next) {
                    continue;
                }
                if folders.len() == MOST_FOLDERS {
                    found.undetermined = true;
                    return folders;
                }
                folders.push(next);
            }
        }
    }
    folders
}

/// The folders and their parents, up to the project: programs search there too.
fn with_parents(folders: &[String]) -> BTreeSet<String> {
    let mut out = BTreeSet::from([String::new()]);
    for folder in folders {
        let mut folder = folder.as_str();
        while out.insert(folder.to_owned()) {
            folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }
    out
}

/// Words that are unknown until the line runs: the folder of their literal prefix is added, and every folder that is
/// named anywhere in the line, as in `for f in scripts/*; do sh $f; done`.
fn dynamic(folders: &[String], text: &str, commands: &[Vec<ShellWord>], found: &mut Dependencies) {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for word in commands.iter().flatten().filter(|word| word.literal().is_none()) {
        found.undetermined = true;
        let end = word.text().find(|c| "*?[{$`'\"\\~!".contains(c)).unwrap_or(word.text().len());
        let (known, unknown) = word.text().split_at_checked(end).unwrap_or_default();
        let known = known.rsplit_once('=').map_or(known, |(_, value)| value);
        let folder = known.rsplit_once('/').map_or("", |(folder, _)| folder);
        // `sub/*/run.sh`: the file is somewhere below.
        if unknown.contains('/') {
            let below = |from: &String| Dependency::Tree(normal(&join(from, folder)));
            found.scripts.extend(folders.iter().map(below));
        }
        named.insert(folder.to_owned());
    }
    if found.undetermined {
        for token in tokens(text).take(MOST_WORDS).filter(|token| !token.starts_with('-')) {
            named.extend(token.rsplit_once('/').map(|(parent, _)| parent.to_owned()));
            named.insert(token.to_owned());
            // From which folder a command goes up is unknown too.
            let inner = token.trim_start_matches("../");
            if inner != token {
                named.insert(inner.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned());
            }
        }
    }
    for name in named {
        let in_folder = |folder: &String| Dependency::Folder(normal(&join(folder, &name)));
        found.scripts.extend(folders.iter().map(in_folder));
    }
}

/// The file of a word.
fn dependency(folder: &str, name: &str) -> Dependency {
    Dependency::File(normal(&join(folder, name)))
}

/// A file or folder of the table.
fn looked_for(folder: &str, name: &str) -> Dependency {
    match name.strip_suffix('/') {
        Some(inner) => Dependency::Folder(normal(&join(folder, inner))),
        None => dependency(folder, name),
    }
}

fn join(folder: &str, name: &str) -> String {
    if name.starts_with('/') || folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The path without `.` and empty names; `..` stays, because links determine its meaning.
fn normal(path: &str) -> String {
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::{ShellCall, ShellRules, judge};
    use crate::policy::{Compound, Mode};

    fn of(cwd: &str, command: &str) -> Dependencies {
        let none: &[&str] = &[];
        let rules = ShellRules::new(Mode::Ask, Compound::Ask, none, none, "/home/u/p").unwrap();
        judge(&rules, &ShellCall { command, cwd }).depends
    }

    fn file(path: &str) -> Dependency {
        Dependency::File(path.into())
    }

    #[test]
    fn what_a_line_runs_is_found_wherever_it_works() {
        for (command, want) in [
            ("./y", "y"),
            ("cd x && ./y", "x/y"),
            ("cd x && cd z && ./y", "x/z/y"),
            ("(cd x; ./y)", "x/y"),
            ("pushd x && sh y.sh", "x/y.sh"),
            ("sh -c 'cd x && ./y'", "x/y"),
            ("env -C x ./y", "x/y"),
            ("git -C x commit", "x/.git/config"),
            ("make -C x", "x/Makefile"),
            ("make -Cx", "x/Makefile"),
            ("make --directory=x", "x/Makefile"),
            ("npm --prefix x test", "x/package.json"),
            ("cargo build --manifest-path x/Cargo.toml", "x/build.rs"),
            ("sh < y.sh", "y.sh"),
            ("cat y.sh | sh", "y.sh"),
            ("python3.11 -X dev y.py", "y.py"),
            ("python3 -m pkg.tool", "pkg/tool.py"),
            ("python3 -m pkg", "pkg/__main__.py"),
            ("node --require ./a.js b.js", "a.js"),
            ("node -r ./a", "a.js"),
            ("bash --rcfile y", "y"),
            ("ruby -I lib y.rb", "y.rb"),
            ("X=y.sh; sh $X", "y.sh"),
            ("sh \"$(echo y.sh)\"", "y.sh"),
            ("bash <<E\nsource y.sh\nE", "y.sh"),
            ("awk -fy.awk z", "y.awk"),
            ("python3 -c \"exec(open('y.py').read())\"", "y.py"),
            ("sh 'a file.sh'", "a file.sh"),
            ("timeout 5 env A=1 make", "Makefile"),
            ("pytest", "conftest.py"),
        ] {
            let found = of("", command);
            assert!(found.scripts.contains(&file(want)), "{command}: {found:?}");
        }
        assert!(of("sub/deep", "npm test").scripts.contains(&file("sub/package.json")), "above the folder");
        assert!(of("", "git commit -m x").scripts.contains(&Dependency::Folder(".git/hooks".into())));
    }

    #[test]
    fn files_that_are_only_data_are_no_scripts() {
        let found = of("", "git add src/a.rs");
        assert!(found.operands.contains(&file("src/a.rs")) && !found.scripts.contains(&file("src/a.rs")));
        let found = of("", "cp a.txt b.txt");
        assert!(found.operands.contains(&file("a.txt")) && found.scripts.is_empty());
        assert!(of("", "cat a.sh | sh").scripts.contains(&file("a.sh")));
        let found = of("", "echo x >> out/log.txt");
        assert_eq!(found.written, ["out/log.txt".to_owned()].into());
        assert!(!found.operands.contains(&file("out/log.txt")));
        assert!(of("", "echo x > a.sh; sh ./a.sh").scripts.contains(&file("a.sh")), "it is run as well");
    }

    #[test]
    fn what_is_only_known_later_is_said_so() {
        for (command, folder) in [
            ("sh scripts/*.sh", "scripts"),
            ("sh $x", ""),
            ("./tools/run-$x", "tools"),
            ("cd x; sh *.sh", "x"),
        ] {
            let found = of("", command);
            assert!(found.undetermined, "{command}");
            assert!(found.scripts.contains(&Dependency::Folder(folder.into())), "{command}: {found:?}");
        }
        assert!(of("", "cd $x && ./y").undetermined);
        for command in
            ["find scripts -name '*.sh' -exec sh {} \\;", "run-parts scripts", "fd -e sh . scripts -x sh"]
        {
            let found = of("", command);
            assert!(found.undetermined, "{command}");
            assert!(found.scripts.contains(&Dependency::Tree("scripts".into())), "{command}: {found:?}");
        }
        assert!(!of("", "cd x && ./y").undetermined);
    }
}
