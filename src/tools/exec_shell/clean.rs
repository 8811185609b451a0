//! Converts a command's output to text: without terminal codes and secrets, for any split of the bytes. Pure.

use super::settings::Redact;

/// Bytes that are held back: a secret, or a terminal code, may continue in the next bytes.
const HELD_BYTES: usize = 4 * 1024;

/// Cleans one stream in bounded memory.
#[derive(Debug)]
pub(super) struct Cleaner {
    redact: Redact,
    /// The beginning of an incomplete character.
    cut: Vec<u8>,
    /// Text that may continue; it may contain secrets.
    held: String,
}

impl Cleaner {
    pub(super) fn new(redact: Redact) -> Self {
        Self { redact, cut: Vec::new(), held: String::new() }
    }

    /// Adds bytes and returns the clean text that no continuation can change.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> String {
        self.cut.extend_from_slice(bytes);
        let whole = self.cut.len() - unfinished(&self.cut);
        let rest = self.cut.split_off(whole);
        self.held.push_str(&String::from_utf8_lossy(&self.cut));
        self.cut = rest;
        self.held = without_codes(&self.held);
        let (clean, settled) = self.redact.settled(&self.held, HELD_BYTES);
        self.held.drain(..settled);
        clean
    }

    pub(super) fn finish(&mut self) -> String {
        self.held.push_str(&String::from_utf8_lossy(&std::mem::take(&mut self.cut)));
        let text = self.redact.apply(&without_codes(&std::mem::take(&mut self.held)));
        text.replace('\u{1b}', "")
    }

    /// The last complete line, redacted.
    pub(super) fn last_line(&self) -> Option<String> {
        let (whole, _) = self.held.rsplit_once('\n')?;
        let clean = self.redact.apply(whole);
        clean.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned)
    }
}

/// How many bytes at the end are an incomplete character.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let tail = bytes.get(tail..).unwrap_or_default();
    (1..=tail.len())
        .find(|length| {
            let end = tail.get(tail.len() - length..).unwrap_or_default();
            std::str::from_utf8(end)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

/// The text without colours, cursor movements and control characters. An incomplete code stays.
fn without_codes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        clean.extend(before.chars().filter(|letter| is_plain(*letter)));
        match after_code(after) {
            Some(next) => rest = next,
            None => {
                clean.push('\u{1b}');
                rest = after;
            }
        }
    }
    clean.extend(rest.chars().filter(|letter| is_plain(*letter)));
    clean
}

fn is_plain(letter: char) -> bool {
    matches!(letter, '\n' | '\t') || !letter.is_control()
}

/// The text after a code whose escape character was consumed already; `None` where the code is incomplete.
fn after_code(text: &str) -> Option<&str> {
    let mut letters = text.chars();
    match letters.next()? {
        '[' => {
            let rest = letters.as_str();
            let end = rest.find(|letter| matches!(letter, '\u{40}'..='\u{7e}'))?;
            rest.get(end + 1..)
        }
        // A title or a link, which ends with BEL, or with ESC and a backslash.
        ']' => {
            let rest = letters.as_str();
            let end = rest.find(['\u{7}', '\u{1b}'])?;
            let rest = rest.get(end..)?;
            rest.strip_prefix('\u{7}').or_else(|| rest.strip_prefix("\u{1b}\\"))
        }
        _ => Some(letters.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cleaner() -> Cleaner {
        Cleaner::new(Redact::new(|text| text.replace("hunter2-secret", "[redacted]")))
    }

    fn in_pieces(bytes: &[u8], size: usize) -> String {
        let mut cleaner = cleaner();
        let mut text: String = bytes.chunks(size.max(1)).map(|piece| cleaner.feed(piece)).collect();
        text.push_str(&cleaner.finish());
        text
    }

    #[test]
    fn codes_for_terminals_go_and_text_stays() {
        for (raw, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31;1mred\u{1b}[0m and \u{1b}[2Kgone", "red and gone"),
            ("\u{1b}]0;title\u{7}after \u{1b}]8;;http://x\u{1b}\\link", "after link"),
            ("50%\r100%\r\n", "50%100%\n"),
            ("bell\u{7} nul\0", "bell nul"),
            ("cut \u{1b}[3", "cut [3"),
        ] {
            assert_eq!(in_pieces(raw.as_bytes(), 1_000), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_long_stream_flows_through_in_bounded_memory() {
        let mut cleaner = cleaner();
        let mut length = 0;
        for _ in 0..1_000 {
            length += cleaner.feed(&[b'x'; 4_096]).len();
            assert!(cleaner.held.len() <= HELD_BYTES && cleaner.held.capacity() < 64 * 1_024);
        }
        assert_eq!(length + cleaner.finish().len(), 1_000 * 4_096);
    }

    #[test]
    fn the_last_whole_line_is_known_at_once() {
        let mut cleaner = cleaner();
        cleaner.feed(b"one\ntwo\n\nhunter2-sec");
        assert_eq!(cleaner.last_line().as_deref(), Some("two"));
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_text_is_the_same_and_holds_no_secret(
            text in "(hunter2-secret|[a-z中\n ]{0,9}|\u{1b}\\[[0-9]{1,3}m){0,60}", size in 1usize..40,
        ) {
            let whole = in_pieces(text.as_bytes(), usize::MAX);
            prop_assert!(!whole.contains("hunter2-secret"));
            prop_assert_eq!(in_pieces(text.as_bytes(), size), whole);
        }
    }
}
