//! Estimates how many tokens a text takes. Every server counts differently.

/// An estimate of a text's tokens, rather too high than too low for both Latin and Chinese script.
pub fn estimate_tokens(text: &str) -> usize {
    whole(weigh(text))
}

/// The same, unrounded.
pub fn weigh(text: &str) -> f64 {
    // Most characters are ASCII, which can be counted many at a time.
    let words = text.bytes().filter(|byte| byte.is_ascii_alphabetic() || *byte == b' ').count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = if ascii < text.len() { text.chars().map(weigh_beyond_ascii).sum() } else { 0.0 };
    // English text has about four letters per token; code and digits are denser.
    number(words) * 0.24 + number(ascii - words) * 0.45 + others
}

fn weigh_beyond_ascii(c: char) -> f64 {
    match u32::from(c) {
        0x00..=0x7F => 0.0,
        // Chinese, Japanese and Korean: rarely more than one token per character.
        0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x2FA1F => 0.9,
        // Emoji are encoded as several byte tokens.
        0x1F000..=0x1FAFF => 2.5,
        _ => 0.5,
    }
}

/// A count as a weight.
#[expect(clippy::cast_precision_loss, reason = "a small number")]
pub fn number(count: usize) -> f64 {
    count as f64
}

/// A weight in whole tokens.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
pub fn whole(weight: f64) -> usize {
    weight.ceil() as usize
}
