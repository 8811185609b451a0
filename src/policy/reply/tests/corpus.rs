//! Every line of the corpus has the expected reading.

use std::collections::BTreeMap;

use super::pending_approvals::{PendingApprovals, approved};
use crate::policy::reply::{Meant, ReadReply};

const CORPUS: &str = include_str!("../../../../tests/fixtures/reply_corpus.tsv");

/// One reply, the approvals it is read against, and its expected reading.
#[derive(Debug)]
pub(super) struct Case {
    /// The name of the set of approvals.
    pub(super) set: &'static str,
    pub(super) reply: String,
    pub(super) expected: &'static str,
}

/// The sets of approvals and the replies.
pub(super) fn corpus() -> (BTreeMap<&'static str, PendingApprovals>, Vec<Case>) {
    let mut sets = BTreeMap::new();
    let mut cases = Vec::new();
    for line in CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let mut fields = line.split('\t');
        match (fields.next().unwrap(), fields.next().unwrap()) {
            ("set", name) => {
                sets.insert(name, PendingApprovals::of(fields));
            }
            (set, reply) => {
                let expected = fields.next().unwrap_or_else(|| panic!("{line:?} has no reading"));
                assert_eq!(fields.next(), None, "{line:?}");
                cases.push(Case { set, reply: reply.replace("\\n", "\n").replace("\\t", "\t"), expected });
            }
        }
    }
    (sets, cases)
}

#[test]
fn every_reply_of_the_corpus_is_read_as_it_says() {
    let (sets, cases) = corpus();
    let mut faults = Vec::new();
    for case in &cases {
        let stage = &sets[case.set];
        let reading = stage.read(&case.reply);
        let shown = stage.shown(&reading);
        if shown != case.expected {
            faults.push(format!("{}\t{}\t{} but read {reading:?}", case.set, case.reply, case.expected));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

#[test]
fn the_corpus_is_large_and_none_of_its_unclear_replies_approves() {
    let (sets, cases) = corpus();
    let unclear: Vec<_> = cases.iter().filter(|case| matches!(case.expected, "ask" | "none")).collect();
    assert!(cases.len() >= 2000, "{}", cases.len());
    assert!(unclear.len() >= 1200, "{}", unclear.len());
    for case in unclear {
        assert_eq!(approved(&sets[case.set].read(&case.reply)), 0, "{case:?}");
    }
}

#[test]
fn a_name_that_others_may_share_is_told_from_one_that_no_other_has() {
    use Meant::{ByItsName, ByWords, Unnamed};
    let stage = PendingApprovals::of(["A1=git status", "A2=@write_file"]);
    for (reply, expected) in [
        ("approve A1", vec![ByItsName]),
        ("approve git status", vec![ByWords]),
        ("同意 write_file", vec![ByWords]),
        ("approve A1 and write_file", vec![ByItsName, ByWords]),
        ("approve A2 write_file", vec![ByItsName]),
        ("全部同意", vec![Unnamed, Unnamed]),
        ("approve A1, deny write_file", vec![ByItsName, ByWords]),
    ] {
        let reading = stage.read(reply);
        let ReadReply::Decide(rulings) = &reading else { panic!("{reply}: {reading:?}") };
        let meant: Vec<Meant> = rulings.iter().map(|ruling| ruling.meant).collect();
        assert_eq!(meant, expected, "{reply}");
    }
}
