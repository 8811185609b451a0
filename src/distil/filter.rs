//! Which candidates may be kept, for whom, and how much they are trusted.

use std::collections::BTreeSet;

use super::extract::Candidate;
use super::instruction::{is_instruction, is_takeover};
use super::own_words::{own_words, without_invisible};
use crate::domain::{MessageId, Origin, ScopeKey, Timestamp};
use crate::search::content_words;
use crate::uimessage::UiMessage;

/// How many characters an item has at least and at most.
const SHORTEST: usize = 4;
const LONGEST: usize = 300;
/// Of an item's words, so many percent must be words of the people it is taken from.
const GROUNDED_PERCENT: usize = 60;
/// Joins emoji, and does no harm.
const EMOJI_JOINERS: [char; 2] = ['\u{200d}', '\u{fe0f}'];
/// Words that say how something is told, not what.
const TELLING: [&str; 32] = [
    "user", "users", "person", "people", "they", "says", "said", "prefer", "prefers", "like", "likes", "use",
    "uses", "want", "wants", "called", "named", "name", "project", "team", "work", "works", "live", "lives",
    "用", "户", "者", "喜", "欢", "偏", "项", "目",
];
/// By these words people speak of themselves.
const FIRST_PERSON: [&str; 6] = ["i", "my", "me", "mine", "im", "myself"];
const FIRST_PERSON_CHINESE: [char; 3] = ['我', '俺', '咱'];

/// Who said a message, and for whom it may be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    pub origin: Origin,
    /// The scope that the message's run may write.
    pub scope: Option<ScopeKey>,
}

/// Something that may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub text: String,
    /// The messages it is taken from.
    pub from: Vec<MessageId>,
    pub scope: ScopeKey,
    /// Of the least trusted of its authors.
    pub origin: Origin,
    /// When the newest of its messages was written.
    pub at: Timestamp,
}

/// Why a candidate is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Too short, too long, or of several lines.
    Shape,
    /// It has characters that people cannot see.
    Invisible,
    /// It names no message, or one that is not there.
    NoSource,
    /// One of its messages is no source: of the agent, a tool, a task, forwarded, pasted, quoted, or an attack.
    ForeignWords,
    /// Its words are not those of the messages it names.
    NotGrounded,
    /// It wants something done, or speaks of rights.
    Instruction,
    Secret,
    /// A guest speaks of others.
    GuestAboutOthers,
    /// Nothing may be remembered for its authors, or they have different scopes.
    NoScope,
}

/// Decides about one candidate. `messages` are all that a model was shown, `speaker_of` looks their author up, and
/// `redact` takes secrets out of a text.
///
/// # Errors
/// Why it is passed over.
pub fn accept(
    candidate: &Candidate,
    messages: &[UiMessage],
    speaker_of: impl Fn(&UiMessage) -> Speaker,
    redact: impl Fn(&str) -> String,
) -> Result<Accepted, Rejection> {
    // People do not type invisible characters: a model that repeats them repeats an attack.
    let seen: String = candidate.text.chars().filter(|c| !EMOJI_JOINERS.contains(c)).collect();
    if without_invisible(&seen) != seen {
        return Err(Rejection::Invisible);
    }
    let text = one_line(&without_invisible(&candidate.text));
    let length = text.chars().count();
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(Rejection::Shape);
    }
    if redact(&text) != text {
        return Err(Rejection::Secret);
    }
    if is_instruction(&text) {
        return Err(Rejection::Instruction);
    }
    let find = |id: &MessageId| messages.iter().find(|message| message.id == *id);
    let sources: Vec<&UiMessage> = candidate.ids.iter().filter_map(find).collect();
    if sources.is_empty() || sources.len() < candidate.ids.len() {
        return Err(Rejection::NoSource);
    }
    let said: Option<Vec<String>> = sources.iter().map(|message| own_words(message)).collect();
    let said = said.ok_or(Rejection::ForeignWords)?;
    if said.iter().any(|words| is_takeover(words)) {
        return Err(Rejection::ForeignWords);
    }
    let said: Vec<String> = said.iter().map(|words| redact(words)).collect();
    let names: Vec<&str> = sources.iter().filter_map(|m| m.metadata.author_name.as_deref()).collect();
    if !is_grounded(&text, &said.join(" "), &names.join(" ")) {
        return Err(Rejection::NotGrounded);
    }
    let speakers: Vec<Speaker> = sources.iter().map(|message| speaker_of(message)).collect();
    // Those later in the list of origins are trusted less.
    let origin = speakers.iter().map(|speaker| speaker.origin).max().unwrap_or(Origin::Guest);
    if origin == Origin::Tool {
        return Err(Rejection::ForeignWords);
    }
    let scope = speakers.first().and_then(|speaker| speaker.scope.clone());
    let scope = scope.filter(|scope| speakers.iter().all(|speaker| speaker.scope.as_ref() == Some(scope)));
    let scope = scope.ok_or(Rejection::NoScope)?;
    if origin == Origin::Guest && !(scope.is_of_one_person() && said.iter().all(|words| is_about_self(words)))
    {
        return Err(Rejection::GuestAboutOthers);
    }
    let at = sources.iter().map(|message| message.metadata.timestamp).max();
    let at = at.unwrap_or(Timestamp::from_millis(0));
    Ok(Accepted { text, from: candidate.ids.clone(), scope, origin, at })
}

/// Whether two items say the same, but for case, width, punctuation and spaces.
pub fn same_text(one: &str, other: &str) -> bool {
    let plain = |text: &str| crate::search::index_text(text);
    let (left, right) = (plain(one), plain(other));
    left == right && (!left.is_empty() || one.trim() == other.trim())
}

/// Whether enough words of an item were said, and every name, number and path of it. What the authors are called may
/// stand in an item, and proves nothing.
fn is_grounded(text: &str, said: &str, names: &str) -> bool {
    let said_words: BTreeSet<String> = content_words(said).into_iter().collect();
    let known: BTreeSet<String> = content_words(names).into_iter().collect();
    let telling = |word: &String| TELLING.contains(&word.as_str());
    let words: Vec<String> = content_words(text).into_iter().filter(|word| !telling(word)).collect();
    let words: Vec<String> =
        words.into_iter().filter(|w| !known.contains(w) || said_words.contains(w)).collect();
    let grounded = words.iter().filter(|word| said_words.contains(*word)).count();
    let low = said.to_lowercase();
    let exact = identifiers(text).iter().all(|name| low.contains(name.as_str()));
    grounded > 0 && grounded.saturating_mul(100) >= words.len().saturating_mul(GROUNDED_PERCENT) && exact
}

/// Words with digits, dots, slashes, at signs and the like, in lower case: they must not be invented.
fn identifiers(text: &str) -> Vec<String> {
    let inner =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-' | '@' | '#' | '+');
    let words = text.split(|c: char| !inner(c)).map(|word| word.trim_matches(['.', ':', '-', '#']));
    let marked = |word: &&str| {
        word.contains(|c: char| c.is_ascii_digit()) || word.contains(['/', '_', '@']) || word.contains('.')
    };
    words.filter(marked).map(str::to_lowercase).collect()
}

/// Whether people speak of themselves and name no other person.
fn is_about_self(said: &str) -> bool {
    let low = said.to_lowercase();
    let mut words = low.split(|c: char| !c.is_alphanumeric());
    let first = words.any(|word| FIRST_PERSON.contains(&word)) || low.contains(FIRST_PERSON_CHINESE);
    first && !low.contains('@')
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
