//! Normalizes characters: full-width to half-width, traditional to simplified, upper to lower case; removes invisible
//! ones. It knows characters, no words.

/// A text with normalized characters, and their positions in the original.
#[derive(Debug)]
pub(super) struct Folded<'a> {
    /// For comparison with the tables.
    pub(super) chars: Vec<char>,
    /// The same, with case preserved: ids are case-sensitive.
    pub(super) cased: Vec<char>,
    starts: Vec<usize>,
    original: &'a str,
}

impl<'a> Folded<'a> {
    /// Normalizes a text. White space becomes one space, or one line break if it contains one.
    pub(super) fn of(original: &'a str) -> Self {
        let mut folded = Self { chars: Vec::new(), cased: Vec::new(), starts: Vec::new(), original };
        for (at, raw) in original.char_indices() {
            match fold(raw) {
                None => {}
                Some(c) if c.is_whitespace() => folded.space(if c == '\n' { '\n' } else { ' ' }, at),
                Some(c) => folded.push(c, at),
            }
        }
        folded
    }

    /// The original text, from one character on.
    pub(super) fn written_from(&self, at: usize) -> &'a str {
        self.starts.get(at).and_then(|start| self.original.get(*start..)).unwrap_or_default().trim()
    }

    /// Whether a line is indented like code.
    pub(super) fn is_indented(&self) -> bool {
        let indent = |line: &str| {
            line.chars()
                .take_while(|c| c.is_whitespace())
                .map(|c| if c == '\t' { 4 } else { 1 })
                .sum::<usize>()
        };
        self.original.lines().any(|line| indent(line) >= 4 && !line.trim().is_empty())
    }

    /// The normalized characters of a span.
    pub(super) fn text(&self, at: usize, end: usize) -> String {
        self.cased.get(at..end).unwrap_or_default().iter().collect()
    }

    fn push(&mut self, c: char, at: usize) {
        self.chars.push(c.to_ascii_lowercase());
        self.cased.push(c);
        self.starts.push(at);
    }

    fn space(&mut self, space: char, at: usize) {
        match self.chars.last_mut() {
            None => {}
            Some(last) if last.is_whitespace() && space == '\n' => *last = '\n',
            Some(last) if last.is_whitespace() => {}
            Some(_) => self.push(space, at),
        }
    }
}

/// The normalized words of a command, split at white space.
pub(super) fn words_of(text: &str) -> Vec<Vec<char>> {
    let folded = Folded::of(text);
    folded.chars.split(|c| c.is_whitespace()).filter(|word| !word.is_empty()).map(<[char]>::to_vec).collect()
}

/// Whether a character belongs to a script without spaces between words.
pub(super) fn is_han(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FA1F)
}

fn fold(c: char) -> Option<char> {
    match c {
        // Zero-width characters, variation selectors and skin tones do not change the meaning.
        '\u{200B}'..='\u{200D}'
        | '\u{2060}'
        | '\u{FEFF}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{1F3FB}'..='\u{1F3FF}' => None,
        // The keycap ends a number: `1️⃣2️⃣` is not twelve.
        '\u{20E3}' => Some(' '),
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0),
        '\u{3000}' => Some(' '),
        '\r' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '‘' | '’' | 'ʼ' => Some('\''),
        '“' | '”' | '「' | '」' | '『' | '』' | '«' | '»' => Some('"'),
        '【' | '〔' | '〖' => Some('['),
        '】' | '〕' | '〗' => Some(']'),
        '①'..='⑨' => char::from_u32(u32::from(c) - u32::from('①') + u32::from('1')),
        other => Some(simplified(other)),
    }
}

/// Only the characters that the word tables use.
const TRADITIONAL: &[(char, char)] = &[
    ('絕', '绝'),
    ('執', '执'),
    ('許', '许'),
    ('準', '准'),
    ('過', '过'),
    ('沒', '没'),
    ('問', '问'),
    ('題', '题'),
    ('認', '认'),
    ('個', '个'),
    ('這', '这'),
    ('會', '会'),
    ('話', '话'),
    ('對', '对'),
    ('項', '项'),
    ('內', '内'),
    ('鐘', '钟'),
    ('時', '时'),
    ('間', '间'),
    ('兩', '两'),
    ('嗎', '吗'),
    ('麼', '么'),
    ('別', '别'),
    ('後', '后'),
    ('來', '来'),
    ('讓', '让'),
    ('請', '请'),
    ('謝', '谢'),
    ('遠', '远'),
    ('種', '种'),
    ('類', '类'),
    ('條', '条'),
    ('號', '号'),
    ('還', '还'),
    ('為', '为'),
    ('們', '们'),
    ('應', '应'),
    ('該', '该'),
    ('說', '说'),
    ('幫', '帮'),
    ('僅', '仅'),
    ('餘', '余'),
    ('銷', '销'),
    ('單', '单'),
    ('與', '与'),
    ('從', '从'),
    ('總', '总'),
    ('聽', '听'),
    ('點', '点'),
    ('導', '导'),
    ('給', '给'),
    ('煩', '烦'),
    ('確', '确'),
    ('駁', '驳'),
    ('誰', '谁'),
    ('況', '况'),
    ('則', '则'),
    ('運', '运'),
    ('經', '经'),
    ('場', '场'),
    ('樣', '样'),
    ('錯', '错'),
    ('試', '试'),
    ('終', '终'),
    ('當', '当'),
];

fn simplified(c: char) -> char {
    TRADITIONAL.iter().find(|(from, _)| *from == c).map_or(c, |(_, to)| *to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_per_character_and_the_written_words_can_be_found_again() {
        let folded = Folded::of("  ＡＰＰＲＯＶＥ　 Ａ１，\u{200B}拒絕\n ２");
        assert_eq!(folded.chars.iter().collect::<String>(), "approve a1,拒绝\n2");
        assert_eq!(folded.text(0, 7), "APPROVE");
        assert_eq!(folded.written_from(11), "拒絕\n ２");
    }

    #[test]
    fn keycaps_do_not_run_together() {
        assert_eq!(Folded::of("1️⃣2️⃣").chars, ['1', ' ', '2', ' ']);
    }
}
