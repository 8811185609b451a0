//! Whether agents can share their groups, and who they are.

use std::sync::Arc;

use super::fact::Fact;
use crate::config::Settings;
use crate::domain::{AgentAccount, AgentCard};
use crate::group_setup;
use crate::phrases::doctor as words;
use crate::ports::{Clock, Probe, ProbeLevel, Rooms as _};
use crate::store::SharedRooms;

/// The facts about `groups.sharedDir`; none where it is not set.
pub(super) async fn groups(settings: &Settings, clock: &Arc<dyn Clock>) -> Vec<Fact> {
    let Some(dir) = &settings.groups.shared_dir else { return Vec::new() };
    let language = settings.operator_language;
    let unusable = |why: String| {
        let message = words::groups_unusable(why, language);
        let advice = Some(words::groups_unusable_fix(language).to_owned());
        vec![Fact::Groups(Probe { level: ProbeLevel::Warning, message, advice })]
    };
    if dir.starts_with(&settings.project) {
        return unusable(words::groups_inside(language).to_owned());
    }
    let rooms = match SharedRooms::open(dir, settings.groups.keep_days, clock.clone()) {
        Ok(rooms) => rooms,
        Err(fault) => return unusable(fault.to_string()),
    };
    let roster = match rooms.roster().await {
        Ok(roster) => roster,
        Err(error) => return unusable(error.to_string()),
    };
    let own = group_setup::card(settings);
    let me = roster.iter().find(|card| card.id == own.id).cloned().unwrap_or(own);
    let others: Vec<AgentCard> = roster.into_iter().filter(|card| card.id != me.id).collect();
    let now = clock.now();
    let named = |card: &AgentCard| {
        if card.is_away(now) { words::groups_away(&card.name, language) } else { card.name.clone() }
    };
    let names: Vec<String> = others.iter().map(named).collect();
    let names = if names.is_empty() {
        words::groups_alone(language).to_owned()
    } else {
        names.join(words::between_names(language))
    };
    let message = words::groups_shared(dir.display(), &names, language);
    let mut facts = vec![Fact::Groups(Probe { level: ProbeLevel::Ok, message, advice: None })];
    if others.iter().any(|card| card.name.to_lowercase() == me.name.to_lowercase()) {
        let message = words::groups_same_name(&me.name, language);
        let advice = Some(words::groups_same_name_fix(language).to_owned());
        facts.push(Fact::Groups(Probe { level: ProbeLevel::Warning, message, advice }));
    }
    for card in others.iter().filter(|card| !card.is_away(now)) {
        if let Some(account) = card.shared_account(&me.accounts) {
            let message = words::groups_same_account(&card.name, &account.platform, &account.id, language);
            let advice = Some(words::groups_same_account_fix(language).to_owned());
            facts.push(Fact::Groups(Probe { level: ProbeLevel::Warning, message, advice }));
        }
    }
    facts.extend(me.accounts.iter().flat_map(|account| heard_on(account, settings)));
    facts
}

/// What a platform sends the agent of others, by what its daemon has seen.
fn heard_on(account: &AgentAccount, settings: &Settings) -> Vec<Fact> {
    let (platform, language) = (&account.platform, settings.operator_language);
    let fact = |level, message, advice: Option<&str>| {
        Fact::Groups(Probe { level, message, advice: advice.map(str::to_owned) })
    };
    let mut facts = Vec::new();
    if account.hears_all == Some(false) {
        facts.push(fact(ProbeLevel::Ok, words::groups_hears_little(platform, language), None));
    }
    let adapter = settings.adapters.iter().find(|adapter| adapter.def.name == platform.as_str());
    match (account.heard_bot, adapter.and_then(|adapter| adapter.section.hearing_bots(language))) {
        (Some(at), _) => {
            let message = words::groups_heard_bot(platform, &at.rfc3339(), language);
            facts.push(fact(ProbeLevel::Ok, message, None));
        }
        (None, Some(advice)) => {
            let message = words::groups_heard_no_bot(platform, language);
            facts.push(fact(ProbeLevel::Ok, message, Some(advice)));
        }
        (None, None) => {}
    }
    if let Some(permission) = &account.lacks {
        let message = words::groups_lacks(platform, permission, language);
        facts.push(fact(ProbeLevel::Warning, message, Some(words::groups_lacks_fix(language))));
    }
    facts
}
