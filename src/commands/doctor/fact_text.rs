//! The text and the advice for each fact.

use super::fact::{Fact, Severity};
use crate::commands::sandbox_text;
use crate::config::IdleReason;
use crate::distil::DistilEvery;
use crate::domain::{AutoMemory, ErrorKind, Language};
use crate::phrases::{config, doctor as words};

/// How much of a rule in Agent.md is repeated.
const RULE_CHARS: usize = 80;
/// How much of a transcript is repeated.
const HEARD_CHARS: usize = 80;

/// The text of a fact, with advice where something can be done.
pub(super) fn say(fact: &Fact, language: Language) -> (String, Option<String>) {
    match fact {
        Fact::Chat { probe, .. } | Fact::Groups(probe) => (probe.message.clone(), probe.advice.clone()),
        fact => (message(fact, language), advice(fact, language)),
    }
}

fn message(fact: &Fact, language: Language) -> String {
    let l = language;
    match fact {
        Fact::NoAgentMd(error) => error.words(l),
        Fact::ConfigProblem(problem) | Fact::ConfigWarning(problem) => problem.line(l),
        Fact::AgentMd { characters } => words::agent_md(*characters, l),
        Fact::Config { has_file: true } => config::valid(l).into(),
        Fact::Config { has_file: false } => config::defaults_apply(l).into(),
        Fact::IdleAdapter(idle) => match &idle.why {
            IdleReason::Disabled => words::adapter_off(idle.name, l),
            IdleReason::NoCredentials(keys) => {
                words::adapter_without_key(idle.name, &keys.join(words::between_names(l)), l)
            }
        },
        Fact::Offline { .. } => words::offline(l).into(),
        Fact::ModelAnswers { name, millis } => words::model_answers(name, millis, l),
        Fact::ModelFails { name, detail, .. } => words::model_fails(name, detail, l),
        Fact::ModelSilent { name, seconds } => words::model_silent(name, *seconds, l),
        Fact::ModelUnusable { name, why } => words::model_unusable(name, why, l),
        Fact::ModelEnds { name, on, days, .. } if *days < 0 => words::model_ended(name, on, l),
        Fact::ModelEnds { name, on, days, .. } => words::model_ends(name, on, days, l),
        Fact::ModelNotListed { name, .. } => words::model_not_listed(name, l),
        Fact::Hears { name, millis, heard } if heard.trim().is_empty() => {
            words::recogniser_answers(name, millis, l)
        }
        Fact::Hears { name, millis, heard } => {
            words::recogniser_hears(name, &heard.chars().take(HEARD_CHARS).collect::<String>(), millis, l)
        }
        Fact::HearsNot { name, why } => words::recogniser_fails(name, why, l),
        Fact::Speaks { name, millis } => words::synthesiser_speaks(name, millis, l),
        Fact::SpeaksNot { name, why } => words::synthesiser_fails(name, why, l),
        Fact::SpeechUnusable(why) => words::speech_unusable(why, l),
        Fact::PricesOld { days } => words::prices_old(days, l),
        Fact::Chat { probe, .. } | Fact::Groups(probe) => probe.message.clone(),
        Fact::Writable(path) => words::writable(path.display(), l),
        Fact::NotWritable { path, why } => words::not_writable(path.display(), why, l),
        Fact::Private => words::private(l).into(),
        Fact::OpenToOthers { path, mode } => words::open_to_others(path.display(), *mode, l),
        Fact::Tracked(names) => words::tracked(&names.join(words::between_names(l)), l),
        Fact::DiskFree { mebibytes } => words::disk_free(*mebibytes, l),
        Fact::PortFree(listen) => words::port_free(*listen, l),
        Fact::PortOurs(listen) => words::port_ours(*listen, l),
        Fact::PortTaken { listen, .. } => words::port_taken(*listen, l),
        Fact::PortRefused { listen, why } => words::port_refused(*listen, why, l),
        Fact::OpenListen(listen) => words::open_listen(*listen, l),
        Fact::LockFree => words::lock_free(l).into(),
        Fact::LockHeld { pid: Some(pid) } => words::lock_held_by(*pid, l),
        Fact::LockHeld { pid: None } => words::lock_held(l).into(),
        Fact::LockUnclear(why) => words::lock_unclear(why, l),
        Fact::Sandbox(report) => sandbox_text::status(report, l),
        Fact::Sockets { listed, sandbox } => sandbox_text::sockets(listed, sandbox, l).unwrap_or_default(),
        Fact::CommandMemory { limits, control } => sandbox_text::memory(*limits, *control, l),
        Fact::Learning { auto, every } => learning(*auto, every, l),
        Fact::Scopes { dm_scope, linked, history } => {
            words::memory_scopes(dm_scope.name(), *linked, history.name(), l)
        }
        Fact::Clock { now, zone: Some(zone) } => words::clock(now, zone, l),
        Fact::Clock { now, zone: None } => words::clock_without_zone(now, l),
        Fact::ClockWrong { now } => words::clock_wrong(now, l),
        Fact::TokenMade => words::token_made(l).into(),
        Fact::TokenStrong => words::token_strong(l).into(),
        Fact::TokenWeak { characters, .. } => words::token_weak(*characters, l),
    }
}

