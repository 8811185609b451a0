//! Combines the parsers, the lists and the operator's rules: one command in, one judgement out.

use super::danger::{dangers, is_network_device, risk_of};
use super::depends::{Dependencies, depends, tokens};
use super::found::FoundCommands;
use super::plain::{self, CommandPart};
use super::protected::{arguments, pieces, protected};
use super::readonly::{ReadSet, look};
use super::rules::{Denied, ShellRules};
use super::script::{Redirect, Script};
use super::unseen::executes_or_writes;
use super::word::ShellWord;
use super::{parse, screen};
use crate::domain::Class;
use crate::domain::Risk;
use crate::policy::paths::{self, PathLocation};
use crate::policy::{Compound, Mode, Reason, Verdict};

#[derive(Clone, Copy, Debug)]
pub struct ShellCall<'a> {
    pub command: &'a str,
    /// The working folder, relative to the project; empty for the project itself.
    pub cwd: &'a str,
}

/// The judgement of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellJudgement {
    pub verdict: Verdict,
    /// Every command whose words are all literal, including wrapped and nested ones.
    pub commands: Vec<Vec<String>>,
    /// Files that a command runs as program or script, as written: their content is part of the fingerprint.
    pub scripts: Vec<String>,
    /// Every file of the project that it depends on, as far as its words show.
    pub depends: Dependencies,
    /// The simple commands in order, if the line consists of nothing else; empty otherwise.
    pub parts: Vec<ShellPart>,
    /// Whether a grant may cover it: it is plain, its risk is not high, it hides no denied command, it names nothing
    /// outside the project and no secret, no file is read or written by redirection, and no pipe feeds a command that
    /// is not read-only.
    pub grantable: bool,
    /// Whether it is more than one simple command.
    pub compound: bool,
    /// The risk, independent of the verdict.
    pub risk: Risk,
    /// Whether it uses the network, as far as names show.
    pub network: bool,
    /// Whether it may have side effects.
    pub writes: bool,
    /// Paths that a read-only command reads; the caller resolves links.
    pub reads: Vec<ReadPath>,
    /// One line for people.
    pub summary: String,
}

/// A simple command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellPart {
    pub argv: Vec<String>,
    /// Whether the rules allow it without approval beside others.
    pub free: bool,
    /// The folders it may run in: more than one after a `cd` that may fail.
    pub folders: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadPath {
    /// Relative to the project or, with a leading `/`, absolute. `..` is still in it: links determine its meaning. `*`
    /// and `?` in its last part may be a pattern.
    pub path: String,
    /// Whether everything below it is read too.
    pub deep: bool,
    /// Whether links found below are followed.
    pub follows_links: bool,
    /// What git does there; it searches for a repository up to the project.
    pub git: GitUse,
}

/// Whether and how git runs in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GitUse {
    #[default]
    None,
    Runs,
    /// It shows addresses of the configuration, which may contain passwords.
    ShowsUrls,
}

/// Judges a command line.
pub fn judge(rules: &ShellRules, call: &ShellCall<'_>) -> ShellJudgement {
    let odd = screen::oddities(call.command);
    let script = parse::read(&screen::joined(call.command));
    let found = FoundCommands::of(&script);
    let parts = if odd.is_empty() { agreed(call.command, &script) } else { None };
    let compound = is_compound(&script, parts.as_deref());

    let mut judged = Judged { odd, ..Judged::default() };
    match &parts {
        Some(parts) => judged.parts(rules, call, parts, compound),
        None => judged.form(&script),
    }
    judged.look_for_dangers(&found, &script);
    let all_literal = |parts: &Vec<CommandPart>| parts.iter().all(|part| part.patterns.is_empty());
    let is_plain = !found.hidden
        && parts.as_ref().is_some_and(|parts| parts.len() == found.commands.len() && all_literal(parts));
    judged.protect(rules, call, &found, is_plain);
    judged.look_for_denied(rules, &found, call.command);
    let risk = judged.reasons().map(risk_of).max().unwrap_or(Risk::Low);
    let verdict = judged.verdict(rules, compound, risk);
    ShellJudgement {
        verdict,
        commands: found.commands.iter().filter_map(|words| literal(words)).collect(),
        scripts: found.scripts(),
        depends: depends(call.cwd, call.command, &found.commands, &script.redirects),
        grantable: parts.is_some()
            && !judged.blocks_grants
            && judged.denied == Denied::No
            && risk < Risk::High,
        parts: judged.shell_parts,
        compound,
        risk,
        network: judged.dangers.iter().any(|danger| matches!(danger, Reason::Network(_))),
        writes: !judged.only_looks,
        reads: judged.reads,
        summary: screen::summary(call.command, 200),
    }
}

