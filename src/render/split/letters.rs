//! Properties of characters for splitting.

use crate::domain::LengthUnit;

/// The size of a character in the limit's unit.
pub(super) fn length(letter: char, unit: LengthUnit) -> usize {
    unit.measure(letter.encode_utf8(&mut [0; 4]))
}

/// Whether it can end a sentence.
pub(super) fn ends_sentence(letter: char) -> bool {
    matches!(letter, '.' | '!' | '?' | '。' | '！' | '？' | '；' | '…')
}

/// Whether it belongs to the preceding sentence end: a closing quote or bracket, or another mark.
pub(super) fn clings(letter: char) -> bool {
    ends_sentence(letter)
        || matches!(
            letter,
            '”' | '’' | '」' | '』' | '）' | '》' | '】' | '，' | '、' | ')' | ']' | '"' | '\''
        )
}

/// Whether it belongs to a script without spaces between sentences.
pub(super) fn is_wide(letter: char) -> bool {
    !letter.is_ascii()
}

/// Whether two characters form one grapheme, as far as can be told without tables.
pub(super) fn joins(previous: char, letter: char) -> bool {
    const JOINER: char = '\u{200d}';
    let mark = matches!(u32::from(letter),
        0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x610..=0x61A | 0x64B..=0x65F | 0x93A..=0x94F
        | 0xE31..=0xE3A | 0xE47..=0xE4E | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x200D | 0x20D0..=0x20FF
        | 0x3099..=0x309A | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0x1F3FB..=0x1F3FF | 0xE0020..=0xE007F
        | 0xE0100..=0xE01EF);
    let flag = |c: char| matches!(u32::from(c), 0x1F1E6..=0x1F1FF);
    mark || previous == JOINER || (flag(previous) && flag(letter)) || previous == '\\'
}
