//! Checks the characters of a command before it is parsed: characters that a terminal or a reader may misread are
//! refused.

use crate::domain::both_ends_of_line;
use crate::policy::Reason;

/// Longer commands are not parsed: a person would not read them either.
pub(super) const LONGEST: usize = 32 * 1024;

/// The oddities of a command's characters. Empty for ordinary text.
pub(super) fn oddities(command: &str) -> Vec<Reason> {
    let mut odd = Vec::new();
    if command.len() > LONGEST {
        odd.push(Reason::TooLong);
    }
    if let Some(strange) = command.chars().find(|c| !is_ordinary(*c)) {
        odd.push(Reason::StrangeCharacter(strange));
    }
    // The grammar parses these wrongly without an error.
    if command.contains("\\\n") || command.contains("\\`") {
        odd.push(Reason::HiddenSpelling);
    }
    odd
}

/// The text for the tolerant parser, without sequences it parses wrongly: it must still find denied commands.
pub(super) fn joined(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let text = command.replace("\\\n", "");
    let mut letters = text.chars().filter(|c| !matches!(c, '\0' | '\r')).peekable();
    let mut line_starts = true;
    while let Some(c) = letters.next() {
        // At the start of a line the grammar reads `\rm` as an argument of the line before.
        let quotes_a_letter = c == '\\' && letters.peek().is_some_and(char::is_ascii_alphanumeric);
        if !(line_starts && quotes_a_letter) {
            out.push(c);
        }
        line_starts = c == '\n' || (line_starts && matches!(c, ' ' | '\t'));
    }
    out
}

/// The command for people: nothing in it can move the cursor, be invisible or reverse the text direction.
pub fn shown(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    for c in command.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push(' '),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// One line of at most `limit` characters; a longer one is shortened in the middle.
pub(super) fn summary(command: &str, limit: usize) -> String {
    let line = shown(command.trim()).replace('\n', " ⏎ ");
    both_ends_of_line(&line, limit)
}

/// Letters of the supported scripts; no ASCII look-alikes.
fn is_ordinary(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        '\u{D7}' | '\u{F7}' => false,
        _ => matches!(u32::from(c),
            0xC0..=0xFF           // Latin with marks
            | 0x3001..=0x3002 | 0x300A..=0x3011 // Chinese punctuation without a look-alike
            | 0x3041..=0x3096 | 0x30A1..=0x30FA // Japanese
            | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0x20000..=0x2FA1F // Chinese
            | 0xAC00..=0xD7A3 // Korean
        ),
    }
}

/// Characters without width, or that change the text direction.
pub fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
        | 0x2028..=0x202F | 0x205F..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF9..=0xFFFB
        | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_in_the_peoples_languages_is_not_odd() {
        for text in ["ls -la", "grep -rn 会议 notes", "cat 'résumé.md'", "cat 議事録《一》.md", "ls\npwd"]
        {
            assert_eq!(oddities(text), [], "{text}");
        }
    }

    #[test]
    fn what_an_eye_or_a_terminal_misreads_is_odd() {
        for text in [
            "ls\0",
            "ls\r",
            "ls \u{1b}[2K",
            "l\u{455}",
            "ls\u{a0}x",
            "ls\u{3000}x",
            "ls \u{202e}x",
            "l\u{200b}s",
            "ls\u{ff1b}rm",
            "ls\u{2028}rm",
            "r\\\nm x",
            "echo `echo \\`id\\``",
            "cat \u{ff5e}",
        ] {
            assert!(!oddities(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn nothing_that_is_shown_can_move_the_cursor_or_hide() {
        assert_eq!(shown("a\u{202e}b\u{1b}[1m\r"), r"a\u{202e}b\u{1b}[1m\u{d}");
        assert_eq!(summary("ls\nrm x", 40), "ls ⏎ rm x");
        assert_eq!(summary("一二三四五六七八九十", 8), "一二三 … 九十");
    }
}