/// The line's parts, if both parsers agree.
fn agreed(command: &str, script: &Script) -> Option<Vec<CommandPart>> {
    if !script.oddities.is_empty() {
        return None;
    }
    let parts = plain::read_with_patterns(command)?;
    let same_word = |part: &CommandPart, (word, other): (&ShellWord, &String)| {
        word.text() == other && (word.literal().is_some() || part.patterns.contains(other))
    };
    let same_words = |(part, words): (&CommandPart, &Vec<ShellWord>)| {
        part.argv.len() == words.len() && words.iter().zip(&part.argv).all(|pair| same_word(part, pair))
    };
    let same = parts.len() == script.commands.len() && parts.iter().zip(&script.commands).all(same_words);
    let mut redirects: Vec<&Redirect> = parts.iter().flat_map(|part| &part.redirects).collect();
    let mut others: Vec<&Redirect> = script.redirects.iter().collect();
    redirects.sort_unstable();
    others.sort_unstable();
    (same && redirects == others).then_some(parts)
}

fn is_compound(script: &Script, parts: Option<&[CommandPart]>) -> bool {
    let redirected = |redirect: &Redirect| *redirect != Redirect::Harmless;
    match parts {
        Some(parts) => parts.len() > 1 || parts.iter().any(|part| part.redirects.iter().any(redirected)),
        None => {
            script.commands.len() > 1
                || script.redirects.iter().any(redirected)
                || script.oddities.iter().any(|odd| !matches!(odd, Reason::NotLiteral(_) | Reason::Unparsed))
        }
    }
}

fn literal(words: &[ShellWord]) -> Option<Vec<String>> {
    words.iter().map(|word| word.literal().map(str::to_owned)).collect()
}

/// The state of judging.
#[derive(Debug, Default)]
struct Judged {
    /// The objections to its characters and form.
    odd: Vec<Reason>,
    /// The objections to each part, beside the compound rule.
    against: Vec<Reason>,
    dangers: Vec<Reason>,
    /// Whether a part is allowed by an operator's rule, not by the built-in list.
    by_rule: bool,
    /// Whether a part that is on the built-in list, and in no rule, reads files or runs git. That is safe only in a
    /// line that runs read-only.
    reads_files: bool,
    blocks_grants: bool,
    only_looks: bool,
    /// The words of the parts that are not read-only, and the files that redirections write.
    changed: Vec<String>,
    /// Whether every part is on the built-in list, without the operator's rules.
    is_harmless: bool,
    /// The result of the deny list.
    denied: Denied,
    reads: Vec<ReadPath>,
    shell_parts: Vec<ShellPart>,
}

impl Judged {
    fn reasons(&self) -> impl Iterator<Item = &Reason> {
        let perhaps = (self.denied == Denied::Perhaps).then_some(&Reason::PerhapsDenied);
        self.odd.iter().chain(&self.dangers).chain(&self.against).chain(perhaps)
    }

