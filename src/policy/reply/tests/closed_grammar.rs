//! The closed grammar, for all replies: an unknown word at any position prevents an approval, and a target gets the
//! decision of its own clause or none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::corpus::corpus;
use super::pending_approvals::{PendingApprovals, approved};
use crate::domain::Answer;
use crate::policy::reply::fold::Folded;
use crate::policy::reply::{ReadReply, words_en, words_zh};

type Replies = (BTreeMap<&'static str, PendingApprovals>, Vec<(&'static str, String)>);

/// Every approving reply of the corpus, with the approvals it is read against.
static APPROVING: LazyLock<Replies> = LazyLock::new(|| {
    let (sets, cases) = corpus();
    let approving = |set: &str, reply: &str| approved(&sets[set].read(reply)) > 0;
    // The name of a bot after a command is any word.
    let replies =
        cases.into_iter().filter(|case| !case.reply.contains('@') && approving(case.set, &case.reply));
    let replies = replies.map(|case| (case.set, case.reply)).collect();
    (sets, replies)
});

/// The characters of the closed vocabulary, of numbers and of units.
static KNOWN_CHARACTERS: LazyLock<BTreeSet<char>> = LazyLock::new(|| {
    let numbers = "零一二三四五六七八九十百两半第号个条项分钟小时天秒星期周月年刻头内里之以后前在接下来未的";
    let mut known: BTreeSet<char> = entries().flat_map(str::chars).collect();
    known.extend(numbers.chars());
    // Another form of a known character is known.
    let forms = (0x3400_u32..0xA000).filter_map(char::from_u32);
    let folded = |c: &char| Folded::of(&c.to_string()).chars.first().is_some_and(|form| known.contains(form));
    let forms: Vec<char> = forms.filter(folded).collect();
    known.extend(forms);
    known
});

fn entries() -> impl Iterator<Item = &'static str> {
    words_zh::WORDS.iter().chain(words_en::WORDS).flat_map(|(_, entries)| entries.split('|'))
}

/// A Chinese word of one to four characters; at least one of them is in no entry of the tables.
fn chinese_word() -> impl Strategy<Value = String> {
    let common = prop::collection::vec(prop::char::range('\u{4e00}', '\u{9fa5}'), 1..4);
    let strange = prop::char::range('\u{4e00}', '\u{9fa5}')
        .prop_filter("in no table", |c| !KNOWN_CHARACTERS.contains(c));
    let vocabulary: Vec<char> =
        KNOWN_CHARACTERS.iter().copied().filter(|c| ('\u{4e00}'..='\u{9fa5}').contains(c)).collect();
    let familiar = prop::collection::vec(select(vocabulary), 0..3);
    (common, strange, familiar, any::<bool>()).prop_map(|(common, strange, familiar, first)| {
        let rest: String = if first { familiar.into_iter().collect() } else { common.into_iter().collect() };
        if first { format!("{strange}{rest}") } else { format!("{rest}{strange}") }
    })
}

/// A Latin word that contains no part of an entry.
fn latin_word() -> impl Strategy<Value = String> {
    "[a-z]{0,4}[qjxz][qjxz][a-z]{0,4}"
}

/// A word of letters that is none of the words of the tables, of the commands or of numbers.
fn plain_word() -> impl Strategy<Value = String> {
    static TAKEN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let words = entries().flat_map(|entry| entry.split([' ', '\'', '-'])).map(str::to_owned);
        let others = "git status rm rf build npm install left pad cargo test push force origin main write_file commit m ok \
                      ls la make deploy dev an a half one two three four five six seven eight nine ten twelve fifteen \
                      twenty thirty forty fifty sixty ninety min mins minute minutes h hr hrs hour hours s sec secs \
                      second seconds d day days week weeks month months year years for in within next ago t re";
        words.chain(others.split_whitespace().map(str::to_owned)).collect()
    });
    "[a-z]{2,9}".prop_filter("in no table", |word: &String| !TAKEN.contains(word))
}

fn sign() -> impl Strategy<Value = String> {
    let signs = [
        "§", "¥", "€", "♥", "💥", "😂", "🙃", "🎉", "ж", "ひ", "한", "é", "^", "*", "_", "|", "<", ">", "$",
        "@", "\u{336}", "\u{202e}", "(", ")", "[", "]", "{", "}", "~~", "?", "…", "``", "%", "=",
    ];
    select(signs.map(str::to_owned).to_vec())
}

fn unknown() -> impl Strategy<Value = String> {
    prop_oneof![4 => chinese_word(), 2 => latin_word(), 3 => plain_word().prop_map(|word| format!(" {word} ")), 1 => sign()]
}

