//! Makes the settings from a checked file. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::file::{
    ApprovalsFile, DEFAULT_BASE_URL, EmbeddingsFile, ExecShellFile, FallbackFile, GroupsFile, LlmFile,
    PermissionsFile, ProviderChoice, WebFile,
};
use super::formats;
use super::problem::ConfigFault;
use super::settings::{
    AdapterSettings, ApprovalSettings, EmbeddingSettings, Endpoint, ExecShellSettings, GroupsSettings,
    IdleAdapter, IdleReason, ModelSettings, PermissionSettings, Provider, WebSettings,
};
use crate::domain::{AuthorId, PeerName};
use crate::ports::ConfiguredAdapter;

/// Keys with problems that depend on other keys.
pub(super) type Faults = Vec<(String, ConfigFault)>;

/// The longest duration.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The shortest duration.
const SHORTEST: Duration = Duration::from_millis(1);

/// The settings of groups with several agents.
pub(super) fn groups(file: GroupsFile, project: &Path) -> GroupsSettings {
    let dir = Some(file.shared_dir.trim()).filter(|dir| !dir.is_empty());
    GroupsSettings {
        shared_dir: dir.map(|dir| project.join(dir)),
        keep_days: file.keep_days,
        purpose: file.purpose,
        aliases: file.aliases,
        rooms: file.rooms,
        bots: file.bots,
        bot_depth: file.bot_depth,
        settle: Duration::from_millis(file.gate.settle_ms),
        threshold: file.gate.threshold,
    }
}

pub(super) fn model(llm: LlmFile, faults: &mut Faults) -> ModelSettings {
    let main = Endpoint {
        base_url: address(&llm.base_url),
        api_key: filled(llm.api_key),
        model: llm.model,
        context_tokens: llm.context_tokens,
        timeout: Duration::from_secs(llm.timeout_secs),
        send_reasoning: llm.send_reasoning,
        temperature: llm.temperature,
        max_output_tokens: llm.max_output_tokens,
        at_caps: false,
    };
    let fallback_model = llm.fallbacks.into_iter().enumerate().map(|(i, fallback)| {
        let choice = fallback.provider;
        provider(choice, fallback_model(fallback, &main), &format!("llm.fallbacks[{i}].apiKey"), faults)
    });
    let fallbacks: Vec<Provider> = fallback_model.collect();
    let helper = llm.helper.map(|helper| {
        let choice = helper.provider;
        provider(choice, self::fallback_model(helper, &main), "llm.helper.apiKey", faults)
    });
    let mut named = BTreeMap::new();
    for (name, file) in llm.models {
        let choice = file.provider;
        let endpoint = self::fallback_model(file, &main);
        if !formats::is_model_name(&name) {
            faults.push((format!("llm.models.{name}"), ConfigFault::BadModelName(name)));
            continue;
        }
        let key = format!("llm.models.{name}.apiKey");
        named.insert(name, provider(choice, endpoint, &key, faults));
    }
    let context_tokens = main.context_tokens;
    let provider = provider(llm.provider, main, "llm.apiKey", faults);
    // The built-in model cannot fail and needs no fallbacks.
    let fallbacks = if matches!(provider, Provider::Offline) { Vec::new() } else { fallbacks };
    let helper = helper.filter(|_| !matches!(provider, Provider::Offline));
    ModelSettings {
        provider,
        context_tokens,
        max_steps: llm.max_steps,
        fallbacks,
        helper,
        titles: llm.titles,
        named,
        choosers: llm.model_choice,
    }
}

/// A fallback. A key is never sent to another server than the one it was given for.
fn fallback_model(file: FallbackFile, main: &Endpoint) -> Endpoint {
    let own_server = file.base_url.is_some();
    let shared_key = if own_server { None } else { main.api_key.clone() };
    Endpoint {
        base_url: file.base_url.as_deref().map_or_else(|| main.base_url.clone(), address),
        api_key: filled(file.api_key).or(shared_key),
        model: file.model.unwrap_or_else(|| main.model.clone()),
        context_tokens: file.context_tokens.unwrap_or(main.context_tokens),
        timeout: file.timeout_secs.map_or(main.timeout, Duration::from_secs),
        send_reasoning: file.send_reasoning.unwrap_or(main.send_reasoning),
        temperature: file.temperature.or(main.temperature),
        max_output_tokens: file.max_output_tokens.or(main.max_output_tokens),
        at_caps: file.budget.unwrap_or(false),
    }
}

fn provider(choice: ProviderChoice, endpoint: Endpoint, key: &str, faults: &mut Faults) -> Provider {
    let usable = endpoint.api_key.is_some() || endpoint.base_url != DEFAULT_BASE_URL;
    match choice {
        ProviderChoice::Offline => Provider::Offline,
        ProviderChoice::Auto if !usable => Provider::Offline,
        ProviderChoice::Auto => Provider::OpenAi(endpoint),
        ProviderChoice::Openai => {
            if !usable {
                faults.push((key.to_owned(), ConfigFault::KeyNeeded));
            }
            Provider::OpenAi(endpoint)
        }
    }
}

