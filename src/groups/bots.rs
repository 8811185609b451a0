//! Agents that answer agents: how deep, and how often.

use crate::domain::{LineKind, MessageId, RoomLine, Timestamp, Via};

const HOUR_MS: u64 = 60 * 60 * 1000;
/// Most messages that two agents exchange in an hour and in a day.
const PER_HOUR: usize = 6;
const PER_DAY: usize = 30;
/// How long two agents are quiet after one of them has told the room that they stop.
pub const QUIET_MS: u64 = 10 * 60 * 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BotLimits {
    /// How many messages of agents may follow each other.
    pub depth: u32,
}

/// Why an agent's message is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BotRefusal {
    /// Too many agents have answered each other.
    TooDeep,
    /// The two have exchanged enough.
    Budget,
    /// It repeats what it said before.
    Repeats,
    /// The room was told a short time ago that the two stop.
    Quiet,
}

impl BotRefusal {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooDeep => "too-deep",
            Self::Budget => "pair-budget",
            Self::Repeats => "repeats",
            Self::Quiet => "quiet",
        }
    }
}

/// Whether an agent's line that names `me` may be answered. `lines` are those of the room's log today.
///
/// # Errors
/// Why it may not.
pub fn may_answer_agent(
    line: &RoomLine,
    me: &str,
    lines: &[RoomLine],
    limits: BotLimits,
    now: Timestamp,
) -> Result<(), BotRefusal> {
    if line.depth == 0 || line.depth >= limits.depth {
        // A line without a depth tells nothing about the chain before it.
        return Err(BotRefusal::TooDeep);
    }
    let peer = line.author.id.as_str();
    let pair = stop_key(me, peer);
    if stops(lines, &pair, now).any(|stop| stop.chain == line.chain) {
        return Err(BotRefusal::Quiet);
    }
    let sent = |one: &&RoomLine| one.kind == LineKind::Said && one.via == Via::Outbound;
    let between = |one: &&RoomLine| {
        let answers = one.answers.as_deref();
        (one.by == me && answers == Some(peer)) || (one.by == peer && answers == Some(me))
    };
    let exchanged = || lines.iter().filter(sent).filter(between);
    let this_hour = exchanged().filter(|one| now.millis_since(one.at) < HOUR_MS).count();
    if this_hour >= PER_HOUR || exchanged().count() >= PER_DAY {
        return Err(BotRefusal::Budget);
    }
    let in_chain = |one: &&RoomLine| {
        let same = one.chain == line.chain && (one.chain.is_some() || one.answers.as_deref() == Some(peer));
        one.by == me && same
    };
    let mut own = lines.iter().rev().filter(sent).filter(in_chain).map(|one| plain(&one.text));
    if let (Some(last), Some(before)) = (own.next(), own.next())
        && are_alike(&last, &before)
    {
        return Err(BotRefusal::Repeats);
    }
    Ok(())
}

/// The key of the claims with which two agents tell that they stop: the first to claim it tells the room.
pub fn stop_key(one: &str, other: &str) -> MessageId {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    MessageId::made("stop:", &format!("{first}:{second}"))
}

/// The claims of a pair that still keep it quiet, in the order of the log.
pub fn stops<'a>(
    lines: &'a [RoomLine],
    pair: &'a MessageId,
    now: Timestamp,
) -> impl Iterator<Item = &'a RoomLine> {
    lines.iter().filter(move |line| {
        line.kind == LineKind::Claim && line.key == *pair && now.millis_since(line.at) < QUIET_MS
    })
}

/// Of a hundred pairs of letters, how many two texts that say the same have in common at least.
const ALIKE_PERCENT: usize = 90;

