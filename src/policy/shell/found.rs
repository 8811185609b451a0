//! Every command of a line, at any depth, and whether there may be others that its words do not show.

use super::build_files::build_files;
use super::launchers::{is_interpreter, is_shell, lists};
use super::named_files::has_script_name;
use super::opaque::{READS_CODE, READS_FILES, SELF_CONTAINED, decides_programs};
use super::rules::base_name;
use super::script::{Redirect, Script};
use super::word::ShellWord;
use super::{parse, screen, wrappers};
use crate::policy::Reason;
use crate::policy::fingerprint::scripts_named;

/// Most levels of commands inside commands that are inspected.
const DEEPEST: usize = 6;

/// The commands and redirections of a line.
#[derive(Debug, Default)]
pub(super) struct FoundCommands {
    pub(super) commands: Vec<Vec<ShellWord>>,
    pub(super) redirects: Vec<Redirect>,
    /// Whether others may run.
    pub(super) hidden: bool,
}

impl FoundCommands {
    pub(super) fn of(script: &Script) -> Self {
        let mut found = Self { hidden: script.oddities.contains(&Reason::Unparsed), ..Self::default() };
        found.hidden |= script.assigned.iter().any(|name| decides_programs(name));
        found.collect(script, 0, false);
        found.hidden |= found.runs_what_it_writes();
        found
    }

    fn collect(&mut self, script: &Script, depth: usize, fed: bool) {
        self.redirects.extend(script.redirects.iter().cloned());
        let with_input =
            |(at, words): (usize, &Vec<ShellWord>)| (words.clone(), depth, fed || script.fed.contains(&at));
        let mut todo: Vec<(Vec<ShellWord>, usize, bool)> =
            script.commands.iter().enumerate().map(with_input).collect();
        let runs_texts = script.commands.iter().any(|words| program(words).is_some_and(is_shell));
        let mut scripts: Vec<(String, usize, bool)> = Vec::new();
        if runs_texts {
            scripts.extend(script.texts.iter().map(|text| (text.clone(), depth + 1, true)));
        }
        while let Some((words, depth, fed)) = todo.pop() {
            let inner = wrappers::inside(&words);
            self.hidden |= inner.hidden || depth > DEEPEST || (fed && runs_its_input(&words));
            self.commands.push(words);
            if depth > DEEPEST {
                continue;
            }
            let commands = inner.commands.into_iter().filter(|words| !words.is_empty());
            todo.extend(commands.map(|words| (words, depth + 1, fed)));
            scripts.extend(inner.scripts.into_iter().map(|text| (text, depth + 1, fed)));
        }
        for (text, depth, fed) in scripts {
            if depth > DEEPEST {
                self.hidden = true;
                continue;
            }
            let script = parse::read(&screen::joined(&text));
            self.hidden |= script.oddities.contains(&Reason::Unparsed);
            self.collect(&script, depth, fed);
        }
    }

    /// The files that a command runs as program or script, as written.
    pub(super) fn scripts(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for words in &self.commands {
            let argv: Vec<String> = words.iter().map(|word| word.text().to_owned()).collect();
            files.extend(scripts_named(&argv));
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Whether the line may write a file that it runs as well: what it runs cannot be inspected. Files are compared by
    /// their last name, because a path has many spellings.
    fn runs_what_it_writes(&self) -> bool {
        let mut run: Vec<String> = self.scripts().iter().map(|file| base_name(file).to_owned()).collect();
        run.extend(
            self.commands.iter().filter_map(|words| program(words)).flat_map(build_files).map(str::to_owned),
        );
        let redirected = self.redirects.iter().filter_map(Redirect::written);
        let is_run = |path: &str| run.iter().any(|file| file == base_name(path.trim_end_matches('/')));
        let mut written = redirected.chain(self.commands.iter().flat_map(|words| written_by(words)));
        written.any(is_run)
    }
}

fn program(words: &[ShellWord]) -> Option<&str> {
    words.first().and_then(ShellWord::literal).map(base_name)
}

/// The operands of a command that it may write; not the script that it runs itself.
fn written_by(words: &[ShellWord]) -> impl Iterator<Item = &str> {
    let only_tracks = words.get(1).is_some_and(|word| lists("add commit diff log show status", word.text()));
    let writes = program(words)
        .is_some_and(|name| !(lists(READS_FILES, name) || is_shell(name) || (name == "git" && only_tracks)));
    let argv: Vec<String> = words.iter().map(|word| word.text().to_owned()).collect();
    let own = scripts_named(&argv);
    words
        .iter()
        .skip(1)
        .filter(move |_| writes)
        .map(ShellWord::text)
        .flat_map(|word| word.split(['=', ',']))
        .filter(move |word| !word.is_empty() && !own.iter().any(|script| script == word))
}

/// Whether a command with input from a pipe, a file or the text of the line may execute it.
fn runs_its_input(words: &[ShellWord]) -> bool {
    let Some((name, args)) = program(words).zip(words.get(1..)) else { return true };
    if lists(READS_CODE, name) {
        return true;
    }
    let from_input = |arg: &ShellWord| {
        let file = arg.text().trim_start_matches("-f").trim_start_matches("--file=");
        file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/")
    };
    if !lists(SELF_CONTAINED, name) && args.iter().any(from_input) {
        return true;
    }
    // awk has its program in the arguments, where it is judged.
    let language = is_shell(name) || (is_interpreter(name) && !lists("awk gawk mawk nawk", name));
    let has_script = args
        .first()
        .and_then(ShellWord::literal)
        .is_some_and(|first| !first.starts_with(['-', '+']) && has_script_name(first));
    language && !has_script
}
