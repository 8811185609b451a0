//! The message of one `chat` call: the argument, the standard input, or both.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::mpsc;
use std::time::Duration;

use super::remark::Remark;
use crate::cli::ChatArgs;
use crate::domain::Language;

/// The longest message, as in the daemon.
const MAX_BYTES: usize = 1_000_000;

/// After this time without an end of the standard input, the person is told that it is awaited.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// One message, then the end.
    One(String),
    Typed,
}

/// Reads the message. Reports on `err` when the standard input does not end.
pub(super) fn read(
    args: &ChatArgs,
    err: &mut dyn Write,
    language: Language,
) -> io::Result<Result<Input, Remark<'static>>> {
    let stdin = io::stdin();
    let message = match &args.message {
        None if stdin.is_terminal() && io::stdout().is_terminal() => {
            return Ok(if args.output.json { Err(Remark::JsonNeedsMessage) } else { Ok(Input::Typed) });
        }
        None => "",
        Some(message) => message,
    };
    let piped = args.message.is_none() || is_piped(&stdin)?;
    let bytes = if piped { read_to_end(err, language)? } else { Vec::new() };
    Ok(one(message, bytes))
}

/// Reads the standard input to its end, or to where it is too long.
fn read_to_end(err: &mut dyn Write, language: Language) -> io::Result<Vec<u8>> {
    let (sender, read) = mpsc::channel();
    let work = move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        let done = io::stdin().lock().take(limit).read_to_end(&mut bytes).map(|_| bytes);
        // The receiver waits for as long as the process lives.
        drop(sender.send(done));
    };
    std::thread::Builder::new().name("input".to_owned()).spawn(work)?;
    match read.recv_timeout(PATIENCE) {
        Ok(done) => done,
        Err(_) => {
            writeln!(err, "{}", Remark::ReadingInput.say(language))?;
            read.recv().map_err(io::Error::other)?
        }
    }
}

/// Whether the standard input is a pipe, a file or a socket, not a terminal or device.
fn is_piped(stdin: &impl AsFd) -> io::Result<bool> {
    let file = File::from(stdin.as_fd().try_clone_to_owned()?);
    let kind = file.metadata()?.file_type();
    Ok(kind.is_file() || kind.is_fifo() || kind.is_socket())
}

/// The message, followed by the piped text.
fn one(message: &str, piped: Vec<u8>) -> Result<Input, Remark<'static>> {
    if piped.len().saturating_add(message.len()) > MAX_BYTES {
        return Err(Remark::TooLong { limit: MAX_BYTES });
    }
    let piped = String::from_utf8(piped).map_err(|_| Remark::NoText)?;
    // The final line break comes from the pipe, not from the person.
    let piped = piped.trim_end_matches(['\n', '\r']);
    let text = match (message.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => return Err(Remark::NothingToSay),
        (true, false) => piped.to_owned(),
        (false, true) => message.to_owned(),
        (false, false) => format!("{message}\n\n{piped}"),
    };
    Ok(Input::One(text))
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
            (" ", "", Err(Remark::NothingToSay)),
        ] {
            assert_eq!(one(message, piped.into()), expected, "{message:?} {piped:?}");
        }
        assert_eq!(one("", vec![0xff]), Err(Remark::NoText));
        let longest = "x".repeat(MAX_BYTES);
        assert_eq!(one("y", longest.clone().into()), Err(Remark::TooLong { limit: MAX_BYTES }));
        assert_eq!(one("", longest.clone().into()), said(&longest));
    }
}
