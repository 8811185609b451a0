//! From the arguments of `access` to its commands.

use std::io::Write;
use std::path::Path;

use super::{list, words};
use crate::cli::{AccessCommand, Exit};
use crate::commands::cli_context::{CliContext, operator};
use crate::config::Env;
use crate::ports::{AdapterTable, Approved, Clock, Guest, SystemClock};

/// Runs one of the commands. What was found goes to `out`, trouble to `err`.
///
/// # Errors
/// When something went wrong that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    command: AccessCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(look) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let (now, by, language) = (SystemClock.now(), operator()?, look.language);
    let done = match command {
        AccessCommand::List(output) => match look.change(look.store.access.list(now)) {
            Ok(known) => return list::list(&look, &known.unwrap_or_default(), output, out),
            Err(error) => Err(look.trouble(&error)),
        },
        AccessCommand::Approve { code, role } => {
            match look.change(look.store.access.approve(&code, role, &by, now)) {
                Ok(Some(Approved::Let(member))) => Ok(words::let_in(&member, language)),
                Ok(Some(Approved::NoSuchCode) | None) => Err(words::no_such_code(language).to_owned()),
                Ok(Some(Approved::Locked { until })) => Err(words::locked(until.millis_since(now), language)),
                Err(error) => Err(look.trouble(&error)),
            }
        }
        AccessCommand::Invite { role } => match look.change(look.store.access.invite(role, &by, now)) {
            Ok(Some(invitation)) => Ok(words::invited(&invitation, adapters, language)),
            Ok(None) => Err(words::no_state(language).to_owned()),
            Err(error) => Err(look.trouble(&error)),
        },
        AccessCommand::Role { who, role } => {
            let Ok(Guest::Person(person)) = who.parse::<Guest>() else {
                writeln!(err, "{}", words::bad_person(&who, language))?;
                return Ok(Exit::Usage);
            };
            match look.change(look.store.access.change_role(&person, role, &by, now)) {
                Ok(Some(Some(member))) => Ok(words::changed(&member, language)),
                Ok(Some(None) | None) => Err(words::unknown(&Guest::Person(person), language)),
                Err(error) => Err(look.trouble(&error)),
            }
        }
        AccessCommand::Revoke { who } => {
            let Ok(guest) = who.parse::<Guest>() else {
                writeln!(err, "{}", words::bad_guest(&who, language))?;
                return Ok(Exit::Usage);
            };
            match look.change(look.store.access.revoke(&guest, &by, now)) {
                Ok(Some(true)) => Ok(words::revoked(&guest, language)),
                Ok(Some(false) | None) => Err(words::unknown(&guest, language)),
                Err(error) => Err(look.trouble(&error)),
            }
        }
    };
    match done {
        Ok(words) => {
            writeln!(out, "{words}")?;
            Ok(Exit::Ok)
        }
        Err(words) => {
            writeln!(err, "{words}")?;
            Ok(Exit::Failed)
        }
    }
}
