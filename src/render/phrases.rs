//! stub
use crate::domain::{ErrorKind, Language, ThreadState};
#[derive(Debug)] pub struct StatusFacts { pub state: ThreadState, pub queued: usize, pub running_secs: Option<u64>, pub step: Option<u32>, pub model: String, pub undelivered: usize, pub dead_letters: usize }
#[derive(Debug)] pub enum Phrase { Help, Status(StatusFacts), Stopped, NothingToStop, NewConversation, Trouble{kind: ErrorKind, next_model: Option<String>}, AnswerCut, Error(ErrorKind) }
impl Phrase { pub fn say(&self, _l: Language) -> String { format!("{self:?}") } }
