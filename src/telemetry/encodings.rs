//! The encodings in which a secret is searched for: as numbers, in base32 and base64, reversed, rotated. All are
//! sequences of the symbols that [`super::views`] reads from a text. Pure.

/// Fewest letters and digits of a form that ignores separators: shorter ones would match ordinary words.
const LEAST_LETTERS: usize = 8;
/// Fewest digits of a numeric form: shorter ones could be a count or a date.
const LEAST_DIGITS: usize = 12;
/// Shortest piece of an encoding.
const LEAST_ENCODED: usize = 7;
/// A longer secret is searched for in pieces, so that each is found by itself and the tables stay small.
const PIECE_BYTES: usize = 64;

/// The sequences of letters and digits, in lower case, that reveal a secret with any separators between them.
pub(super) fn alphanumeric_forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for piece in pieces(secret.as_bytes()) {
        let letters: Vec<u8> = piece
            .iter()
            .filter(|byte| byte.is_ascii_alphanumeric())
            .map(|byte| byte.to_ascii_lowercase())
            .collect();
        let digits_only = letters.iter().all(u8::is_ascii_digit);
        if letters.len() >= if digits_only { LEAST_DIGITS } else { LEAST_LETTERS } {
            forms.push(letters.iter().rev().copied().collect());
            forms.push(letters.iter().map(|letter| rotated(*letter)).collect());
            forms.push(letters);
        }
        let numbers = |write: fn(u8) -> String| piece.iter().map(|byte| write(*byte)).collect::<String>();
        forms.push(numbers(|byte| format!("{byte:02x}")).into_bytes());
        forms.push(numbers(|byte| byte.to_string()).into_bytes());
        forms.push(numbers(|byte| format!("{byte:03o}")).into_bytes());
        forms.push(numbers(|byte| format!("{byte:08b}")).into_bytes());
        for first_bit in 0..5 {
            let encoded = groups(piece, 5, first_bit);
            let letters =
                encoded.iter().map(|value| *BASE32.get(*value).unwrap_or(&b'a')).collect::<Vec<u8>>();
            forms.extend(Some(letters).filter(|letters| letters.len() > LEAST_ENCODED));
        }
    }
    forms.into_iter().map(|form| form.into_iter().map(symbol_of).collect()).collect()
}

/// The sequences of base64 digits that depend on the secret alone, at any position in the encoded text.
pub(super) fn base64_forms(secret: &str) -> Vec<Vec<u8>> {
    let forms = pieces(secret.as_bytes()).flat_map(|piece| {
        [0, 4, 2].map(|first_bit| groups(piece, 6, first_bit).into_iter().map(|value| value as u8).collect())
    });
    forms.filter(|form: &Vec<u8>| form.len() >= LEAST_ENCODED).collect()
}

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The symbol of a letter or digit, as in [`super::views`].
pub(super) const fn symbol_of(letter: u8) -> u8 {
    match letter {
        b'0'..=b'9' => letter - b'0',
        b'a'..=b'z' => letter - b'a' + 10,
        b'A'..=b'Z' => letter - b'A' + 10,
        _ => 0,
    }
}

/// The number of symbols of each kind.
pub(super) const ALPHANUMERIC: usize = 36;
pub(super) const BASE64: usize = 64;

/// A secret in pieces of equal length, none of them short.
fn pieces(secret: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = secret.len().div_ceil(PIECE_BYTES).max(1);
    secret.chunks(secret.len().div_ceil(count).max(1))
}

const fn rotated(letter: u8) -> u8 {
    match letter {
        b'a'..=b'z' => (letter - b'a' + 13) % 26 + b'a',
        other => other,
    }
}

/// The complete groups of `size` bits, from `first_bit` on.
fn groups(bytes: &[u8], size: usize, first_bit: usize) -> Vec<usize> {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1));
    let mut groups = Vec::new();
    let mut at = first_bit;
    while at + size <= bytes.len() * 8 {
        groups.push((at..at + size).fold(0, |value, at| value << 1 | bit(at)));
        at += size;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(secret: &str) -> Vec<String> {
        let letters = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let text = |form: Vec<u8>| form.into_iter().map(|symbol| char::from(letters[usize::from(symbol)]));
        alphanumeric_forms(secret).into_iter().map(|form| text(form).collect()).collect()
    }

    #[test]
    fn a_secret_has_its_usual_forms() {
        let forms = forms("Hunter2-X");
        for form in [
            "hunter2x",
            "x2retnuh",
            "uhagre2k",
            "48756e746572322d58",
            "72117110116101114504588",
            "110165156164145162062055130",
            "jb2w45dfoizc2w",
        ] {
            assert!(forms.iter().any(|known| known == form), "{form}: {forms:?}");
        }
    }

    #[test]
    fn what_is_short_or_a_plain_number_is_not_looked_for_between_other_words() {
        assert!(!forms("abc-def").contains(&"abcdef".to_owned()));
        assert!(!forms("12345678").contains(&"12345678".to_owned()));
        assert!(forms("123456789012").contains(&"123456789012".to_owned()));
    }

    #[test]
    fn a_long_secret_is_looked_for_in_pieces() {
        let secret = "Ab1".repeat(100);
        let forms = alphanumeric_forms(&secret);
        assert!(forms.iter().all(|form| form.len() <= PIECE_BYTES * 8));
        assert!(forms.len() > 12 * 4);
    }
}