/// Whether two texts say the same but for a few letters.
fn are_alike(one: &str, other: &str) -> bool {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let mut pairs: Vec<(char, char)> = text.chars().zip(text.chars().skip(1)).collect();
        pairs.sort_unstable();
        pairs
    };
    let (one_pairs, mut rest) = (pairs(one), pairs(other));
    let total = one_pairs.len() + rest.len();
    let mut common = 0;
    for pair in one_pairs {
        if let Ok(at) = rest.binary_search(&pair) {
            rest.remove(at);
            common += 1;
        }
    }
    one == other || (total > 0 && 200 * common >= ALIKE_PERCENT * total)
}

/// The letters and digits of a text, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LineAuthor, SpeakerKind};
    use crate::groups::claims::tests::line;

    fn said(by: &str, answers: Option<&str>, depth: u32, at: i64, text: &str) -> RoomLine {
        RoomLine {
            author: LineAuthor { id: by.to_owned(), name: by.to_owned(), kind: SpeakerKind::Agent },
            via: Via::Outbound,
            depth,
            chain: Some("root".parse().unwrap()),
            answers: answers.map(str::to_owned),
            text: text.to_owned(),
            ..line(&format!("{by}{at}"), by, at)
        }
    }

    #[test]
    fn depth_budget_and_repetition_end_a_conversation_of_agents() {
        let limits = BotLimits { depth: 2 };
        let now = Timestamp::from_millis(10_000_000);
        let ask = |depth, lines: &[RoomLine]| {
            may_answer_agent(&said("b", Some("a"), depth, 9_999_000, "thanks"), "a", lines, limits, now)
        };
        assert_eq!(ask(1, &[]), Ok(()));
        assert_eq!(ask(2, &[]), Err(BotRefusal::TooDeep));
        assert_eq!(ask(0, &[]), Err(BotRefusal::TooDeep), "a line that hides its depth");
        let exchanged: Vec<RoomLine> =
            (0..6).map(|n| said("a", Some("b"), 2, 9_000_000 + n, &format!("text {n}"))).collect();
        assert_eq!(ask(1, &exchanged), Err(BotRefusal::Budget));
        assert_eq!(ask(1, &exchanged[..5]), Ok(()));
        let stop =
            RoomLine { kind: LineKind::Claim, key: stop_key("b", "a"), ..said("a", None, 0, 9_900_000, "") };
        assert_eq!(ask(1, std::slice::from_ref(&stop)), Err(BotRefusal::Quiet));
        let of_other_chain = RoomLine { chain: Some("earlier".parse().unwrap()), ..stop.clone() };
        assert_eq!(ask(1, &[of_other_chain]), Ok(()), "a person has spoken since");
        assert_eq!(ask(1, &[RoomLine { at: Timestamp::from_millis(9_000_000), ..stop }]), Ok(()));
        let old: Vec<RoomLine> = (0..29).map(|n| said("a", Some("b"), 2, n, &format!("text {n}"))).collect();
        assert_eq!(ask(1, &old), Ok(()));
        let same = [said("a", Some("c"), 2, 1, "Thanks!"), said("a", Some("c"), 2, 2, "thanks")];
        assert_eq!(ask(1, &same), Err(BotRefusal::Repeats));
        let [first, second] =
            ["Thank you very much for the report, Beta!", "Thank you very much for this report, Beta."];
        let alike = [said("a", Some("c"), 2, 1, first), said("a", Some("c"), 2, 2, second)];
        assert_eq!(ask(1, &alike), Err(BotRefusal::Repeats));
        let differs = [said("a", Some("c"), 2, 1, first), said("a", Some("c"), 2, 2, "The tests are red.")];
        assert_eq!(ask(1, &differs), Ok(()));
        // Without a chain, the answers to the same agent are compared.
        let loose = |text: &str, at| RoomLine { chain: None, ..said("a", Some("b"), 2, at, text) };
        let line = RoomLine { chain: None, ..said("b", Some("a"), 1, 9_999_000, "thanks") };
        let repeats = [loose("Thanks!", 1), loose("thanks", 2)];
        assert_eq!(may_answer_agent(&line, "a", &repeats, limits, now), Err(BotRefusal::Repeats));
    }
}
