//! Builds what the threads know of other agents from the settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapters::AdapterSet;
use crate::config::{BotsChoice, GroupsSettings, Settings};
use crate::domain::{AgentCard, ThreadId};
use crate::groups::{BotLimits, first_paragraph};
use crate::policy::fingerprint::digest_of;
use crate::ports::{Clock, Rooms, ThreadStore, ThreadsHandle};
use crate::store::SharedRooms;
use crate::threads::{AnswerAgents, GroupSettings, Groups, JOINED_PLATFORM, RoomFollower, Sharing};

/// How many characters of a digest name an agent.
const ID_CHARS: usize = 16;

/// The groups of a daemon. A shared directory that cannot be used is left out, with a warning.
pub(crate) fn groups(settings: &Settings, clock: &Arc<dyn Clock>) -> Arc<Groups> {
    let chosen = &settings.groups;
    let shared = match chosen.shared_dir.as_deref() {
        None => Sharing::Alone,
        Some(dir) => open_rooms(dir, settings, clock).map_or(Sharing::Broken, Sharing::With),
    };
    let named = is_named(chosen.bots, matches!(shared, Sharing::With(_)));
    Arc::new(Groups::new(rules(chosen, named), card(settings), shared))
}

/// The rules of these settings, for groups that exist already.
pub(crate) fn changed_rules(settings: &Settings, groups: &Groups) -> GroupSettings {
    let chosen = &settings.groups;
    rules(chosen, is_named(chosen.bots, groups.is_shared()))
}

const fn is_named(bots: BotsChoice, shared: bool) -> bool {
    match bots {
        BotsChoice::Auto => shared,
        BotsChoice::Ignore => false,
        BotsChoice::Named => true,
    }
}

fn rules(chosen: &GroupsSettings, named: bool) -> GroupSettings {
    GroupSettings {
        settle: chosen.settle,
        threshold: chosen.threshold,
        agents: if named { AnswerAgents::Named } else { AnswerAgents::Never },
        limits: BotLimits { depth: chosen.bot_depth },
        joined: joined(&chosen.rooms),
    }
}

/// The room of each chat that the settings join, by the chat's thread. An entry is `platform:account:chat`; the account
/// tells people whose id of the chat it is.
fn joined(rooms: &BTreeMap<String, Vec<String>>) -> BTreeMap<ThreadId, ThreadId> {
    let mut joined = BTreeMap::new();
    for (name, chats) in rooms {
        let Some(room) = thread(JOINED_PLATFORM, name) else { continue };
        for entry in chats {
            let mut parts = entry.splitn(3, ':');
            let chat = parts.next().zip(parts.nth(1)).and_then(|(platform, chat)| thread(platform, chat));
            match chat {
                Some(chat) => drop(joined.insert(chat, room.clone())),
                None => {
                    tracing::warn!(entry, room = name, "groups.rooms: not platform:account:chat, left out")
                }
            }
        }
    }
    joined
}

fn thread(platform: &str, chat: &str) -> Option<ThreadId> {
    ThreadId::of_chat(&platform.parse().ok()?, chat).ok()
}

fn open_rooms(dir: &Path, settings: &Settings, clock: &Arc<dyn Clock>) -> Option<Arc<dyn Rooms>> {
    if dir.starts_with(&settings.project) {
        tracing::warn!(dir = %dir.display(), "shared directory refused, it is inside the project and tools could change it");
        return None;
    }
    match SharedRooms::open(dir, settings.groups.keep_days, clock.clone()) {
        Ok(rooms) => Some(Arc::new(rooms)),
        Err(fault) => {
            tracing::warn!(%fault, "shared directory not opened, messages of other agents are not received");
            None
        }
    }
}

/// Follows the rooms that the agent shares with others.
pub(crate) fn follow(
    groups: &Arc<Groups>,
    adapters: &AdapterSet,
    threads: &ThreadsHandle,
    store: &Arc<dyn ThreadStore>,
    clock: &Arc<dyn Clock>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    // Until the roster is read.
    let peers = groups.unread_peers();
    adapters.to_run().for_each(|adapter| adapter.know_peers(&peers));
    if groups.is_shared() {
        let adapters = adapters.to_run().cloned().collect();
        let follower =
            RoomFollower::new(groups.clone(), threads.clone(), store.clone(), clock.clone(), adapters);
        tasks.spawn(follower.run(stop.clone()));
    }
}

/// This agent's entry in the roster.
pub(crate) fn card(settings: &Settings) -> AgentCard {
    let purpose = match settings.groups.purpose.trim() {
        "" => first_paragraph(&settings.agent_md),
        purpose => purpose.to_owned(),
    };
    AgentCard {
        aliases: settings.groups.aliases.clone(),
        purpose,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..AgentCard::new(&agent_id(&settings.project), &settings.name)
    }
}

/// The same for a project directory on a machine.
fn agent_id(project: &Path) -> String {
    let machine = rustix::system::uname();
    let named = format!("{}\n{}", machine.nodename().to_string_lossy(), project.display());
    digest_of(named.as_bytes()).chars().filter(char::is_ascii_alphanumeric).take(ID_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_of_several_accounts_are_one_room() {
        let chats = ["qq:102:GROUP:A", "qq:103:GROUP_B", "nonsense", "qq:104:"];
        let rooms = BTreeMap::from([("ops".to_owned(), chats.map(str::to_owned).to_vec())]);
        let joined = joined(&rooms);
        let told: Vec<(&str, &str)> =
            joined.iter().map(|(chat, room)| (chat.as_str(), room.as_str())).collect();
        assert_eq!(told, [("qq:chat:GROUP%3AA", "room:chat:ops"), ("qq:chat:GROUP_B", "room:chat:ops")]);
    }
}
