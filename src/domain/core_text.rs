//! Changes to the text of core memory: CommonMark with `## sections` and list items. Pure.

use super::frame::visible;
use super::memory_items::{item_blocks, read_item};
use super::tokens::estimate_tokens;
use super::{CORE_TOKENS, ChangeRefusal, LedgerOp, MemoryEdit, MemoryItem};

/// A text after a change, and what changed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    pub text: String,
    pub op: LedgerOp,
    pub id: Option<String>,
    pub section: Option<String>,
    /// The text of the item, the section or the file before.
    pub before: Option<String>,
    /// The same after.
    pub after: Option<String>,
}

/// The items of a text.
pub fn items_of(text: &str) -> Vec<MemoryItem> {
    item_blocks(text).into_iter().map(read_item).collect()
}

/// Applies a change to core memory; `None` where it changes nothing, because an item says the same already. `fresh` makes
/// ids that no item of the text has.
pub fn edit_core(
    text: &str,
    edit: &MemoryEdit,
    fresh: &mut dyn FnMut() -> String,
) -> Result<Option<EditedText>, ChangeRefusal> {
    let edited = match edit {
        MemoryEdit::Add { text: new, section } => {
            let new = item_text(new)?;
            if items_of(text).iter().any(|item| item.says(&new)) {
                return Ok(None);
            }
            let id = fresh();
            let lines = item(&id, &new).to_lines();
            EditedText {
                text: with_item(text, section.as_deref(), &lines),
                op: LedgerOp::Add,
                id: Some(id),
                section: section.clone(),
                before: None,
                after: Some(new),
            }
        }
        MemoryEdit::Replace { id, text: new } => {
            let new = item_text(new)?;
            let (block, old) = find(text, id)?;
            // An item that was written by hand gets an id, so that it can be found after its text has changed.
            let own = old.id.clone().unwrap_or_else(fresh);
            let lines = MemoryItem { id: Some(own.clone()), text: new.clone(), ..old.clone() }.to_lines();
            EditedText {
                text: replace_block(text, block, &lines),
                op: LedgerOp::Replace,
                id: Some(own),
                section: None,
                before: Some(old.text),
                after: Some(new),
            }
        }
        MemoryEdit::ReplaceSection { section, text: new } => {
            let (before, old, after) = parts(text, section).unwrap_or((text, "", ""));
            let body = section_body(new, fresh);
            let whole = if body.is_empty() { String::new() } else { format!("## {section}\n\n{body}") };
            EditedText {
                text: joined(&[before, &whole, after]),
                op: LedgerOp::Replace,
                id: None,
                section: Some(section.clone()),
                before: Some(without_heading(old)),
                after: Some(body),
            }
        }
        MemoryEdit::Forget { id } => {
            let (block, old) = find(text, id)?;
            EditedText {
                text: without_empty_sections(&replace_block(text, block, "")),
                op: LedgerOp::Forget,
                id: Some(old.handle()),
                section: None,
                before: Some(old.text),
                after: None,
            }
        }
        MemoryEdit::Write { text: new } => EditedText {
            text: if new.trim().is_empty() { String::new() } else { format!("{}\n", new.trim_end()) },
            op: LedgerOp::Edit,
            id: None,
            section: None,
            before: Some(text.to_owned()),
            after: Some(new.clone()),
        },
    };
    let (tokens, now) = (estimate_tokens(&edited.text), estimate_tokens(text));
    // A text that is too long already may be made shorter step by step.
    if tokens > CORE_TOKENS && tokens >= now {
        return Err(ChangeRefusal::TooLarge { tokens, now });
    }
    Ok(Some(edited))
}

fn item(id: &str, text: &str) -> MemoryItem {
    MemoryItem { id: Some(id.to_owned()), text: text.to_owned(), ..MemoryItem::default() }
}

/// The text of an item: without the sign of a list, invisible characters and blank lines.
pub fn item_text(text: &str) -> Result<String, ChangeRefusal> {
    let text = visible(text);
    let text = text.trim();
    let text = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).unwrap_or(text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() { Err(ChangeRefusal::Empty) } else { Ok(lines.join("\n").trim().to_owned()) }
}

/// The block of an item and the item.
fn find<'a>(text: &'a str, handle: &str) -> Result<(&'a str, MemoryItem), ChangeRefusal> {
    let mut found = item_blocks(text).into_iter().map(|block| (block, read_item(block)));
    found
        .find(|(_, item)| item.handle() == handle)
        .ok_or_else(|| ChangeRefusal::NoSuchItem(handle.chars().take(40).collect()))
}

/// The text with a part of it replaced. `part` is a slice of `text`.
pub fn replace_block(text: &str, part: &str, new: &str) -> String {
    let from = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let to = from.saturating_add(part.len());
    [text.get(..from).unwrap_or_default(), new, text.get(to..).unwrap_or_default()].concat()
}