    /// Judges each part of a line that was parsed.
    fn parts(&mut self, rules: &ShellRules, call: &ShellCall<'_>, parts: &[CommandPart], compound: bool) {
        self.only_looks = true;
        self.is_harmless = true;
        let mut cwds = vec![call.cwd.trim_matches('/').to_owned()];
        for part in parts {
            let before = self.against.len();
            let folders = self.folders(rules, &cwds);
            self.redirects(rules, &cwds, part);
            self.blocks_grants |= !part.patterns.is_empty();
            self.names(rules, &cwds, &part.argv);
            let looked = match part.argv.split_first() {
                Some((name, words)) if name == "cd" && parts.len() > 1 && part.patterns.is_empty() => {
                    let from = cwds.clone();
                    self.changed.extend(words.iter().cloned());
                    change(rules, &mut cwds, words).and_then(|looked| self.at(rules, &from, looked))
                }
                _ => look(&part.argv).and_then(|looked| expandable(rules, part, looked)).and_then(|looked| {
                    let reads = !looked.paths.is_empty() || looked.git != GitUse::None;
                    self.reads_files |= reads && !(rules.allows(&part.argv) && part.patterns.is_empty());
                    self.at(rules, &cwds, looked)
                }),
            };
            if looked.is_err() {
                self.changes(rules, &folders, part);
                self.changed.extend(arguments(&part.argv).cloned());
                // A sentence may be code that writes a file, but not the message of a commit.
                let sentences = part
                    .argv
                    .iter()
                    .filter(|word| part.argv.first().is_some_and(|name| name != "git") && word.contains(' '));
                self.changed.extend(sentences.flat_map(|word| tokens(word)).map(str::to_owned));
            }
            self.is_harmless &= looked.is_ok();
            match looked {
                Ok(()) if rules.mode() != Mode::Deny => {}
                // A rule is about words, and those of a pattern are unknown.
                Ok(()) | Err(_) if rules.allows(&part.argv) && part.patterns.is_empty() => {
                    self.by_rule = true;
                }
                Ok(()) => self.against.push(Reason::DeniedByMode),
                Err(reason) => self.against.push(reason),
            }
            self.only_looks &= self.against.len() == before && !self.by_rule;
            let free = self.against.len() == before && (!compound || rules.compound() == Compound::Analyze);
            self.shell_parts.push(ShellPart { argv: part.argv.clone(), free, folders });
        }
        // A grant runs the whole line with the rights of an approved one: nothing checks what its other parts read.
        self.blocks_grants |= self.reads_files && parts.len() > 1;
    }

    fn redirects(&mut self, rules: &ShellRules, cwds: &[String], part: &CommandPart) {
        for redirect in &part.redirects {
            match redirect {
                Redirect::Harmless => {}
                Redirect::Write(path) => {
                    self.blocks_grants = true;
                    self.is_harmless = false;
                    self.changed.push(path.clone());
                    self.against.push(Reason::WritesFile(path.clone()));
                }
                Redirect::Read(path) => {
                    self.blocks_grants = true;
                    let looked = ReadSet { paths: vec![path.clone()], ..ReadSet::default() };
                    if let Err(reason) = self.at(rules, cwds, looked) {
                        self.against.push(reason);
                    }
                }
            }
        }
    }

    /// The folders of the project a part may run in, normalized. No grant covers a command elsewhere.
    fn folders(&mut self, rules: &ShellRules, cwds: &[String]) -> Vec<String> {
        let mut folders = Vec::new();
        for cwd in cwds {
            match paths::locate(rules.root(), "", cwd) {
                PathLocation::Inside(folder) => folders.push(folder),
                PathLocation::Secret | PathLocation::Outside => self.blocks_grants = true,
            }
        }
        folders
    }

    /// Excludes a part with side effects from grants: with input from a pipe, a word that names something outside the
    /// project, or a word that names a file that can start programs.
    fn changes(&mut self, rules: &ShellRules, folders: &[String], part: &CommandPart) {
        self.blocks_grants |= part.piped || part.argv.iter().any(|word| executes_or_writes(word));
        for word in part.argv.iter().skip(1) {
            for piece in pieces(word).filter(|piece| *piece != "/dev/null") {
                let outside =
                    |folder: &String| paths::locate(rules.root(), folder, piece) == PathLocation::Outside;
                self.blocks_grants |= folders.iter().any(outside);
            }
        }
    }

    /// A word that names a secret needs approval, regardless of rules and grants.
    fn names(&mut self, rules: &ShellRules, cwds: &[String], argv: &[String]) {
        let pieces =
            argv.iter().skip(1).flat_map(|word| word.split(['=', ':', ',', '@']).map(move |p| (word, p)));
        for (word, piece) in pieces {
            let reserved = piece.split('/').any(paths::is_reserved_name);
            let secret =
                || cwds.iter().any(|cwd| paths::locate(rules.root(), cwd, piece) == PathLocation::Secret);
            if reserved || (piece.contains('/') && secret()) {
                self.blocks_grants = true;
                let reason = Reason::Secret(word.clone());
                if !self.against.contains(&reason) {
                    self.against.push(reason);
                }
            }
        }
    }

