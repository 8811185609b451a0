//! Telegram's entry in the adapter table: settings, construction, doctor probes and `init` questions.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::adapter::TelegramAdapter;
use super::api::{ApiError, BotApi};
use super::phrases as words;
use super::section::{TelegramMode, TelegramSection};
use super::wire::Me;
use crate::adapters::chat::inbound::InboundOptions;
use crate::adapters::chat::{Respond, probe};
use crate::domain::Language;
use crate::ports::{
    AdapterDef, AdapterParts, BoxFuture, BuiltAdapter, ConfiguredAdapter, InitKey, InitValue, Invited, Probe,
    ProbeLevel, ProbeParts, parse_section, section_schema,
};

/// Deadline of one call of a probe.
const PROBE_WITHIN: Duration = Duration::from_secs(15);

pub const DEF: AdapterDef = AdapterDef {
    name: "telegram",
    title: "Telegram",
    about: "Telegram, by a bot of yours.",
    schema: section_schema::<TelegramSection>,
    parse: parse_section::<TelegramSection>,
    init: &[
        InitKey { key: "botToken", value: InitValue::Variable("TELEGRAM_BOT_TOKEN") },
        InitKey { key: "allowedUsers", value: InitValue::Json("[]") },
    ],
    aliases: &[],
    address_key: "apiUrl",
    invitation: Some(invitation),
};

#[derive(Deserialize)]
struct WebhookInfo {
    #[serde(default)]
    url: String,
}

impl ConfiguredAdapter for TelegramSection {
    fn enabled(&self) -> bool {
        self.enabled
    }

    fn missing(&self) -> Vec<&'static str> {
        let reachable = self.mode == TelegramMode::Polling || self.webhook().is_some();
        let needed = [("botToken", self.token().is_some()), ("webhookUrl", reachable)];
        needed.into_iter().filter(|(_, there)| !there).map(|(key, _)| key).collect()
    }

    fn server(&self) -> &str {
        self.base()
    }

    fn by_webhook(&self) -> bool {
        self.webhook().is_some()
    }

    fn build(&self, parts: AdapterParts) -> BuiltAdapter {
        let ids = |numbers: &[i64]| -> Vec<String> { numbers.iter().map(i64::to_string).collect() };
        let (people, chats) = (ids(&self.allowed_users), ids(&self.allowed_chats));
        let inbound = InboundOptions::new(&parts, &people, &chats, &self.groups);
        // A new secret at each start: `setWebhook` sends it to Telegram before the first call.
        let options = self.options(inbound, parts.chat.ids.unguessable().into());
        let adapter = Arc::new(TelegramAdapter::new(parts.platform, options, parts.chat));
        BuiltAdapter { hook: adapter.hook(), adapter }
    }

    fn hearing_bots(&self, language: Language) -> Option<&'static str> {
        Some(words::hearing_bots(language))
    }

    /// Who the bot of this token is, and whether another program has set a webhook. Sends no message.
    fn probe(&self, with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        let language = with.language;
        Box::pin(async move {
            let api = BotApi::new(with.http, self.base(), self.token().cloned().unwrap_or_default());
            let me: Me = match api.ask("getMe", &json!({}), PROBE_WITHIN).await {
                Ok(me) => me,
                Err(error) => return vec![refused(&error, language)],
            };
            let name = format!("@{}", me.username);
            let known =
                if me.hears_all { probe::bot(&name, language) } else { self.privacy_mode(&me, language) };
            let mut probes = vec![known];
            // The bot is already identified; a server without this call is no error.
            let hook = api.ask::<WebhookInfo>("getWebhookInfo", &json!({}), PROBE_WITHIN).await;
            if self.webhook().is_none() && hook.is_ok_and(|hook| !hook.url.is_empty()) {
                let advice = words::foreign_webhook_fix(language);
                probes.push(probe::warning(words::foreign_webhook(language), advice));
            }
            probes
        })
    }
}

impl TelegramSection {
    /// The bot receives few group messages, which matters where it is to answer all.
    fn privacy_mode(&self, me: &Me, language: Language) -> Probe {
        let advice = words::privacy_mode_fix(language);
        let probe = probe::warning(words::privacy_mode(&me.username, language), advice);
        let wants_all = self.groups.respond != Respond::Mention;
        Probe { level: if wants_all { probe.level } else { ProbeLevel::Ok }, ..probe }
    }
}

/// For a malformed token the server answers 404.
fn refused(error: &ApiError, language: Language) -> Probe {
    let what = error.to_string();
    match error.refusal() {
        Some((401 | 403 | 404, _)) => probe::bad_credentials(&DEF, &what, language),
        _ => probe::unreachable(&DEF, &what, language),
    }
}

fn invitation(code: &str, language: Language) -> Invited {
    Invited {
        bot: words::bot(language).to_owned(),
        message: format!("/start {code}"),
        link: format!("https://t.me/YOUR_BOT?start={code}"),
    }
}