/// The text with the lines of an item behind those of a section, or before the first section.
fn with_item(text: &str, section: Option<&str>, lines: &str) -> String {
    let Some(section) = section else {
        let first = section_start(text);
        let (before, after) = text.split_at_checked(first).unwrap_or((text, ""));
        return joined(&[&behind(before, lines), after]);
    };
    match parts(text, section) {
        Some((before, body, after)) => joined(&[before, &behind(body, lines), after]),
        None => joined(&[text, &format!("## {section}\n\n{lines}")]),
    }
}

/// A list that ends with these lines: right behind an item, a blank line behind other text.
fn behind(text: &str, lines: &str) -> String {
    let text = text.trim_end();
    let last = text.lines().next_back().unwrap_or_default();
    let in_list = ["- ", "* ", "  "].iter().any(|sign| last.starts_with(sign));
    match text.is_empty() {
        true => lines.to_owned(),
        false if in_list => format!("{text}\n{lines}"),
        false => format!("{text}\n\n{lines}"),
    }
}

/// Where the first section begins; the end of the text where there is none.
fn section_start(text: &str) -> usize {
    let mut at = 0_usize;
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced && heading(line).is_some_and(|(level, _)| level > 1) {
            return at;
        }
        at = at.saturating_add(line.len());
    }
    at
}

/// The text before a section, the section with its heading, and the text after it.
fn parts<'a>(text: &'a str, section: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let mut at = 0_usize;
    let mut begin: Option<(usize, usize)> = None;
    let mut fenced = false;
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        match (heading(line).filter(|_| !fenced), begin) {
            (Some((level, name)), None) if name.eq_ignore_ascii_case(section) => begin = Some((at, level)),
            (Some((level, _)), Some((from, own))) if level <= own => {
                return Some((text.get(..from)?, text.get(from..at)?, text.get(at..)?));
            }
            _ => {}
        }
        at = at.saturating_add(line.len());
    }
    let (from, _) = begin?;
    Some((text.get(..from)?, text.get(from..)?, ""))
}

/// The level and the text of a heading. `#todo` is none, and the sign at the end of `C#` belongs to it.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let words = line.get(level..).filter(|words| level > 0 && words.starts_with(char::is_whitespace))?.trim();
    let closed = words.trim_end_matches('#');
    let ends_apart = closed.is_empty() || closed.ends_with(char::is_whitespace);
    Some((level, if ends_apart { closed.trim_end() } else { words }))
}

/// What a section is to hold: items with ids of their own. Text outside of items stays as it is.
fn section_body(text: &str, fresh: &mut dyn FnMut() -> String) -> String {
    let text = visible(text);
    let blocks = item_blocks(&text);
    if blocks.is_empty() {
        return item_text(&text).map(|text| item(&fresh(), &text).to_lines()).unwrap_or_default();
    }
    let mut out = text.clone();
    for block in blocks {
        let mut read = read_item(block);
        if read.id.is_none() {
            read.id = Some(fresh());
        }
        out = out.replacen(block.trim_end(), read.to_lines().trim_end(), 1);
    }
    joined(&[&out])
}

fn without_heading(section: &str) -> String {
    section.split_once('\n').map(|(_, body)| body.trim().to_owned()).unwrap_or_default()
}

/// The text without headings that nothing stands below any more.
fn without_empty_sections(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut removed = false;
    for (number, line) in lines.iter().enumerate() {
        let mut below = lines.iter().skip(number.saturating_add(1)).filter(|line| !line.trim().is_empty());
        let empty = match (heading(line), below.next()) {
            (Some((level, _)), None) => level > 1,
            (Some((level, _)), Some(next)) => {
                level > 1 && heading(next).is_some_and(|(other, _)| other <= level)
            }
            (None, _) => false,
        };
        removed |= empty;
        let blank = removed && line.trim().is_empty() && out.ends_with("\n\n");
        if !empty && !blank {
            out.push_str(line);
        }
    }
    joined(&[&out])
}