    /// Whether the paths are inside the project, from every folder the command may run in.
    fn at(&mut self, rules: &ShellRules, cwds: &[String], looked: ReadSet) -> Result<(), Reason> {
        for cwd in cwds.iter().filter(|_| looked.git != GitUse::None) {
            let path = if cwd.is_empty() { ".".to_owned() } else { cwd.clone() };
            self.reads.push(ReadPath { path, deep: false, follows_links: false, git: looked.git });
        }
        for path in looked.paths {
            for cwd in cwds {
                match paths::locate(rules.root(), cwd, &path) {
                    _ if path == "/dev/null" => continue,
                    PathLocation::Inside(_) => {}
                    PathLocation::Secret => return Err(Reason::Secret(path)),
                    PathLocation::Outside => return Err(Reason::Outside(path)),
                }
                let whole = if path.starts_with('/') || cwd.is_empty() {
                    path.clone()
                } else {
                    format!("{cwd}/{path}")
                };
                let ReadSet { deep, follows_links, .. } = looked;
                let read = ReadPath { path: whole, deep, follows_links, git: GitUse::None };
                if !self.reads.contains(&read) {
                    self.reads.push(read);
                }
            }
        }
        Ok(())
    }

    /// The objections to the form of a line that is not plain.
    fn form(&mut self, script: &Script) {
        self.against.extend(script.oddities.iter().cloned());
        for redirect in &script.redirects {
            if let Redirect::Write(path) = redirect {
                self.against.push(Reason::WritesFile(path.clone()));
            }
        }
        for word in script.commands.iter().flatten() {
            let noted = self.against.iter().any(|reason| matches!(reason, Reason::NotLiteral(_)));
            if word.literal().is_none() && !noted {
                self.against.push(Reason::NotLiteral(word.text().chars().take(40).collect()));
            }
        }
        if self.against.is_empty() && self.odd.is_empty() {
            // The parsers do not agree, or the strict one has further objections.
            self.against.push(Reason::Unparsed);
        }
    }

    /// A word of a command with side effects that names a secret, or a file that can start programs, needs approval with
    /// high risk, regardless of mode, rules and grants, as it does in the file tools. Where the commands of the line are
    /// not all known by their words, every word of the text counts.
    fn protect(&mut self, rules: &ShellRules, call: &ShellCall<'_>, found: &FoundCommands, is_plain: bool) {
        if self.is_harmless {
            return;
        }
        let mut names: Vec<Reason> = self.changed.iter().filter_map(|word| protected(rules, word)).collect();
        names.extend(protected(rules, call.cwd).filter(|_| !call.cwd.is_empty()));
        if !is_plain {
            let words = found.commands.iter().flat_map(|words| words.iter().skip(1)).map(ShellWord::text);
            let files = found.redirects.iter().filter_map(Redirect::written);
            let bare: String = call.command.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
            let tokens = [call.command, &bare].into_iter().flat_map(tokens);
            names.extend(words.chain(files).chain(tokens).filter_map(|word| protected(rules, word)));
        }
        for name in names {
            self.blocks_grants = true;
            if !self.reasons().any(|known| *known == name) {
                self.dangers.push(name);
            }
        }
    }

    fn look_for_dangers(&mut self, found: &FoundCommands, script: &Script) {
        if self.only_looks {
            return;
        }
        for words in &found.commands {
            for danger in dangers(words) {
                if !self.dangers.contains(&danger) {
                    self.dangers.push(danger);
                }
            }
        }
        let devices = script.redirects.iter().any(|redirect| match redirect {
            Redirect::Read(path) | Redirect::Write(path) => is_network_device(path),
            Redirect::Harmless => false,
        });
        if devices {
            self.dangers.push(Reason::Network("/dev/tcp".to_owned()));
        }
    }