/// The embedding model; none where it is left out, disabled, or its server is unknown.
pub(super) fn embeddings(file: Option<EmbeddingsFile>, main: &ModelSettings) -> Option<EmbeddingSettings> {
    let file = file.filter(|file| file.enabled)?;
    let shared = match &main.provider {
        Provider::OpenAi(endpoint) => Some(endpoint),
        Provider::Offline => None,
    };
    let own_server = file.base_url.is_some();
    let base_url =
        file.base_url.as_deref().map(address).or_else(|| shared.map(|one| one.base_url.clone()))?;
    let shared_key = shared.filter(|_| !own_server).and_then(|one| one.api_key.clone());
    Some(EmbeddingSettings {
        base_url,
        api_key: filled(file.api_key).or(shared_key),
        model: file.model,
        dimensions: file.dimensions,
    })
}

/// The enabled and the idle adapters.
#[derive(Debug)]
pub(super) struct Adapters {
    pub web: Option<WebSettings>,
    pub chats: Vec<AdapterSettings>,
    pub idle: Vec<IdleAdapter>,
}

/// Selects the adapters that run: those whose section exists, is enabled and has its credentials; else the console.
pub(super) fn adapters(
    web_file: WebFile,
    sections: Vec<AdapterSettings>,
    listen_chosen: bool,
    faults: &mut Faults,
) -> Adapters {
    let mut idle = Vec::new();
    let mut chats = Vec::new();
    for section in sections {
        match idle_reason(&*section.section) {
            Some(why) => idle.push(IdleAdapter { name: section.def.name, why }),
            None => chats.push(section),
        }
    }
    let web = if web_file.enabled || chats.is_empty() {
        web(web_file, listen_chosen, faults)
    } else {
        idle.push(IdleAdapter { name: "web", why: IdleReason::Disabled });
        None
    };
    Adapters { web, chats, idle }
}

/// Why an adapter does not run: disabled, or with missing keys.
fn idle_reason(section: &dyn ConfiguredAdapter) -> Option<IdleReason> {
    if !section.enabled() {
        return Some(IdleReason::Disabled);
    }
    let missing = section.missing();
    (!missing.is_empty()).then_some(IdleReason::NoCredentials(missing))
}

fn web(file: WebFile, listen_chosen: bool, faults: &mut Faults) -> Option<WebSettings> {
    // A disabled section is not expanded; when the console is served all the same, its values are used
    // only where they contain no variable.
    let plain = |text: &str| file.enabled || !text.contains("${");
    let listen = if plain(&file.listen) { file.listen.clone() } else { WebFile::default().listen };
    let token = filled(file.token).filter(|token| plain(token.expose_secret()));
    let allowed_hosts = file.allowed_hosts.iter().filter(|host| plain(host)).cloned().collect();
    let allowed_origins = file.allowed_origins.iter().filter(|origin| plain(origin)).cloned().collect();
    match formats::listen(&listen) {
        Ok(listen) => Some(WebSettings { listen, listen_chosen, token, allowed_hosts, allowed_origins }),
        Err(fault) => {
            faults.push(("adapters.web.listen".to_owned(), fault));
            None
        }
    }
}

/// The permissions of the tools.
pub(super) fn permissions(file: PermissionsFile) -> PermissionSettings {
    let ExecShellFile { mode, allow, deny, compound, sandbox, sockets, timeout_secs } = file.exec_shell;
    let timeout = Duration::from_secs(timeout_secs);
    let sockets = sockets.into_iter().map(PathBuf::from).collect();
    let tools = file.tools.into_iter().map(|(name, tool)| (name, tool.mode)).collect();
    let exec_shell = ExecShellSettings { mode, allow, deny, compound, sandbox, sockets, timeout };
    PermissionSettings { exec_shell, tools }
}

pub(super) fn approvals(file: ApprovalsFile, platforms: &[&str], faults: &mut Faults) -> ApprovalSettings {
    let mut approvers = Vec::new();
    for (i, text) in file.approvers.iter().enumerate() {
        match formats::approver(text, platforms) {
            Ok(approver) => approvers.push(approver),
            Err(fault) => faults.push((format!("approvals.approvers[{i}]"), fault)),
        }
    }
    let expire =
        Duration::try_from_secs_f64(file.expire_minutes * 60.0).unwrap_or(LONGEST).clamp(SHORTEST, LONGEST);
    ApprovalSettings { approvers, expire, while_waiting: file.while_waiting, read_replies: file.read_replies }
}

/// The person that each identity belongs to.
pub(super) fn identities(
    file: BTreeMap<String, Vec<String>>,
    platforms: &[&str],
    faults: &mut Faults,
) -> BTreeMap<AuthorId, PeerName> {
    let mut people: BTreeMap<AuthorId, PeerName> = BTreeMap::new();
    for (name, ids) in file {
        let path = format!("identities.{name}");
        let Ok(peer) = name.parse::<PeerName>() else {
            faults.push((path, ConfigFault::BadPeer(name.chars().take(80).collect())));
            continue;
        };
        for (i, text) in ids.iter().enumerate() {
            let path = format!("{path}[{i}]");
            match formats::author(text, platforms) {
                Ok(id) => match people.get(&id).filter(|other| **other != peer) {
                    Some(other) => {
                        let other = other.as_str().to_owned();
                        faults.push((path, ConfigFault::TwoPeers { found: text.clone(), other }));
                    }
                    None => {
                        people.insert(id, peer.clone());
                    }
                },
                Err(fault) => faults.push((path, fault)),
            }
        }
    }
    people
}

pub(super) fn filled(secret: Option<SecretString>) -> Option<SecretString> {
    secret.filter(|secret| !secret.expose_secret().trim().is_empty())
}

pub(super) fn address(text: &str) -> String {
    text.trim_end_matches('/').to_owned()
}
