//! Whether a text names an agent: `@name` anywhere, or the name as an address at its start or end.

use std::ops::Range;

use crate::domain::AgentCard;

/// Fewest characters of a name that counts as an address without `@`.
const SHORTEST: usize = 2;

/// The names of one agent, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl Names {
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<String> = names
            .into_iter()
            .map(|name| name.trim().trim_start_matches('@').to_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        Self(names)
    }

    pub fn of(card: &AgentCard) -> Self {
        Self::new(card.names())
    }

    /// Whether the text names the agent with `@`. A list of names in code addresses no agent.
    pub fn are_mentioned_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|name| has_mention(&text, name))
    }

    /// Whether the text names the agent.
    pub fn are_in(&self, text: &str) -> bool {
        let text = text.trim().to_lowercase();
        self.0.iter().any(|name| has_mention(&text, name) || is_vocative(&text, name))
    }
}

/// Whether `@name` is in a text, not as a part of a longer word or of an address.
fn has_mention(text: &str, name: &str) -> bool {
    let named =
        |at: usize| text.get(at + 1..).and_then(|rest| rest.strip_prefix(name)).is_some_and(begins_anew);
    signs(text).any(named)
}

/// The places of `@` that may begin a mention.
fn signs(text: &str) -> impl Iterator<Item = usize> {
    let alone = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        before
            .is_none_or(|before| !(before.is_ascii_alphanumeric() || matches!(before, '@' | '_' | '/' | '.')))
    };
    text.match_indices('@').map(|(at, _)| at).filter(move |at| alone(*at))
}

/// The length in bytes of a name at the beginning of a text, in any case; `None` where the text begins otherwise.
fn length_of(text: &str, name: &str) -> Option<usize> {
    let mut name = name.chars();
    let mut expected = name.next()?;
    for (at, letter) in text.char_indices() {
        for lower in letter.to_lowercase() {
            if lower != expected {
                return None;
            }
            let end = at + letter.len_utf8();
            match name.next() {
                Some(next) => expected = next,
                None => return text.get(end..).is_some_and(begins_anew).then_some(end),
            }
        }
    }
    None
}

/// Whether a text begins or ends with a name, set off by punctuation: "Ops, is it green?", "is it green, Ops?".
fn is_vocative(text: &str, name: &str) -> bool {
    if name.chars().count() < SHORTEST {
        return false;
    }
    let start = text.strip_prefix(name).is_some_and(|rest| {
        rest.trim_start().starts_with([',', '，', ':', '：', '、', '!', '！']) || rest.trim().is_empty()
    });
    let closed = text.trim_end_matches(['?', '？', '!', '！', '.', '。', ' ']);
    let end = closed.strip_suffix(name).is_some_and(|rest| rest.trim_end().ends_with([',', '，', '、']));
    start || end
}

/// Whether a text goes on with something else than the same word.
fn begins_anew(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))
}

/// Where a text names agents of a roster with `@`, in its order. Names in code do not count.
pub fn native_mentions<'a>(text: &str, roster: &'a [AgentCard]) -> Vec<(Range<usize>, &'a AgentCard)> {
    let is_code = |at: usize| text.get(..at).is_some_and(|before| before.matches('`').count() % 2 == 1);
    let named = |at: usize| {
        let rest = text.get(at + 1..)?;
        let longest = |card: &'a AgentCard| {
            let lengths = Names::of(card).0.into_iter().filter_map(|name| length_of(rest, &name));
            lengths.max().map(|length| (at..at + 1 + length, card))
        };
        roster.iter().filter_map(longest).max_by_key(|(range, _)| range.end)
    };
    signs(text).filter(|at| !is_code(*at)).filter_map(named).collect()
}

/// The letters and digits of a text in lower case, without the names and commands that address it: two reports of one
/// message may differ in the rest.
pub fn bare_words(text: &str) -> String {
    let is_address = |word: &&str| !word.starts_with(['@', '/']);
    let words = text.split_whitespace().filter(is_address).flat_map(str::chars);
    words.filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_mention_or_an_address_and_not_in_passing() {
        let ops = Names::new(["Ops", "@ops_bot", "运维"]);
        for (text, named) in [
            ("@Ops is it green?", true),
            ("is it green @ops", true),
            ("hey @ops_bot: status", true),
            ("@opsy is somebody else", false),
            ("@ops-2 too", false),
            ("Ops, is it green?", true),
            ("ops", true),
            ("Is it green, Ops?", true),
            ("运维，构建好了吗", true),
            ("构建好了吗，运维？", true),
            ("@运维看一下", true),
            ("the ops team is away", false),
            ("Opsgenie, hello", false),
            ("we need devops", false),
            ("", false),
        ] {
            assert_eq!(ops.are_in(text), named, "{text}");
        }
        assert!(!Names::new([""]).are_in("anything"));
        assert!(!ops.are_in("write to me@ops.example"));
    }

    #[test]
    fn mentions_of_a_roster_are_found_in_place_and_not_in_code() {
        let mut ops = AgentCard::new("o", "Ops");
        ops.aliases = vec!["运维".to_owned(), "Ops Team".to_owned()];
        let roster = [AgentCard::new("s", "Ship"), ops];
        for (text, expected) in [
            ("@Ops look", vec![("@Ops", "o")]),
            ("ask @ship and @运维，请", vec![("@ship", "s"), ("@运维", "o")]),
            ("@OPS TEAM: go", vec![("@OPS TEAM", "o")]),
            ("@opsy, a@ops.example, @@ops", vec![]),
            ("`@ops` and ```\n@ship\n``` but @ship", vec![("@ship", "s")]),
            ("İ @ops", vec![("@ops", "o")]),
            ("@", vec![]),
        ] {
            let found = native_mentions(text, &roster);
            let found: Vec<(&str, &str)> =
                found.into_iter().map(|(range, card)| (text.get(range).unwrap(), card.id.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_same_words_are_known_however_they_are_addressed() {
        assert_eq!(bare_words("@Ops **is it** green?"), bare_words("/ask@ops_bot is it green"));
        assert_ne!(bare_words("is it green"), bare_words("is it red"));
    }
}
