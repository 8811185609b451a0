//! MarkdownV2, approximately as the server parses it: unescaped reserved characters and unclosed entities are refused.

use serde_json::json;

use super::formatted::{Formatted, entity, units};

const RESERVED: &str = "_*[]()~`>#+-=|{}.!";

/// Parses markup into text and entities.
pub(crate) fn parse(markdown: &str) -> Result<Formatted, String> {
    let mut parser =
        Parser { chars: markdown.char_indices().collect(), at: 0, out: Formatted::default(), open: vec![] };
    while let Some(&(begin, c)) = parser.chars.get(parser.at) {
        parser.step(begin, c)?;
    }
    match parser.open.last() {
        Some(open) => {
            Err(format!("Can't find end of {} entity at byte offset {}", name(open.mark), open.begin))
        }
        None => Ok(parser.out),
    }
}

struct Open {
    mark: &'static str,
    offset: usize,
    begin: usize,
}

struct Parser {
    chars: Vec<(usize, char)>,
    at: usize,
    out: Formatted,
    open: Vec<Open>,
}

impl Parser {
    fn starts_with(&self, mark: &str) -> bool {
        let mut rest = self.chars.iter().skip(self.at).map(|(_, c)| *c);
        mark.chars().all(|c| rest.next() == Some(c))
    }

    fn step(&mut self, begin: usize, c: char) -> Result<(), String> {
        if let Some(&(_, escaped)) =
            self.chars.get(self.at + 1).filter(|(_, next)| c == '\\' && next.is_ascii())
        {
            self.out.text.push(escaped);
            self.at += 2;
            return Ok(());
        }
        if let Some(fence) = ["```", "`"].into_iter().find(|fence| self.starts_with(fence)) {
            return self.code(fence, begin);
        }
        if self.starts_with("](") && self.open.last().is_some_and(|open| open.mark == "[") {
            return self.link(begin);
        }
        if let Some(mark) = ["||", "__", "*", "_", "~", "["].into_iter().find(|mark| self.starts_with(mark)) {
            self.toggle(mark, begin);
            return Ok(());
        }
        let line_start = self.out.text.is_empty() || self.out.text.ends_with('\n');
        if RESERVED.contains(c) && !(c == '>' && line_start) {
            return Err(format!("Character '{c}' is reserved and must be escaped with the preceding '\\'"));
        }
        if c != '>' {
            self.out.text.push(c);
        }
        self.at += 1;
        Ok(())
    }

    fn toggle(&mut self, mark: &'static str, begin: usize) {
        self.at += mark.len();
        let offset = units(&self.out.text);
        match self.open.pop_if(|open| open.mark == mark && mark != "[") {
            None => self.open.push(Open { mark, offset, begin }),
            Some(open) if offset > open.offset => {
                self.out.entities.push(entity(kind(mark), open.offset, offset - open.offset));
            }
            Some(_) => {}
        }
    }

    fn link(&mut self, begin: usize) -> Result<(), String> {
        self.at += 2;
        let mut url = String::new();
        loop {
            match self.chars.get(self.at).map(|(_, c)| *c) {
                None => return Err(format!("Can't find end of a URL at byte offset {begin}")),
                Some(')') => break,
                Some('\\') => self.at += 1,
                Some(_) => {}
            }
            url.extend(self.chars.get(self.at).map(|(_, c)| *c));
            self.at += 1;
        }
        self.at += 1;
        if let Some(open) = self.open.pop() {
            let mut made = entity("text_link", open.offset, units(&self.out.text) - open.offset);
            made["url"] = json!(url);
            self.out.entities.push(made);
        }
        Ok(())
    }

    fn code(&mut self, fence: &'static str, begin: usize) -> Result<(), String> {
        self.at += fence.len();
        let offset = units(&self.out.text);
        let mut code = String::new();
        while !self.starts_with(fence) {
            if self.starts_with("\\") {
                self.at += 1;
            }
            match self.chars.get(self.at) {
                Some((_, c)) => code.push(*c),
                None => {
                    return Err(format!("Can't find end of {} entity at byte offset {begin}", name(fence)));
                }
            }
            self.at += 1;
        }
        self.at += fence.len();
        let language = code.split_once('\n').filter(|_| fence == "```");
        let (language, code) = language.map_or(("", code.as_str()), |(language, rest)| (language, rest));
        self.out.text.push_str(code);
        let mut made = entity(kind(fence), offset, units(code));
        if !language.is_empty() {
            made["language"] = json!(language);
        }
        self.out.entities.push(made);
        Ok(())
    }
}

fn kind(mark: &str) -> &'static str {
    match mark {
        "*" => "bold",
        "_" => "italic",
        "__" => "underline",
        "~" => "strikethrough",
        "||" => "spoiler",
        "`" => "code",
        "```" => "pre",
        _ => "text_link",
    }
}

fn name(mark: &str) -> &'static str {
    match mark {
        "*" => "Bold",
        "_" => "Italic",
        "__" => "Underline",
        "~" => "Strikethrough",
        "||" => "Spoiler",
        "`" => "Code",
        "```" => "Pre",
        _ => "TextUrl",
    }
}
