//! Properties that hold for every reply.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::corpus::corpus;
use super::pending_approvals::{PendingApprovals, approved};
use crate::domain::{Answer, ApprovalNumber, Language, Scope};
use crate::policy::reply::{HintedReading, Leaning, ModelHint, ReadReply, ask_back_from_model};

/// Sets of approvals, in the notation of the corpus.
const SETS: &[&[&str]] = &[
    &["A1=git status"],
    &["A1=git status", "A2=rm -rf build"],
    &["A1=git status", "A2=rm -rf build", "A3=@write_file"],
    &["A2?=make deploy"],
    &["A1=ls", "A2?=make deploy"],
    &["A7=yes to all", "A8=don't approve"],
];

/// Words of replies, clear and unclear ones.
const WORDS: &[&str] = &[
    "同意",
    "可以",
    "好",
    "行",
    "拒绝",
    "不",
    "不要",
    "别",
    "不行",
    "吗",
    "?",
    "如果",
    "但是",
    "approve",
    "yes",
    "ok",
    "no",
    "deny",
    "don't",
    "not",
    "maybe",
    "if",
    "all",
    "全部",
    "都",
    "only",
    "只",
    "1",
    "2",
    "A1",
    "A2",
    "第一个",
    "和",
    "and",
    "，",
    ",",
    " ",
    "\n",
    "10分钟内",
    "for 10 minutes",
    "本会话",
    "always",
    "git status",
    "rm",
    "build",
    "其他",
    "👍",
    "👎",
    "请",
    "吧",
    "了",
    "this command",
    "once",
    "重跑",
    "done",
    "跳过",
    "xyz",
    "天",
    "/approve",
    "/deny",
    "~",
    "-",
    ".",
    "`",
    "write_file",
    "make deploy",
];

fn approving() -> Vec<(&'static str, String)> {
    let (sets, cases) = corpus();
    cases
        .into_iter()
        .filter(|case| approved(&sets[case.set].read(&case.reply)) > 0)
        .map(|case| (case.set, case.reply))
        .collect()
}

fn approvals(reading: &ReadReply) -> BTreeSet<usize> {
    match reading {
        ReadReply::Decide(rulings) => rulings
            .iter()
            .filter(|ruling| matches!(ruling.answer, Answer::Approve(_)))
            .map(|ruling| ruling.index)
            .collect(),
        ReadReply::AskBack(_) | ReadReply::NotADecision => BTreeSet::new(),
    }
}

/// A reading without the reasons, which keep the person's own characters.
fn answers(reading: ReadReply) -> ReadReply {
    match reading {
        ReadReply::Decide(mut rulings) => {
            for ruling in &mut rulings {
                ruling.reason = None;
            }
            ReadReply::Decide(rulings)
        }
        other => other,
    }
}

fn full_width(text: &str) -> String {
    let wide = |c: char| match c {
        ' ' => '\u{3000}',
        '!'..='~' => char::from_u32(u32::from(c) + 0xFEE0).unwrap(),
        other => other,
    };
    text.chars().map(wide).collect()
}

#[test]
fn a_negation_before_an_approving_reply_approves_less_and_mostly_nothing() {
    let (sets, _) = corpus();
    for (set, reply) in approving() {
        let before = approvals(&sets[set].read(&reply));
        for negation in ["不", "不要", "别", "don't ", "do not ", "not ", "never "] {
            let negated = format!("{negation}{reply}");
            let after = approvals(&sets[set].read(&negated));
            assert!(after.len() < before.len() && after.is_subset(&before), "{set}: {negated:?}: {after:?}");
            // Only a second act can still approve: `不同意1，同意2`.
            assert!(after.is_empty() || before.len() > 1 || reply.contains(['，', ',']), "{negated:?}");
        }
    }
}

#[test]
fn a_question_mark_after_an_approving_reply_approves_nothing() {
    let (sets, _) = corpus();
    for (set, reply) in approving() {
        for mark in ["?", "？", "吗", "吗？", " ?", "么", " right?"] {
            let asked = format!("{reply}{mark}");
            assert_eq!(approved(&sets[set].read(&asked)), 0, "{set}: {asked:?}");
        }
    }
}

#[test]
fn a_condition_around_an_approving_reply_approves_nothing() {
    let (sets, _) = corpus();
    for (set, reply) in approving() {
        for asked in [
            format!("如果{reply}"),
            format!("{reply}，但是"),
            format!("{reply}，如果测试通过"),
            format!("if {reply}"),
            format!("{reply} if it works"),
            format!("{reply} but"),
            format!("maybe {reply}"),
            format!("{reply} 等等"),
            format!("{reply} or not"),
            format!("{reply} unless"),
        ] {
            assert_eq!(approved(&sets[set].read(&asked)), 0, "{set}: {asked:?}");
        }
    }
}

