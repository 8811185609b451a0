//! `shipagent chat`, from its arguments to its exit code.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use super::interruptions::Interruptions;
use super::once::{once, read_message};
use super::open::{OpenLineError, open};
use super::screen::Screen;
use super::session::Session;
use super::words::Word;
use crate::cli::{ChatArgs, Exit};
use crate::commands::load::load_or_say;
use crate::commands::terminal::Surface;
use crate::config::{Env, Settings};
use crate::domain::{Platform, ThreadId};
use crate::store::{OpenError, survive_file_size_limits};

/// Threads for blocking work: reads, searches.
const BLOCKING_THREADS: usize = 16;

/// What there is to say.
enum Words {
    /// This, and then the end.
    One(String),
    /// Whatever somebody types.
    Typed,
}

/// Talks to the agent: one message if there is one, else whatever is typed. Answers go to `out`, all else to `err`.
///
/// # Errors
/// When something went wrong that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    args: &ChatArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(settings) = load_or_say(project, env, err)? else { return Ok(Exit::Configuration) };
    let language = settings.operator_language;
    let platform: Platform = "cli".parse()?;
    let thread = match ThreadId::of_chat(&platform, &args.thread) {
        Ok(thread) => thread,
        Err(error) => {
            writeln!(err, "{}", Word::BadName(&error.to_string()).say(language))?;
            return Ok(Exit::Usage);
        }
    };
    let words = match words(args)? {
        Ok(words) => words,
        Err(word) => {
            writeln!(err, "{}", word.say(language))?;
            return Ok(Exit::Usage);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    let ended = runtime.block_on(async {
        let mut screen =
            Screen::new((out, Surface::of(&io::stdout(), env)), (err, Surface::of(&io::stderr(), env)));
        Box::pin(talk(&settings, env, args, &thread, words, &mut screen)).await
    });
    // A second signal may have left tasks behind; they are not waited for.
    runtime.shutdown_background();
    ended
}

/// What there is to say, from the arguments or from an input that is no terminal.
fn words(args: &ChatArgs) -> io::Result<Result<Words, Word<'static>>> {
    let text = match &args.message {
        Some(message) => message.clone(),
        None if io::stdin().is_terminal() && io::stdout().is_terminal() => {
            let typed = if args.output.json { Err(Word::JsonNeedsMessage) } else { Ok(Words::Typed) };
            return Ok(typed);
        }
        None => match read_message(io::stdin().lock())? {
            Ok(text) => text,
            Err(word) => return Ok(Err(word)),
        },
    };
    Ok(if text.trim().is_empty() { Err(Word::NothingToSay) } else { Ok(Words::One(text)) })
}

async fn talk(
    settings: &Settings,
    env: &Env,
    args: &ChatArgs,
    thread: &ThreadId,
    words: Words,
    screen: &mut Screen<'_>,
) -> anyhow::Result<Exit> {
    // From here on a signal no longer ends the process by itself, so nothing is left half done.
    let mut interruptions = Interruptions::listen()?;
    survive_file_size_limits()?;
    let opened = tokio::select! {
        opened = open(settings, env, thread) => opened,
        _interruption = interruptions.next() => return Ok(Exit::Failed),
    };
    let language = settings.operator_language;
    let mut line = match opened {
        Ok(line) => line,
        Err(error) => return refuse(error, settings, screen),
    };
    let talked = match words {
        Words::One(text) => {
            once(&mut line, thread, &text, args.output, screen, &mut interruptions, language).await
        }
        Words::Typed => {
            let mut session = Session { settings, env, thread, screen, interruptions: &mut interruptions };
            session.run(&mut line).await
        }
    };
    tokio::select! {
        () = line.hang_up(settings.limits.stop) => {}
        _second = interruptions.next() => {}
    }
    Ok(talked?)
}

fn refuse(error: OpenLineError, settings: &Settings, screen: &mut Screen<'_>) -> anyhow::Result<Exit> {
    let language = settings.operator_language;
    let (text, exit) = match error {
        OpenLineError::Taken { pid } => (Word::Taken(pid).say(language), Exit::AnotherDaemon),
        OpenLineError::Refused(why) => (Word::DaemonRefused(&why).say(language), Exit::Failed),
        OpenLineError::State(error @ OpenError::Held { .. }) => (error.to_string(), Exit::AnotherDaemon),
        OpenLineError::State(error @ OpenError::Store(_)) => {
            (format!("{:#}", anyhow::Error::new(error)), Exit::StateNotWritable)
        }
        OpenLineError::Start(error) => return Err(error),
    };
    screen.trouble(&text)?;
    Ok(exit)
}
