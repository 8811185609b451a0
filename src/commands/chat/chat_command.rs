//! `shipagent chat`, from its arguments to its exit code.

use std::io::{self, Write};
use std::path::Path;

use super::chat_context::{ChatContext, DEFAULT_THREAD, fresh_thread, thread_of};
use super::chat_output::ChatOutput;
use super::input::{self, Input};
use super::interruptions::Interruptions;
use super::once::Once;
use super::open::{ConnectError, open};
use super::remark::Remark;
use super::session::Session;
use super::transcript_printer::TranscriptPrinter;
use crate::cli::{ChatArgs, Exit};
use crate::commands::setup::{load_or_say, open_error_text};
use crate::commands::terminal::Surface;
use crate::config::{Env, Settings};
use crate::domain::{BadId, Platform, ThreadId};
use crate::ports::AdapterTable;
use crate::store::{OpenError, survive_file_size_limits};

/// Platforms whose threads the operator may write to. The others belong to their people.
const OWN_PLATFORMS: [&str; 2] = ["cli", "web"];

/// Threads for blocking work: reads, searches.
const BLOCKING_THREADS: usize = 16;

/// Sends one message if there is one, else each line that is typed. Answers go to `out`, all else to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    args: &ChatArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(settings) = load_or_say(project, env, adapters, err)? else { return Ok(Exit::Configuration) };
    let language = settings.operator_language;
    let input = match input::read(args, err, language)? {
        Ok(input) => input,
        Err(word) => {
            writeln!(err, "{}", word.say(language))?;
            return Ok(Exit::Usage);
        }
    };
    let thread = match named_thread(args, &input) {
        Ok(thread) => thread,
        Err(text) => {
            writeln!(err, "{}", Remark::BadName(&text).say(language))?;
            return Ok(Exit::Usage);
        }
    };
    if !OWN_PLATFORMS.contains(&thread.platform().as_str()) {
        writeln!(err, "{}", Remark::OtherPlatform(thread.as_str()).say(language))?;
        return Ok(Exit::Usage);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    let ended = runtime.block_on(async {
        let surfaces = (Surface::of(&io::stdout(), env), Surface::of(&io::stderr(), env));
        let mut output = ChatOutput::new((out, surfaces.0), (err, surfaces.1), language);
        Box::pin(talk((project, &settings), env, args, &thread, input, &mut output)).await
    });
    // After a second signal, tasks may be left; they are not awaited.
    runtime.shutdown_background();
    ended
}

/// The thread to talk in: the named one, else a new one for one message, and always the same one for typed lines.
fn named_thread(args: &ChatArgs, input: &Input) -> Result<ThreadId, String> {
    let platform: Platform = "cli".parse().map_err(|error: BadId| error.to_string())?;
    match (&args.thread, input) {
        (Some(name), _) => thread_of(name, &platform),
        (None, Input::One(_)) => fresh_thread(&platform),
        (None, Input::Typed) => thread_of(DEFAULT_THREAD, &platform),
    }
}

async fn talk(
    (project, settings): (&Path, &Settings),
    env: &Env,
    args: &ChatArgs,
    thread: &ThreadId,
    input: Input,
    output: &mut ChatOutput<'_>,
) -> anyhow::Result<Exit> {
    // From here on a signal does not end the process by itself, so that the stop is orderly.
    let mut interruptions = Interruptions::listen()?;
    survive_file_size_limits()?;
    let opened = tokio::select! {
        opened = open(settings, env, thread) => opened,
        _interruption = interruptions.next() => return Ok(Exit::Failed),
    };
    let mut connection = match opened {
        Ok(connection) => connection,
        Err(error) => return refuse(error, settings, output),
    };
    let context = ChatContext { project, thread, daemon: connection.daemon_address().is_some() };
    let interruptions = &mut interruptions;
    let talked = match input {
        Input::One(text) => {
            let json = args.output.json;
            let mut once =
                Once { language: settings.operator_language, context, json, output, interruptions };
            once.run(&mut connection, &text).await
        }
        Input::Typed => {
            let (printer, held) = (TranscriptPrinter::default(), Vec::new());
            let mut session = Session { settings, env, context, output, interruptions, printer, held };
            session.run(&mut connection).await
        }
    };
    tokio::select! {
        () = connection.close(settings.limits.stop) => {}
        _second = interruptions.next() => {}
    }
    Ok(talked?)
}

fn refuse(error: ConnectError, settings: &Settings, output: &mut ChatOutput<'_>) -> anyhow::Result<Exit> {
    let language = settings.operator_language;
    let (text, exit) = match error {
        ConnectError::Taken { pid } => (Remark::Taken(pid).say(language), Exit::AnotherDaemon),
        ConnectError::Refused(why) => (Remark::DaemonRefused(&why).say(language), Exit::Failed),
        ConnectError::State(error) => {
            let exit = match error {
                OpenError::Held { .. } => Exit::AnotherDaemon,
                OpenError::Store(_) => Exit::StateNotWritable,
            };
            (open_error_text(&error, language), exit)
        }
        ConnectError::Start(error) => return Err(error),
    };
    output.error(&text)?;
    Ok(exit)
}
