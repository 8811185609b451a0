//! The chat platforms of a daemon, built from its settings: a new one is one function here and one line in
//! [`Chats::new`].

use std::sync::Arc;

use crate::adapters::chat::{AllowList, ChatParts, Deciders, Respond};
use crate::adapters::feishu::{FeishuAdapter, FeishuMode, FeishuOptions};
use crate::adapters::qq::{QqAdapter, QqEvents, QqOptions, Threading as QqThreading};
use crate::adapters::telegram::{
    Acknowledge, Strangers, TelegramAdapter, TelegramOptions, Threading, WebhookOptions,
};
use crate::config::{
    self, Approver, FeishuSettings, GroupRespond, GroupThreading, Pairing, QqMode, QqSettings, Settings,
    TelegramSettings,
};
use crate::domain::{AuthorId, Platform};
use crate::http_client::Http;
use crate::metrics::Metrics;
use crate::policy_setup::rights;
use crate::ports::{Adapter, Clock, Hook, Ids};
use crate::store::State;

/// What all chat platforms share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) state: State,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    /// The connections to servers.
    pub(crate) http: Http,
}

/// The chat platforms that are configured.
#[derive(Debug, Default)]
pub(crate) struct Chats {
    pub(crate) adapters: Vec<Arc<dyn Adapter>>,
    /// To be served by the web listener.
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
}

impl Chats {
    /// Builds them. Does no IO.
    pub(crate) fn new(shared: &Shared<'_>) -> Result<Self, reqwest::Error> {
        let mut chats = Self::default();
        let settings = shared.settings;
        if let (Some(own), Ok(platform)) = (&settings.telegram, "telegram".parse::<Platform>()) {
            let parts = shared.parts(&platform, &own.api_url)?;
            let options = telegram(own, &platform, settings, &*shared.ids);
            let adapter =
                Arc::new(TelegramAdapter::new(platform, options, parts).counting(shared.metrics.clone()));
            chats.hooks.extend(adapter.hook());
            chats.adapters.push(adapter);
        }
        if let (Some(own), Ok(platform)) = (&settings.feishu, "feishu".parse::<Platform>()) {
            let parts = shared.parts(&platform, &own.domain)?;
            let adapter =
                Arc::new(FeishuAdapter::new(platform.clone(), feishu(own, &platform, settings), parts));
            if own.mode == config::FeishuMode::Webhook {
                chats.hooks.push(adapter.clone());
            }
            chats.adapters.push(adapter);
        }
        if let (Some(own), Ok(platform)) = (&settings.qq, "qq".parse::<Platform>()) {
            let parts = shared.parts(&platform, &own.api_url)?;
            let adapter = Arc::new(QqAdapter::new(platform.clone(), qq(own, &platform, settings), parts));
            if own.mode == QqMode::Webhook {
                chats.hooks.push(adapter.clone());
            }
            chats.adapters.push(adapter);
        }
        Ok(chats)
    }
}

impl Shared<'_> {
    /// What the adapter of a platform whose server is at this address is given.
    fn parts(&self, platform: &Platform, server: &str) -> Result<ChatParts, reqwest::Error> {
        let rights = rights(self.settings);
        Ok(ChatParts {
            approvals: self.state.approvals.clone(),
            access: self.state.access.clone(),
            deciders: Deciders::new(move |led, by, role| rights.may_answer(led, by, role)),
            notes: self.state.notes.shelf(platform.as_str()),
            http: self.http.client(server)?,
            files: self.settings.state.join("files"),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            language: self.settings.language,
        })
    }
}

/// Whom the settings name on one platform.
fn guests(settings: &Settings, platform: &Platform, people: &[String], chats: &[String]) -> AllowList {
    let deciders = settings.approvals.approvers.iter().filter_map(|approver| match approver {
        Approver::Person(person) => Some(person.clone()),
        Approver::Requester | Approver::Owners | Approver::Admins => None,
    });
    AllowList {
        deciders: deciders.filter(|person| person.platform() == *platform).collect(),
        owners: settings.owners.iter().filter(|owner| owner.platform() == *platform).cloned().collect(),
        people: people.iter().filter_map(|id| AuthorId::new(platform, id).ok()).collect(),
        chats: chats.to_vec(),
    }
}

fn admins_decide(settings: &Settings) -> bool {
    settings.approvals.approvers.contains(&Approver::Admins)
}

const fn respond(respond: GroupRespond) -> Respond {
    match respond {
        GroupRespond::Mention => Respond::Mention,
        GroupRespond::All => Respond::All,
    }
}

/// The options of the Feishu adapter, as the settings have them.
pub(crate) fn feishu(own: &FeishuSettings, platform: &Platform, settings: &Settings) -> FeishuOptions {
    FeishuOptions {
        app_id: own.app_id.clone(),
        app_secret: own.app_secret.clone(),
        domain: own.domain.clone(),
        mode: match own.mode {
            config::FeishuMode::Websocket => FeishuMode::Websocket,
            config::FeishuMode::Webhook => FeishuMode::Webhook {
                encrypt_key: own.encrypt_key.clone(),
                verification_token: own.verification_token.clone(),
            },
        },
        guests: guests(settings, platform, &own.allowed_users, &own.allowed_chats),
        respond: respond(own.groups.respond),
        per_user: own.groups.threading == GroupThreading::PerUser,
        followup: own.groups.followup,
        admins_decide: admins_decide(settings),
    }
}

/// The options of the QQ adapter, as the settings have them.
pub(crate) fn qq(own: &QqSettings, platform: &Platform, settings: &Settings) -> QqOptions {
    QqOptions {
        app_id: own.app_id.clone(),
        app_secret: own.app_secret.clone(),
        api_url: own.api_url.clone(),
        token_url: own.token_url.clone(),
        sandbox: own.sandbox,
        events: match own.mode {
            QqMode::Websocket => QqEvents::Gateway,
            QqMode::Webhook => QqEvents::Webhook,
        },
        markdown: own.markdown,
        guests: guests(settings, platform, &own.allowed_users, &own.allowed_chats),
        respond: respond(own.groups.respond),
        followup: own.groups.followup,
        admins_decide: admins_decide(settings),
        threading: match own.groups.threading {
            GroupThreading::Shared => QqThreading::Shared,
            GroupThreading::PerUser => QqThreading::PerUser,
        },
    }
}

fn telegram(
    own: &TelegramSettings,
    platform: &Platform,
    settings: &Settings,
    ids: &dyn Ids,
) -> TelegramOptions {
    let texts = |numbers: &[i64]| -> Vec<String> { numbers.iter().map(i64::to_string).collect() };
    TelegramOptions {
        token: own.bot_token.clone(),
        api_url: own.api_url.clone(),
        guests: guests(settings, platform, &texts(&own.allowed_users), &texts(&own.allowed_chats)),
        respond: respond(own.groups.respond),
        followup: own.groups.followup,
        threading: match own.groups.threading {
            GroupThreading::Shared => Threading::Shared,
            GroupThreading::PerUser => Threading::PerUser,
        },
        // A new secret at each start: Telegram is told of it before it calls.
        webhook: own.webhook_url.clone().map(|url| WebhookOptions { url, secret: ids.unguessable().into() }),
        acknowledge: if own.acknowledge { Acknowledge::Eyes } else { Acknowledge::Nothing },
        strangers: match own.pairing {
            Pairing::Code => Strangers::Code,
            Pairing::Silent => Strangers::Silence,
        },
        admins_decide: admins_decide(settings),
    }
}
