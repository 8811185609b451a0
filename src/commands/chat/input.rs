//! What one call of `chat` says: the message of the command line, what is piped in, or both.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;

use super::words::Word;
use crate::cli::ChatArgs;

/// The longest message; the daemon takes no longer one either.
const MAX_BYTES: usize = 1_000_000;

/// What there is to say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// This, and then the end.
    One(String),
    /// Lines typed at a terminal.
    Typed,
}

/// Reads what there is to say.
pub(super) fn read(args: &ChatArgs) -> io::Result<Result<Input, Word<'static>>> {
    let stdin = io::stdin();
    let message = match &args.message {
        None if stdin.is_terminal() && io::stdout().is_terminal() => {
            return Ok(if args.output.json { Err(Word::JsonNeedsMessage) } else { Ok(Input::Typed) });
        }
        None => return one("", stdin.lock()),
        Some(message) => message,
    };
    if is_piped(&stdin)? { one(message, stdin.lock()) } else { one(message, io::empty()) }
}

/// Whether something else than a terminal or a device gives the standard input: a pipe, a file, a socket.
fn is_piped(stdin: &impl AsFd) -> io::Result<bool> {
    let file = File::from(stdin.as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    Ok(kind.is_file() || kind.is_fifo() || kind.is_socket())
}

/// The message, and below it what was piped in.
fn one(message: &str, input: impl Read) -> io::Result<Result<Input, Word<'static>>> {
    let mut bytes = Vec::new();
    input.take(u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len().saturating_add(message.len()) > MAX_BYTES {
        return Ok(Err(Word::TooLong { limit: MAX_BYTES }));
    }
    let Ok(piped) = String::from_utf8(bytes) else { return Ok(Err(Word::NoText)) };
    // The end of the last line is the pipe's, not the person's.
    let piped = piped.trim_end_matches(['\n', '\r']);
    let text = match (message.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => return Ok(Err(Word::NothingToSay)),
        (true, false) => piped.to_owned(),
        (false, true) => message.to_owned(),
        (false, false) => format!("{message}\n\n{piped}"),
    };
    Ok(Ok(Input::One(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_and_what_is_piped_in_are_one_text_of_bounded_length() {
        let said = |text: &str| Ok(Input::One(text.to_owned()));
        for (message, piped, expected) in [
            ("", "你\n好\n", said("你\n好")),
            ("explain", "a log\n", said("explain\n\na log")),
            ("explain", "\n", said("explain")),
            (" ", "only this", said("only this")),
            (" ", "", Err(Word::NothingToSay)),
        ] {
            assert_eq!(one(message, piped.as_bytes()).unwrap(), expected, "{message:?} {piped:?}");
        }
        assert_eq!(one("", &b"\xff"[..]).unwrap(), Err(Word::NoText));
        assert_eq!(one("", io::repeat(b'x')).unwrap(), Err(Word::TooLong { limit: MAX_BYTES }));
        let longest = "x".repeat(MAX_BYTES);
        assert_eq!(one("y", longest.as_bytes()).unwrap(), Err(Word::TooLong { limit: MAX_BYTES }));
        assert_eq!(one("", longest.as_bytes()).unwrap(), said(&longest));
    }
}
