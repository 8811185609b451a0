//! Pairing codes: short enough to be read aloud, too many to be guessed within an hour.

use ring::rand::{SecureRandom, SystemRandom};

/// Letters and digits that are not easily confused. There are 32, so that five random bits choose one evenly.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH: usize = 8;

/// The system returned no random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gave no random numbers")]
pub(super) struct NoRandomness;

pub(super) fn fresh() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; LENGTH];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32))).copied().map(char::from).collect())
}

/// A typed code, normalized: upper case, without spaces or dashes.
pub(super) fn normal(typed: &str) -> String {
    typed.chars().filter(|letter| letter.is_ascii_alphanumeric()).map(|l| l.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_eight_clear_letters_and_is_read_as_it_is_typed() {
        let codes: std::collections::BTreeSet<String> = (0..1000).map(|_| fresh().unwrap()).collect();
        assert_eq!(codes.len(), 1000, "a code came twice");
        for code in &codes {
            assert_eq!(code.len(), LENGTH);
            assert!(code.bytes().all(|letter| LETTERS.contains(&letter)), "{code}");
            let (head, tail) = code.split_at(4);
            assert_eq!(normal(&format!(" {}-{} ", head.to_lowercase(), tail)), *code);
        }
        let used: std::collections::BTreeSet<u8> = codes.iter().flat_map(|code| code.bytes()).collect();
        assert_eq!(used.len(), LETTERS.len(), "some letter never comes");
    }
}