#[test]
fn full_width_and_capitals_change_nothing() {
    let (sets, cases) = corpus();
    for case in cases {
        let stage = &sets[case.set];
        let plain = answers(stage.read(&case.reply));
        assert_eq!(answers(stage.read(&full_width(&case.reply))), plain, "{case:?}");
        // Ids are case-sensitive.
        if !case.reply.to_lowercase().contains("qk") {
            assert_eq!(answers(stage.read(&case.reply.to_uppercase())), plain, "{case:?}");
        }
    }
}

#[test]
fn a_model_can_only_ask() {
    let stage = PendingApprovals::of(["A1=git status", "A2=rm -rf build"]);
    let read = |leaning, numbers: &[u32]| {
        let numbers = numbers.iter().copied().map(ApprovalNumber).collect();
        match ask_back_from_model(&ModelHint { leaning, numbers }, &stage.pending()) {
            HintedReading::AskBack(question) => question.words(Language::En),
            HintedReading::NotADecision => "none".to_owned(),
        }
    };
    assert_eq!(read(Leaning::Approve, &[1]), "Do you mean: approve A1?");
    assert_eq!(read(Leaning::Approve, &[]), "Which one: A1 or A2?");
    assert_eq!(read(Leaning::Deny, &[1, 2]), "Do you mean: deny A1 and A2?");
    assert_eq!(read(Leaning::Approve, &[9]), "Nothing waits under A9. Which one: A1 or A2?");
    assert_eq!(read(Leaning::Unclear, &[]), "Approve or deny A1 and A2?");
    assert_eq!(read(Leaning::Unrelated, &[1]), "none");
    let hint = ModelHint { leaning: Leaning::Approve, numbers: Vec::new() };
    assert_eq!(ask_back_from_model(&hint, &[]), HintedReading::NotADecision);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_fall_over(text in any::<String>(), set in select(SETS)) {
        PendingApprovals::of(set.iter().copied()).read(&text);
    }

    #[test]
    fn no_text_approves_by_accident(text in "[a-zA-Z一-龥 ,.0-9]{0,40}", set in select(SETS)) {
        let reading = PendingApprovals::of(set.iter().copied()).read(&text);
        if approved(&reading) > 0 {
            let low = text.to_lowercase();
            let said = ["y", "ok", "同意", "可以", "好", "行", "准", "yes", "only", "只", "批", "许", "通", "确", "执"];
            prop_assert!(said.iter().any(|word| low.contains(word)), "{text:?}");
        }
    }

    #[test]
    fn what_is_asked_doubted_or_negated_alone_never_approves(
        words in prop::collection::vec(select(WORDS), 0..8),
        spoiler in select(&["?", "吗", "如果", "但是", "maybe", "if", "xyz"][..]),
        at in 0usize..8,
        set in select(SETS),
    ) {
        let mut words = words;
        words.insert(at.min(words.len()), spoiler);
        let reply = words.join(" ");
        let reading = PendingApprovals::of(set.iter().copied()).read(&reply);
        prop_assert_eq!(approved(&reading), 0, "{:?}: {:?}", reply, reading);
    }

    #[test]
    fn no_more_is_approved_than_is_named(words in prop::collection::vec(select(WORDS), 0..7), set in select(SETS)) {
        let reply = words.concat();
        let reading = PendingApprovals::of(set.iter().copied()).read(&reply);
        let every = ["all", "全部", "都"].iter().any(|word| reply.contains(word));
        let named = reply.matches(['1', '2']).count() + reply.matches("第一个").count()
            + ["git status", "rm", "build", "write_file", "make deploy"].iter().map(|name| reply.matches(name).count()).sum::<usize>();
        prop_assert!(every || approved(&reading) <= named.max(1), "{:?}: {:?}", reply, reading);
        // Nothing is ruled twice, and no scope is larger than stated.
        if let ReadReply::Decide(rulings) = &reading {
            let places: BTreeSet<_> = rulings.iter().map(|ruling| ruling.index).collect();
            prop_assert_eq!(places.len(), rulings.len());
            let reach = ["分钟", "minutes", "会话", "always"].iter().any(|word| reply.contains(word));
            let further = |answer: &Answer| matches!(answer, Answer::Approve(scope) if *scope != Scope::Once);
            prop_assert!(reach || !rulings.iter().any(|ruling| further(&ruling.answer)), "{:?}", reply);
        }
    }

    #[test]
    fn full_width_folding_changes_no_reading(words in prop::collection::vec(select(WORDS), 0..6), set in select(SETS)) {
        let reply = words.join(" ");
        let stage = PendingApprovals::of(set.iter().copied());
        prop_assert_eq!(answers(stage.read(&full_width(&reply))), answers(stage.read(&reply)));
    }
}
