//! Feishu's entry in the adapter table: settings, construction, doctor probes and `init` questions.

use std::sync::Arc;

use super::adapter::FeishuAdapter;
use super::doctor::{About, CheckStatus, Finding, check};
use super::phrases as words;
use super::section::{EventMode, FeishuSection};
use crate::adapters::chat::inbound::InboundOptions;
use crate::adapters::chat::probe;
use crate::domain::Language;
use crate::ports::{
    AdapterDef, AdapterParts, BoxFuture, BuiltAdapter, ConfiguredAdapter, Hook, InitKey, InitValue, Probe,
    ProbeLevel, ProbeParts, parse_section, section_schema,
};

/// Feishu and Lark.
pub const DEF: AdapterDef = AdapterDef {
    name: "feishu",
    title: "Feishu or Lark",
    about: "Feishu or Lark, by an app of yours.",
    schema: section_schema::<FeishuSection>,
    parse: parse_section::<FeishuSection>,
    init: &[
        InitKey { key: "appId", value: InitValue::Variable("FEISHU_APP_ID") },
        InitKey { key: "appSecret", value: InitValue::Variable("FEISHU_APP_SECRET") },
        InitKey { key: "allowedUsers", value: InitValue::Json("[]") },
    ],
    aliases: &["lark"],
    address_key: "domain",
    invitation: None,
};

impl ConfiguredAdapter for FeishuSection {
    fn enabled(&self) -> bool {
        self.enabled
    }

    fn missing(&self) -> Vec<&'static str> {
        self.empty_keys()
    }

    fn server(&self) -> &str {
        self.base()
    }

    fn by_webhook(&self) -> bool {
        self.mode == EventMode::Webhook
    }

    fn build(&self, parts: AdapterParts) -> BuiltAdapter {
        let inbound = InboundOptions::new(&parts, &self.allowed_users, &self.allowed_chats, &self.groups);
        let options = self.options(inbound);
        let adapter = Arc::new(FeishuAdapter::new(parts.platform, options, parts.chat));
        let hook = self.by_webhook().then(|| -> Arc<dyn Hook> { adapter.clone() });
        BuiltAdapter { adapter, hook }
    }

    fn probe(&self, with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async move {
            let found = check(with.http, &self.options(InboundOptions::default())).await;
            found.into_iter().filter_map(|finding| tell(finding, with.language)).collect()
        })
    }
}

fn tell(finding: Finding, language: Language) -> Option<Probe> {
    let detail = finding.detail;
    Some(match (finding.about, finding.status) {
        (About::Bot, CheckStatus::Good) => probe::bot(&detail, language),
        (About::Bot, _) => bot_off(&detail, language),
        // The finding about the bot already shows that the rest works.
        (_, CheckStatus::Good) => return None,
        (About::Credentials, _) => probe::bad_credentials(&DEF, &detail, language),
        (About::Connection, _) => probe::unreachable(&DEF, &detail, language),
        (About::Sending, _) => may_not_send(&detail, language),
        (About::Growing, _) => may_not_stream(&detail, language),
    })
}

fn bot_off(name: &str, language: Language) -> Probe {
    let advice = Some(words::bot_off_fix(language).to_owned());
    Probe { level: ProbeLevel::Warning, message: words::bot_off(name, language), advice }
}

fn may_not_send(detail: &str, language: Language) -> Probe {
    let advice = Some(words::add_scope("im:message:send_as_bot", language));
    Probe { level: ProbeLevel::Error, message: words::may_not_send(detail, language), advice }
}

fn may_not_stream(detail: &str, language: Language) -> Probe {
    let advice = Some(words::add_scope("cardkit:card:write", language));
    Probe { level: ProbeLevel::Warning, message: words::may_not_stream(detail, language), advice }
}
