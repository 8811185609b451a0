//! `find`: its expression is a language of its own, of which only tests and printing are known here.

use super::look::ReadSet;
use super::options::own_word;
use crate::policy::Reason;

/// Words of the expression without a value.
const BARE: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-d",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];

/// Words of the expression with a value.
const VALUED: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newerat",
    "-newerct",
    "-newermt",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-wholename",
    "-xtype",
];

/// Words of the expression whose value is a path.
const PATHS: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

/// The paths that `find` reads, if it does nothing else.
pub(super) fn look(words: &[String]) -> Result<ReadSet, Reason> {
    let mut look = ReadSet::default();
    let mut words = words.iter();
    let mut in_expression = false;
    while let Some(word) = words.next() {
        let refused = || Reason::Argument { command: "find".to_owned(), argument: word.clone() };
        let name = word.as_str();
        in_expression |= name.starts_with('-') || matches!(name, "(" | ")" | "!" | ",");
        if !in_expression {
            look.paths.push(word.clone());
        } else if matches!(name, "-H" | "-P") {
            in_expression = false;
        } else if VALUED.contains(&name) {
            words.next().and_then(own_word).ok_or_else(refused)?;
        } else if PATHS.contains(&name) {
            look.paths.push(words.next().and_then(own_word).ok_or_else(refused)?);
        } else if !BARE.contains(&name) {
            return Err(refused());
        }
    }
    Ok(look)
}