/// What is learned, how often, and which text says so.
fn learning(auto: AutoMemory, every: &DistilEvery, l: Language) -> String {
    let auto = words::learning(auto, l);
    let source = match every {
        DistilEvery::ShipJson(_) => words::distil_by_ship_json(l).to_owned(),
        DistilEvery::AgentMd(_, line) => {
            words::distil_by_agent_md(&line.chars().take(RULE_CHARS).collect::<String>(), l)
        }
        DistilEvery::Default(_) => words::distil_by_default(l).to_owned(),
    };
    let often =
        every.turns().map_or_else(|| words::distil_never(l).to_owned(), |n| words::distil_every(n, l));
    format!("{auto}{}{often} ({source})", words::between_names(l))
}

fn advice(fact: &Fact, language: Language) -> Option<String> {
    let l = language;
    Some(match fact {
        Fact::IdleAdapter(idle) if idle.why != IdleReason::Disabled => {
            words::adapter_without_key_fix(idle.name, l)
        }
        Fact::Offline { key_unused: true } => words::offline_key_unused(l).into(),
        Fact::ModelFails { kind, .. } => words::model_fails_fix(*kind, l).into(),
        Fact::ModelSilent { .. } => words::model_fails_fix(ErrorKind::Timeout, l).into(),
        Fact::ModelUnusable { .. } => words::model_unusable_fix(l).into(),
        Fact::HearsNot { .. } => words::recogniser_fix(l).into(),
        Fact::SpeaksNot { .. } => words::synthesiser_fix(l).into(),
        Fact::ModelEnds { alternatives, .. } | Fact::ModelNotListed { alternatives, .. } => {
            match alternatives.as_slice() {
                [] => words::another_model(l).into(),
                names => words::another_model_such_as(&names.join(words::between_names(l)), l),
            }
        }
        Fact::PricesOld { .. } => words::prices_old_fix(l).into(),
        Fact::NotWritable { .. } => words::not_writable_fix(l).into(),
        Fact::OpenToOthers { path, .. } => format!("chmod 700 {}", path.display()),
        Fact::Tracked(names) => words::tracked_fix(&names.join(" "), l),
        Fact::DiskFree { .. } if fact.severity() != Severity::Ok => words::disk_free_fix(l).into(),
        Fact::PortTaken { chosen: true, .. } => words::port_taken_fix(l).into(),
        Fact::PortTaken { .. } => words::next_port(l).into(),
        Fact::PortRefused { .. } => words::port_refused_fix(l).into(),
        Fact::OpenListen(_) => words::open_listen_fix(l).into(),
        Fact::LockUnclear(_) => words::lock_unclear_fix(l).into(),
        Fact::Sandbox(report) => return sandbox_text::advice(report, l),
        Fact::Sockets { .. } => words::sockets_fix(l).into(),
        Fact::ClockWrong { .. } => words::clock_wrong_fix(l).into(),
        Fact::TokenWeak { .. } => words::token_weak_fix(l).into(),
        _ => return None,
    })
}
