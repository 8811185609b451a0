//! The files of a thread: attachments of inbound and outbound messages.

use std::path::PathBuf;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::{BadId, ThreadId};

/// Longest name; leaves space for the prefix that makes it unique.
const MAX_NAME: usize = 120;

/// The location of a thread's file, below the folder of all files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct StoredFile {
    thread: ThreadId,
    name: String,
}

#[derive(Deserialize)]
struct Unchecked {
    thread: ThreadId,
    name: String,
}

impl TryFrom<Unchecked> for StoredFile {
    type Error = BadId;

    fn try_from(raw: Unchecked) -> Result<Self, BadId> {
        let file = Self::new(raw.thread, "", &raw.name);
        if file.name == raw.name { Ok(file) } else { Err(BadId::Shape(raw.name, "a plain file name")) }
    }
}

impl StoredFile {
    /// A file with this display name, made unique by a prefix. Characters that are invalid in file names are replaced.
    pub fn new(thread: ThreadId, before: &str, shown: &str) -> Self {
        let plain = |c: char| if c.is_control() || matches!(c, '/' | '\\') { '_' } else { c };
        let whole: String = before.chars().chain(shown.chars()).map(plain).collect();
        let trimmed = whole.trim_start_matches(|c: char| c == '.' || c.is_whitespace()).trim_end();
        let name = if trimmed.is_empty() { "file".to_owned() } else { shortened(trimmed) };
        Self { thread, name }
    }

    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Its name in the thread's folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path below the folder of all files.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.thread.file_name()).join(&self.name)
    }

    /// The file of a thread with this address; `None` for another address.
    pub fn from_url(thread: &ThreadId, url: &str) -> Option<Self> {
        let name = url.strip_prefix("/api/files/")?.strip_prefix(&*thread.file_name())?.strip_prefix('/')?;
        let name = percent_decode_str(name).decode_utf8().ok()?;
        let file = Self::new(thread.clone(), "", &name);
        (file.name == *name).then_some(file)
    }

    pub fn url(&self) -> String {
        let name = utf8_percent_encode(&self.name, NON_ALPHANUMERIC);
        format!("/api/files/{}/{name}", self.thread.file_name())
    }
}

/// A name shortened in its middle, so that the extension stays.
fn shortened(name: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 10);
    let mut short = String::new();
    for letter in name.chars() {
        if short.len() + letter.len_utf8() > MAX_NAME - 12 {
            break;
        }
        short.push(letter);
    }
    match ending {
        Some(ending) => format!("{short}.{ending}"),
        None => short.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(before: &str, shown: &str) -> StoredFile {
        StoredFile::new("web:chat:1".parse().unwrap(), before, shown)
    }

    #[test]
    fn whatever_a_file_is_called_it_stays_in_its_folder() {
        for (shown, name) in [
            ("a.png", "a.png"),
            ("报告 1.pdf", "报告 1.pdf"),
            ("../../etc/passwd", "_.._etc_passwd"),
            (".env", "env"),
            ("", "file"),
            ("..", "file"),
            ("a\nb", "a_b"),
        ] {
            assert_eq!(stored("", shown).name(), name, "{shown:?}");
        }
        assert_eq!(stored("7-", "a.png").url(), "/api/files/web%3Achat%3A1/7%2Da%2Epng");
    }

    #[test]
    fn a_file_is_found_by_its_own_address_and_by_no_other() {
        let file = stored("7-", "报告 1.ogg");
        assert_eq!(StoredFile::from_url(file.thread(), &file.url()), Some(file.clone()));
        let other = "web:chat:2".parse().unwrap();
        assert_eq!(StoredFile::from_url(&other, &file.url()), None);
        for url in [
            "data:audio/ogg;base64,AA",
            "https://x/a.ogg",
            "/api/files/web%3Achat%3A1/%2E%2E%2Fa",
            "/api/files/",
        ] {
            assert_eq!(StoredFile::from_url(file.thread(), url), None, "{url}");
        }
    }

    #[test]
    fn a_name_that_still_has_a_dot_or_a_space_at_its_ends_is_cleaned_again() {
        let long = format!("{}{}{}", "a".repeat(107), " ", "b".repeat(40));
        for shown in [" .env", ". .x", "\u{3000}..a", ".\u{a0}.b ", &long] {
            let file = stored("", shown);
            let json = serde_json::to_string(&file).unwrap();
            assert_eq!(serde_json::from_str::<StoredFile>(&json).unwrap(), file, "{shown:?}");
            assert!(!file.name().starts_with('.'), "{shown:?}");
        }
    }

    proptest! {
        #[test]
        fn every_name_made_of_dots_and_spaces_comes_back_from_its_json(shown in "[. a\u{a0}\u{3000}/]{0,8}[ .a]{0,130}") {
            let file = stored("", &shown);
            let json = serde_json::to_string(&file).unwrap();
            prop_assert_eq!(serde_json::from_str::<StoredFile>(&json).unwrap(), file);
        }

        #[test]
        fn a_name_is_short_plain_and_comes_back_from_its_json(before in "[a-z0-9-]{0,20}", shown in any::<String>()) {
            let file = stored(&before, &shown);
            prop_assert!(!file.name().is_empty() && file.name().len() <= MAX_NAME);
            prop_assert_eq!(file.path().components().count(), 2);
            let json = serde_json::to_string(&file).unwrap();
            prop_assert_eq!(serde_json::from_str::<StoredFile>(&json).unwrap(), file);
        }
    }
}
