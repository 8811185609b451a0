//! Runs the subcommands of `access`.

use std::io::Write;
use std::path::Path;

use super::list;
use crate::cli::{AccessCommand, Exit};
use crate::commands::cli_context::{CliContext, operator};
use crate::config::Env;
use crate::domain::{Language, Role};
use crate::phrases::commands as words;
use crate::ports::{
    AccessSubject, AdapterTable, Clock, Invitation, Invited, Member, PairingConfirmation, SystemClock,
};

/// Runs a subcommand. Results go to `out`, errors to `err`.
///
/// # Errors
/// When something fails that has no exit code of its own.
pub fn run(
    project: &Path,
    env: &Env,
    adapters: &AdapterTable,
    command: AccessCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(context) = CliContext::at(project, env, err)? else { return Ok(Exit::Failed) };
    let (now, by, language) = (SystemClock.now(), operator()?, context.language);
    let done = match command {
        AccessCommand::List(output) => match context.change(context.store.access.list(now)) {
            Ok(known) => return list::list(&context, &known.unwrap_or_default(), output, out),
            Err(error) => Err(context.trouble(&error)),
        },
        AccessCommand::Approve { code, role } => {
            match context.change(context.store.access.approve(&code, role, &by, now)) {
                Ok(Some(PairingConfirmation::Confirmed(member))) => Ok(let_in(&member, language)),
                Ok(Some(PairingConfirmation::NoSuchCode) | None) => {
                    Err(words::access_no_such_code(language).to_owned())
                }
                Ok(Some(PairingConfirmation::Locked { until })) => {
                    Err(locked(until.millis_since(now), language))
                }
                Err(error) => Err(context.trouble(&error)),
            }
        }
        AccessCommand::Invite { role } => match context.change(context.store.access.invite(role, &by, now)) {
            Ok(Some(invitation)) => Ok(invited(&invitation, adapters, language)),
            Ok(None) => Err(words::never_ran(language).to_owned()),
            Err(error) => Err(context.trouble(&error)),
        },
        AccessCommand::Role { who, role } => {
            let Ok(AccessSubject::Person(person)) = who.parse::<AccessSubject>() else {
                writeln!(err, "{}", words::access_bad_person(&who, language))?;
                return Ok(Exit::Usage);
            };
            match context.change(context.store.access.change_role(&person, role, &by, now)) {
                Ok(Some(Some(member))) => {
                    Ok(words::access_changed(&member.id, words::access_role(member.role, language), language))
                }
                Ok(Some(None) | None) => Err(words::access_unknown(AccessSubject::Person(person), language)),
                Err(error) => Err(context.trouble(&error)),
            }
        }
        AccessCommand::Revoke { who } => {
            let Ok(subject) = who.parse::<AccessSubject>() else {
                writeln!(err, "{}", words::access_bad_guest(&who, language))?;
                return Ok(Exit::Usage);
            };
            match context.change(context.store.access.revoke(&subject, &by, now)) {
                Ok(Some(true)) => Ok(revoked(&subject, language)),
                Ok(Some(false) | None) => Err(words::access_unknown(&subject, language)),
                Err(error) => Err(context.trouble(&error)),
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

/// The confirmation for the operator who approved a pairing code.
fn let_in(member: &Member, language: Language) -> String {
    let who = match &member.name {
        Some(name) => {
            let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
            format!("{} ({name})", member.id)
        }
        None => member.id.to_string(),
    };
    match member.role {
        Role::Member => words::access_let_in(&who, language),
        role => words::access_let_in_as(&who, words::access_role(role, language), language),
    }
}

fn locked(millis: u64, language: Language) -> String {
    words::access_locked(millis.div_ceil(60_000).max(1), language)
}

fn revoked(subject: &AccessSubject, language: Language) -> String {
    match subject {
        AccessSubject::Person(_) => words::access_revoked_person(subject, language),
        AccessSubject::Chat(_) => words::access_revoked_chat(subject, language),
    }
}

/// Prints an invitation, and how its code is redeemed on each platform that supports it.
fn invited(invitation: &Invitation, adapters: &AdapterTable, language: Language) -> String {
    let (code, role) = (&invitation.code, words::access_role(invitation.role, language));
    let ways = adapters.iter().filter_map(|def| def.invitation).map(|way| {
        let Invited { bot, message, link } = way(code, language);
        words::access_invited(&message, &bot, role, &link, language)
    });
    std::iter::once(code.clone()).chain(ways).collect::<Vec<_>>().join("\n")
}