    /// Applies the deny list: to each command, and to the text where a part may start another command. No command of
    /// the built-in list runs its arguments.
    fn look_for_denied(&mut self, rules: &ShellRules, found: &FoundCommands, text: &str) {
        if !rules.denies_anything() {
            return;
        }
        let unseen = found.hidden || rules.mentions_denied(text);
        if !self.odd.is_empty() || (unseen && !self.is_harmless) {
            self.denied = Denied::Perhaps;
        }
        for words in &found.commands {
            match rules.denied(words) {
                Denied::Yes(rule) => {
                    self.denied = Denied::Yes(rule);
                    return;
                }
                Denied::Perhaps => self.denied = Denied::Perhaps,
                Denied::No => {}
            }
        }
    }

    /// Applies the deny list, the operator's rules, the built-in list, the compound rule, and the mode for the rest.
    fn verdict(&self, rules: &ShellRules, compound: bool, risk: Risk) -> Verdict {
        if let Denied::Yes(rule) = &self.denied {
            return Verdict::Deny { reason: Reason::DeniedByRule(rule.clone()) };
        }
        let perhaps = self.denied == Denied::Perhaps;
        let protected =
            self.reasons().any(|reason| matches!(reason, Reason::Secret(_) | Reason::Sensitive(_)));
        // Beside a command of a rule, which has the rights of an approved one, nothing checks what the others read.
        let held_up = compound && (rules.compound() == Compound::Ask || (self.by_rule && self.reads_files));
        let fine = self.odd.is_empty() && self.against.is_empty() && !protected;
        if fine && !held_up && !perhaps {
            let writable = self.by_rule || rules.mode() == Mode::Allow;
            return Verdict::Allow(if writable { Class::ProjectWritable } else { Class::ReadOnly });
        }
        match rules.mode() {
            Mode::Deny => return Verdict::Deny { reason: Reason::DeniedByMode },
            Mode::Allow if !perhaps && !protected => return Verdict::Allow(Class::ProjectWritable),
            Mode::Allow | Mode::Ask => {}
        }
        let mut reasons: Vec<Reason> = Vec::new();
        for reason in self.reasons().cloned().chain(held_up.then_some(Reason::Compound)) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Verdict::Ask { risk, reasons }
    }
}

/// Commands of which no operand is written, and none but a leading `-` makes one an option.
const TAKES_PATTERNS: &[&str] = &[
    "awk",
    "cat",
    "cut",
    "du",
    "file",
    "grep",
    "head",
    "ls",
    "md5sum",
    "nl",
    "sed",
    "sha256sum",
    "sort",
    "stat",
    "tac",
    "tail",
    "wc",
];

/// What a command with patterns reads: each pattern must be the path of files that it reads, not folders as a whole, and
/// stand nowhere else in the command: as the value of an option, its first match would be the value and the next ones
/// operands.
fn expandable(rules: &ShellRules, part: &CommandPart, looked: ReadSet) -> Result<ReadSet, Reason> {
    let known = part.argv.first().is_some_and(|name| TAKES_PATTERNS.contains(&name.as_str()));
    let count = |words: &[String], one: &String| words.iter().filter(|word| *word == one).count();
    match part.patterns.iter().find(|pattern| {
        !known
            || looked.deep
            || rules.mode() == Mode::Deny
            || count(&part.argv, pattern) != count(&looked.paths, pattern)
    }) {
        Some(pattern) => Err(Reason::NotLiteral(pattern.clone())),
        None => Ok(looked),
    }
}

/// `cd` before other commands: they may run there or, if it fails, in the old folder.
fn change(rules: &ShellRules, cwds: &mut Vec<String>, words: &[String]) -> Result<ReadSet, Reason> {
    let refused =
        |argument: &str| Reason::Argument { command: "cd".to_owned(), argument: argument.to_owned() };
    let [to] = words else { return Err(refused("")) };
    if to.starts_with('-') || to.is_empty() || cwds.len() > 16 {
        return Err(refused(to));
    }
    let mut new = Vec::new();
    for cwd in cwds.iter() {
        match paths::locate(rules.root(), cwd, to) {
            PathLocation::Inside(place) => new.push(place),
            PathLocation::Secret => return Err(Reason::Secret(to.clone())),
            PathLocation::Outside => return Err(Reason::Outside(to.clone())),
        }
    }
    let looked = ReadSet { paths: vec![to.clone()], ..ReadSet::default() };
    for place in new {
        if !cwds.contains(&place) {
            cwds.push(place);
        }
    }
    Ok(looked)
}
