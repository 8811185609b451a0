//! Which agent answers a message that several claim.

use crate::domain::{LineKind, MessageId, RoomLine, Timestamp, Via};

/// How long after the first claim others count. Claims are stamped under a lock, so that after this time all agents read
/// the same ones.
pub const CLAIM_WINDOW_MS: u64 = 600;

/// The score of a message that goes on with the agent; a model says less, a forged line may say more.
pub const BEST_SCORE: u32 = 100;

/// After how long without a sign of life of its agent a claim lapses.
pub const CLAIM_LAPSES_MS: u64 = 60_000;

/// The claim that won.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Winner {
    pub by: String,
    pub claimed_at: Timestamp,
    /// The agent that had won before, and whose claim has lapsed.
    pub instead_of: Option<String>,
}

/// The winner among the claims on a message: the highest score within the window, ties by a hash of agent and message.
/// Where others have claimed it again because the winner's claim has lapsed, the best of those, once. `None` where there
/// is no claim.
pub fn winner(lines: &[RoomLine], key: &MessageId) -> Option<Winner> {
    let first = best_claim(lines, key, None)?;
    let again = best_claim(lines, key, Some(&first.by));
    Some(again.unwrap_or(first))
}

/// The best of the claims that were made first, or after the claim of an agent has lapsed.
fn best_claim(lines: &[RoomLine], key: &MessageId, lapsed: Option<&str>) -> Option<Winner> {
    let is_one = |line: &&RoomLine| {
        line.kind == LineKind::Claim && line.key == *key && line.lapsed.as_deref() == lapsed
    };
    let claims = || lines.iter().filter(is_one);
    let until = claims().map(|line| line.at).min()?.plus_millis(CLAIM_WINDOW_MS);
    let counted = claims().filter(|line| line.at <= until);
    let best =
        counted.max_by_key(|line| (line.score.min(BEST_SCORE), tie(&line.by, key), line.by.clone()))?;
    Some(Winner { by: best.by.clone(), claimed_at: best.at, instead_of: lapsed.map(str::to_owned) })
}

/// Whether another agent than `me` has answered a person's message.
pub fn is_answered(lines: &[RoomLine], key: &MessageId, me: &str) -> bool {
    let answers = |line: &RoomLine| {
        let sent = line.kind == LineKind::Said && line.via == Via::Outbound && line.depth <= 1;
        sent && line.is_of_other_agent(me) && line.chain.as_ref() == Some(key)
    };
    lines.iter().any(answers)
}

/// A number that differs between agents and messages, so that ties go to one agent as often as to another.
fn tie(by: &str, key: &MessageId) -> u64 {
    // FNV-1a: the same in every process and version.
    let bytes = by.bytes().chain([0]).chain(key.as_str().bytes());
    let hash: u64 = bytes
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // The last bytes reach all bits only by further mixing.
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::{LINE_VERSION, LineAuthor, SpeakerKind};

    pub(crate) fn line(key: &str, by: &str, at: i64) -> RoomLine {
        RoomLine {
            v: LINE_VERSION,
            kind: LineKind::Said,
            key: key.parse().unwrap(),
            at: Timestamp::from_millis(at),
            message_id: None,
            reply_to: None,
            author: LineAuthor { id: "u".to_owned(), name: "Ada".to_owned(), kind: SpeakerKind::Person },
            text: "hello".to_owned(),
            cut: false,
            chain: None,
            depth: 0,
            answers: None,
            score: 0,
            lapsed: None,
            via: Via::Inbound,
            by: by.to_owned(),
        }
    }

    fn claim(key: &str, by: &str, at: i64, score: u32) -> RoomLine {
        RoomLine { kind: LineKind::Claim, score, ..line(key, by, at) }
    }

    #[test]
    fn the_highest_score_within_the_window_wins_and_late_claims_do_not_count() {
        let key: MessageId = "k".parse().unwrap();
        let won = |lines: &[RoomLine]| winner(lines, &key).map(|winner| winner.by);
        assert_eq!(won(&[]), None);
        assert_eq!(won(&[claim("other", "a", 0, 90)]), None);
        let lines = [claim("k", "a", 0, 70), claim("k", "b", 600, 80), claim("k", "c", 601, 99)];
        assert_eq!(won(&lines).as_deref(), Some("b"));
        assert_eq!(won(&lines[..1]).as_deref(), Some("a"));
    }

    #[test]
    fn a_claim_that_has_lapsed_is_followed_by_the_best_of_one_more_round() {
        let key: MessageId = "k".parse().unwrap();
        let again = |by: &str, at, score, lapsed: &str| RoomLine {
            lapsed: Some(lapsed.to_owned()),
            ..claim("k", by, at, score)
        };
        let mut lines = vec![claim("k", "a", 0, 90), claim("k", "b", 10, 80), claim("k", "c", 70_000, 99)];
        assert_eq!(winner(&lines, &key).unwrap().by, "a", "a late agent is no second round");
        lines.push(again("b", 61_000, 70, "c"));
        assert_eq!(winner(&lines, &key).unwrap().by, "a", "c has not won");
        lines.extend([again("b", 62_000, 70, "a"), again("c", 62_100, 75, "a"), again("d", 63_000, 99, "a")]);
        let won = winner(&lines, &key).unwrap();
        assert_eq!((won.by.as_str(), won.instead_of.as_deref()), ("c", Some("a")));
        lines.push(again("b", 130_000, 99, "c"));
        assert_eq!(winner(&lines, &key).unwrap(), won, "it lapses once");
    }

    #[test]
    fn ties_are_broken_the_same_way_for_all_and_not_always_for_the_same_agent() {
        let mut wins = std::collections::BTreeMap::<String, u32>::new();
        for number in 0..200 {
            let text = format!("k{number}");
            let mut lines: Vec<RoomLine> = ["a", "b", "c", "d"].map(|by| claim(&text, by, 5, 80)).into();
            let key = text.parse().unwrap();
            let best = winner(&lines, &key).unwrap();
            lines.reverse();
            assert_eq!(winner(&lines, &key).unwrap(), best);
            *wins.entry(best.by).or_default() += 1;
        }
        assert!(wins.len() == 4 && wins.values().all(|count| *count > 20), "{wins:?}");
    }
}
