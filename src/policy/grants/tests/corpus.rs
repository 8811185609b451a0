//! The corpus of granted and later commands.

use super::calls::{NOW, facts, here, judged_in};
use crate::domain::{GrantNumber, Scope};
use crate::policy::Compound;
use crate::policy::fingerprint::FileDigest;
use crate::policy::grants::{CallFacts, Grant, GrantProposal, covers, proposed};

const CORPUS: &str = include_str!("../../../../tests/fixtures/grant_corpus.tsv");

/// The folder and the files of one side of a row; no files when one of them cannot be read.
#[derive(Debug, Default)]
struct Side {
    cwd: String,
    files: Option<Vec<FileDigest>>,
}

fn sides(facts: &str) -> [Side; 2] {
    let mut sides = [Side::default(), Side::default()];
    let mut files = [Some(Vec::new()), Some(Vec::new())];
    for fact in facts.split(' ').filter(|fact| !fact.is_empty()) {
        if let Some(cwds) = fact.strip_prefix("cwd=") {
            let (then, now) = cwds.split_once('>').unwrap();
            sides[0].cwd = then.to_owned();
            sides[1].cwd = now.to_owned();
        }
        for file in fact.strip_prefix("files=").into_iter().flat_map(|files| files.split(',')) {
            let (path, digests) = file.split_once(':').unwrap();
            let (then, now) = digests.split_once('>').unwrap();
            for (digest, files) in [then, now].into_iter().zip(&mut files) {
                let file = |digest| FileDigest { path: path.to_owned(), digest };
                match digest {
                    "!" => {}
                    "?" => *files = None,
                    "-" => files.iter_mut().for_each(|files| files.push(file(None))),
                    digest => files.iter_mut().for_each(|files| files.push(file(Some(digest.to_owned())))),
                }
            }
        }
    }
    let [then, now] = files;
    sides[0].files = then;
    sides[1].files = now;
    sides
}

fn unescaped(text: &str) -> String {
    let mut out = text.replace("<LF>", "\n");
    while let Some((before, rest)) = out.split_once("<U+") {
        let (code, after) = rest.split_once('>').unwrap();
        let letter = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
        out = format!("{before}{letter}{after}");
    }
    out
}

fn outcome(granted: &str, later: &str, sides: &[Side; 2]) -> &'static str {
    let [then, now] = sides;
    // `program: ./x a` is agreed to by naming the program, for ten minutes.
    let (granted, scope) = match granted.strip_prefix("program: ") {
        Some(granted) => (granted, Scope::Program(10.try_into().unwrap())),
        None => (granted, Scope::Project),
    };
    let shell = judged_in(Compound::Analyze, granted, &then.cwd);
    let call = CallFacts { scripts: then.files.as_deref(), ..facts(&shell) };
    let Some(proposal) = proposed(scope, &here(), NOW, &call) else { return "once" };
    let GrantProposal { calls, scripts, reach } = proposal;
    let grant = Grant { id: GrantNumber(1), tool: "exec_shell".into(), calls, scripts, reach };
    let shell = judged_in(Compound::Analyze, later, &now.cwd);
    let call = CallFacts { scripts: now.files.as_deref(), ..facts(&shell) };
    if covers(&grant, &here(), NOW, &call) { "covered" } else { "asks" }
}

#[test]
fn every_grant_of_the_corpus_covers_what_it_must_and_nothing_else() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for (number, line) in
        CORPUS.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("# "))
    {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (want, granted, later, facts) = (next(), unescaped(next()), unescaped(next()), next());
        let got = outcome(&granted, &later, &sides(facts));
        if got != want {
            wrong.push(format!("line {}: {granted:?} then {later:?} {facts}: {got}, not {want}", number + 1));
        }
        rows += 1;
    }
    assert!(wrong.is_empty(), "{} of {rows}\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 500, "the corpus has shrunk to {rows}");
}
