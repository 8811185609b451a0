//! Telegram's entry in the adapter table: settings, construction, doctor probes and `init` questions.

use std::sync::Arc;

use super::adapter::TelegramAdapter;
use super::check::{Finding, check};
use super::phrases as words;
use super::section::{TelegramMode, TelegramSection};
use crate::adapters::chat::{AllowList, Respond, probe};
use crate::domain::Language;
use crate::ports::{
    AdapterDef, AdapterParts, BoxFuture, BuiltAdapter, ConfiguredAdapter, InitKey, InitValue, Invited, Probe,
    ProbeLevel, ProbeParts, parse_section, section_schema,
};

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
        let guests = AllowList::new(&parts, &ids(&self.allowed_users), &ids(&self.allowed_chats));
        // A new secret at each start: `setWebhook` sends it to Telegram before the first call.
        let secret = parts.chat.ids.unguessable().into();
        let options = self.options(guests, parts.admins_decide, secret);
        let adapter =
            Arc::new(TelegramAdapter::new(parts.platform, options, parts.chat).counting(parts.metrics));
        BuiltAdapter { hook: adapter.hook(), adapter }
    }

    fn probe(&self, with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async move {
            let token = self.token().cloned().unwrap_or_default();
            let found = check(with.http, self.base(), &token).await;
            found.into_iter().filter_map(|finding| self.tell(finding, with.language)).collect()
        })
    }
}

impl TelegramSection {
    fn tell(&self, finding: Finding, language: Language) -> Option<Probe> {
        Some(match finding {
            Finding::Bot { name, hears_all: true } => probe::bot(&format!("@{name}"), language),
            Finding::Bot { name, hears_all: false } => {
                privacy_mode(&name, self.groups.respond == Respond::All, language)
            }
            // The settings ask for a webhook.
            Finding::Webhook if self.webhook().is_some() => return None,
            Finding::Webhook => foreign_webhook(language),
            Finding::BadToken { what } => probe::bad_credentials(&DEF, &what, language),
            Finding::Trouble { what } => probe::unreachable(&DEF, &what, language),
        })
    }
}

fn privacy_mode(name: &str, wants_all: bool, language: Language) -> Probe {
    let level = if wants_all { ProbeLevel::Warning } else { ProbeLevel::Ok };
    let advice = Some(words::privacy_mode_fix(language).to_owned());
    Probe { level, message: words::privacy_mode(name, language), advice }
}

fn foreign_webhook(language: Language) -> Probe {
    Probe {
        level: ProbeLevel::Warning,
        message: words::foreign_webhook(language).to_owned(),
        advice: Some(words::foreign_webhook_fix(language).to_owned()),
    }
}

fn invitation(code: &str, language: Language) -> Invited {
    Invited {
        bot: words::bot(language).to_owned(),
        message: format!("/start {code}"),
        link: format!("https://t.me/YOUR_BOT?start={code}"),
    }
}