/// The text with a word inserted between two characters; one in letters only between words.
fn with(reply: &str, word: &str, at: Index) -> String {
    let letters: Vec<char> = reply.chars().collect();
    let fits = |place: &usize| {
        let joins = |c: Option<&char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '\'');
        let inside =
            joins(place.checked_sub(1).and_then(|before| letters.get(before))) && joins(letters.get(*place));
        !(word.starts_with(' ') && inside)
    };
    let places: Vec<usize> = (0..=letters.len()).filter(fits).collect();
    let (head, tail) = letters.split_at(places[at.index(places.len())]);
    format!("{}{word}{}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

#[test]
fn an_entry_of_the_vocabulary_is_folded_and_has_one_meaning() {
    let mut seen = BTreeSet::new();
    for entry in entries() {
        let folded: String = Folded::of(entry).chars.iter().collect();
        let whole = if entry == "\n" { folded.is_empty() } else { folded.trim() == entry.trim() };
        assert!(whole, "{entry:?} is not folded: {folded:?}");
        assert!(seen.insert(entry), "{entry:?} has two meanings");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    #[test]
    fn an_unknown_word_at_any_place_of_a_yes_leaves_no_yes(word in unknown(), reply in any::<Index>(), at in any::<Index>()) {
        let (sets, replies) = &*APPROVING;
        let (set, reply) = &replies[reply.index(replies.len())];
        let spoilt = with(reply, &word, at);
        let reading = sets[set].read(&spoilt);
        prop_assert_eq!(approved(&reading), 0, "{}: {:?}: {:?}", set, spoilt, reading);
    }

    #[test]
    fn text_before_or_behind_a_yes_leaves_no_yes(
        words in prop::collection::vec(unknown(), 1..6),
        between in select(&["", " ", ", ", "，", "。", "\n", ": ", " - ", "! "][..]),
        before in any::<bool>(),
        reply in any::<Index>(),
    ) {
        let (sets, replies) = &*APPROVING;
        let (set, reply) = &replies[reply.index(replies.len())];
        let text = words.concat();
        let spoilt = if before { format!("{text}{between}{reply}") } else { format!("{reply}{between}{text}") };
        let reading = sets[set].read(&spoilt);
        prop_assert_eq!(approved(&reading), 0, "{}: {:?}: {:?}", set, spoilt, reading);
    }
}

/// A clause: its targets, whether they are approved, and whether the act comes first.
#[derive(Clone, Debug)]
struct Clause {
    targets: Vec<u32>,
    approves: bool,
    act_first: bool,
    words: usize,
}

const WORDS: &[(&str, &str)] = &[
    ("approve", "deny"),
    ("ok", "no"),
    ("yes", "reject"),
    ("同意", "拒绝"),
    ("可以", "不行"),
    ("批准", "不同意"),
    ("allow", "don't approve"),
    ("👍", "👎"),
];

impl Clause {
    fn text(&self, join: &str) -> String {
        let (yes, no) = WORDS[self.words % WORDS.len()];
        let act = if self.approves { yes } else { no };
        let targets: Vec<String> = self.targets.iter().map(|target| format!("A{target}")).collect();
        let targets = targets.join(join);
        if self.act_first { format!("{act} {targets}") } else { format!("{targets} {act}") }
    }
}

/// Five approvals distributed to clauses, each to one at most.
fn clauses() -> impl Strategy<Value = Vec<Clause>> {
    let order = Just([1_u32, 2, 3, 4, 5].to_vec()).prop_shuffle();
    let cuts = prop::collection::vec((1_usize..3, any::<bool>(), any::<bool>(), 0..WORDS.len()), 1..5);
    (order, cuts).prop_map(|(order, cuts)| {
        let mut left = order.as_slice();
        let mut out = Vec::new();
        for (size, approves, act_first, words) in cuts {
            let (targets, rest) = left.split_at(size.min(left.len()));
            left = rest;
            if !targets.is_empty() {
                out.push(Clause { targets: targets.to_vec(), approves, act_first, words });
            }
        }
        out
    })
}

fn five() -> PendingApprovals {
    PendingApprovals::of(["A1=git status", "A2=rm -rf build", "A3=npm test", "A4=make", "A5=@write_file"])
}

fn decided(reading: &ReadReply, approve: bool) -> BTreeSet<u32> {
    let ReadReply::Decide(rulings) = reading else { return BTreeSet::new() };
    let wanted = |answer: &Answer| matches!(answer, Answer::Approve(_)) == approve;
    let numbers = rulings.iter().filter(|ruling| wanted(&ruling.answer));
    numbers.map(|ruling| u32::try_from(ruling.index).unwrap() + 1).collect()
}

fn expected(clauses: &[Clause], approve: bool) -> BTreeSet<u32> {
    clauses
        .iter()
        .filter(|clause| clause.approves == approve)
        .flat_map(|clause| clause.targets.clone())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn clauses_of_one_order_bind_exactly(
        clauses in clauses(),
        act_first in any::<bool>(),
        join in select(&[" ", " and ", "、", "和"][..]),
        between in select(&[", ", "，", "; ", "\n", "。"][..]),
    ) {
        let clauses: Vec<Clause> = clauses.into_iter().map(|clause| Clause { act_first, ..clause }).collect();
        let reply = clauses.iter().map(|clause| clause.text(join)).collect::<Vec<_>>().join(between);
        let reading = five().read(&reply);
        prop_assert_eq!(decided(&reading, true), expected(&clauses, true), "{:?}: {:?}", reply, reading);
        prop_assert_eq!(decided(&reading, false), expected(&clauses, false), "{:?}: {:?}", reply, reading);
    }

    #[test]
    fn no_target_gets_the_decision_of_another_clause(
        clauses in clauses(),
        join in select(&[" ", " and ", ", ", "，", "、"][..]),
        between in select(&[", ", "，", "; ", "\n", " ", " and ", "", " - "][..]),
    ) {
        let reply = clauses.iter().map(|clause| clause.text(join)).collect::<Vec<_>>().join(between);
        let reading = five().read(&reply);
        let (yes, no) = (decided(&reading, true), decided(&reading, false));
        prop_assert!(yes.is_subset(&expected(&clauses, true)), "{:?}: {:?}", reply, reading);
        prop_assert!(no.is_subset(&expected(&clauses, false)), "{:?}: {:?}", reply, reading);
    }
}