/// Non-empty parts with an empty line between them.
fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim_matches('\n').trim_end()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!("{}\n", parts.join("\n\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str =
        "# Notes\n\n- first\n\n## Deploys\n\n- on Fridays <!-- k1 -->\n\n## People\n\n- Ann\n  Lee\n";

    fn edited(text: &str, edit: &MemoryEdit) -> Result<Option<EditedText>, ChangeRefusal> {
        let mut number = 0;
        edit_core(text, edit, &mut || {
            number += 1;
            format!("n{number}")
        })
    }

    fn text_after(text: &str, edit: &MemoryEdit) -> String {
        edited(text, edit).unwrap().unwrap().text
    }

    fn add(text: &str, section: Option<&str>) -> MemoryEdit {
        MemoryEdit::Add { text: text.into(), section: section.map(str::to_owned) }
    }

    #[test]
    fn an_item_is_added_where_it_belongs_and_nothing_else_changes() {
        assert_eq!(text_after("", &add("- a", None)), "- a <!-- n1 -->\n");
        assert_eq!(text_after("- a\n", &add("b", None)), "- a\n- b <!-- n1 -->\n");
        assert_eq!(text_after("- a\n", &add("b", Some("New"))), "- a\n\n## New\n\n- b <!-- n1 -->\n");
        assert_eq!(text_after(OLD, &add("b", None)), OLD.replace("first\n", "first\n- b <!-- n1 -->\n"));
        let deploys = text_after(OLD, &add("never at night", Some("deploys")));
        assert_eq!(deploys, OLD.replace("k1 -->\n", "k1 -->\n- never at night <!-- n1 -->\n"));
        assert_eq!(edited(OLD, &add(" ON  fridays", Some("People"))), Ok(None), "it is there already");
        assert_eq!(edited(OLD, &add(" \u{200b}\n", None)), Err(ChangeRefusal::Empty));
    }

    #[test]
    fn items_are_replaced_and_forgotten_by_id_or_by_what_a_hand_written_text_gives() {
        let replace = |id: &str, text: &str| MemoryEdit::Replace { id: id.into(), text: text.into() };
        assert_eq!(text_after(OLD, &replace("k1", "daily")), OLD.replace("on Fridays", "daily"));
        let by_hand = items_of(OLD).last().unwrap().handle();
        assert!(by_hand.starts_with('h') && by_hand.len() == 7, "{by_hand}");
        let renamed = text_after(OLD, &replace(&by_hand, "Bob"));
        assert_eq!(renamed, OLD.replace("Ann\n  Lee", "Bob <!-- n1 -->"));
        let forget = |id: &str| MemoryEdit::Forget { id: id.into() };
        let gone = edited(OLD, &forget("k1")).unwrap().unwrap();
        assert_eq!(gone.text, OLD.replace("## Deploys\n\n- on Fridays <!-- k1 -->\n\n", ""));
        assert_eq!((gone.before.as_deref(), gone.after), (Some("on Fridays"), None));
        assert_eq!(edited(OLD, &forget("k2")), Err(ChangeRefusal::NoSuchItem("k2".into())));
    }

    #[test]
    fn a_section_is_replaced_or_taken_away() {
        let section =
            |text: &str| MemoryEdit::ReplaceSection { section: "Deploys".into(), text: text.into() };
        let items = "- daily <!-- n1 -->\n- by Ann <!-- n2 -->\n";
        assert_eq!(
            text_after(OLD, &section("- daily\n- by Ann")),
            OLD.replace("- on Fridays <!-- k1 -->\n", items)
        );
        assert_eq!(text_after(OLD, &section("daily")), OLD.replace("on Fridays <!-- k1", "daily <!-- n1"));
        assert_eq!(
            text_after(OLD, &section("")),
            OLD.replace("## Deploys\n\n- on Fridays <!-- k1 -->\n\n", "")
        );
        assert_eq!(text_after("", &section("x")), "## Deploys\n\n- x <!-- n1 -->\n");
    }

    #[test]
    fn headings_are_told_from_what_only_looks_like_one() {
        for (line, expected) in [
            ("## C#\n", Some((2, "C#"))),
            ("## Closed ##\n", Some((2, "Closed"))),
            ("# \n", Some((1, ""))),
            ("#todo\n", None),
            ("words\n", None),
        ] {
            assert_eq!(heading(line), expected, "{line:?}");
        }
        let fenced = "## A\n\n```\n# no heading\n```\n\n- a\n\n## B\n";
        let new = MemoryEdit::ReplaceSection { section: "A".into(), text: "new".into() };
        assert_eq!(text_after(fenced, &new), "## A\n\n- new <!-- n1 -->\n\n## B\n");
    }

    #[test]
    fn a_text_beyond_the_limit_is_refused_with_its_sizes_but_may_be_made_shorter() {
        let long = "- ".to_owned() + &"word ".repeat(1_600) + "<!-- k1 -->\n";
        let more = edited(&long, &add(&"more ".repeat(600), None)).unwrap_err();
        let ChangeRefusal::TooLarge { tokens, now } = more else { panic!("{more}") };
        assert!(now > 1_900 && now <= CORE_TOKENS && tokens > CORE_TOKENS, "{now} {tokens}");
        let too_long = long.repeat(3);
        assert!(edited(&too_long, &MemoryEdit::Forget { id: "k1".into() }).is_ok());
        assert!(edited(&too_long, &add("x", None)).is_err());
    }

    #[test]
    fn what_nobody_can_see_is_not_remembered() {
        let hidden = "likes\u{200b} tea\u{202e}\u{e0041}\u{7} 茶";
        assert_eq!(item_text(hidden).unwrap(), "likes tea 茶");
    }
}
