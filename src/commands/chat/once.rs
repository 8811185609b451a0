//! One message, one answer, and the end: for scripts and quick questions.

use std::io::{self, Read};

use super::interruptions::Interruptions;
use super::line::Line;
use super::screen::Screen;
use super::turn::{TurnEnd, Watch};
use super::words::Word;
use crate::adapters::web::answer;
use crate::cli::{Exit, Output};
use crate::domain::{Language, ThreadId};
use crate::uimessage::RunStatus;

/// The longest message; the daemon takes no longer one either.
const MAX_BYTES: usize = 1_000_000;

/// Reads the message from an input that is no terminal.
pub(super) fn read_message(input: impl Read) -> io::Result<Result<String, Word<'static>>> {
    let mut bytes = Vec::new();
    input.take(u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_BYTES {
        return Ok(Err(Word::TooLong { limit: MAX_BYTES }));
    }
    // The end of the last line is the pipe's, not the person's.
    let text = String::from_utf8(bytes).map_err(|_| Word::NoText);
    Ok(text.map(|text| text.trim_end_matches(['\n', '\r']).to_owned()))
}

/// Says `text` and shows the answer.
pub(super) async fn once(
    line: &mut Line,
    thread: &ThreadId,
    text: &str,
    output: Output,
    screen: &mut Screen<'_>,
    interruptions: &mut Interruptions,
    language: Language,
) -> io::Result<Exit> {
    let shown = (!output.json).then_some(&mut *screen);
    let turn = Watch { screen: shown, interruptions, language }.say(line, text).await?;
    screen.end_line()?;
    match turn.end {
        TurnEnd::Gone => screen.trouble(&Word::GoneInTurn.say(language))?,
        TurnEnd::Left => screen.remark(&Word::Left.say(language))?,
        TurnEnd::Over | TurnEnd::Asks | TurnEnd::Refused => {}
    }
    let outcome = turn.teller.outcome();
    if let (true, Some(taken)) = (output.json, turn.taken) {
        let answer = answer(thread.clone(), taken.message, Some(taken.correlation), &outcome);
        screen.line(&serde_json::to_string_pretty(&answer)?)?;
    }
    let well = turn.end == TurnEnd::Over && outcome.status == Some(RunStatus::Done);
    Ok(if well { Exit::Ok } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_of_bearable_length_is_a_message() {
        assert_eq!(read_message("你\n好\n".as_bytes()).unwrap(), Ok("你\n好".to_owned()));
        assert_eq!(read_message(&b"\xff"[..]).unwrap(), Err(Word::NoText));
        assert_eq!(read_message(io::repeat(b'x')).unwrap(), Err(Word::TooLong { limit: MAX_BYTES }));
    }
}
