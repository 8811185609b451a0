//! Feishu's entry in the adapter table: settings, construction, doctor probes and `init` questions.

use std::sync::Arc;

use super::adapter::FeishuAdapter;
use super::doctor::{CheckStatus, CheckSubject, FeishuFinding, check};
use super::phrases as words;
use super::section::{EventMode, FeishuSection};
use crate::adapters::chat::inbound::InboundOptions;
use crate::adapters::chat::probe;
use crate::domain::Language;
use crate::ports::{
    AdapterDef, AdapterParts, BoxFuture, BuiltAdapter, ConfiguredAdapter, InitKey, InitValue, Probe,
    ProbeParts, parse_section, section_schema,
};

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

    fn hearing_bots(&self, language: Language) -> Option<&'static str> {
        Some(words::hearing_bots(language))
    }

    fn build(&self, parts: AdapterParts) -> BuiltAdapter {
        let inbound = InboundOptions::new(&parts, &self.allowed_users, &self.allowed_chats, &self.groups);
        let options = self.options(inbound);
        let adapter = Arc::new(FeishuAdapter::new(parts.platform, options, parts.chat));
        let hook = self.by_webhook().then(|| adapter.hook());
        BuiltAdapter { adapter, hook }
    }

    fn probe(&self, with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async move {
            let found = check(with.http, &self.options(InboundOptions::default())).await;
            found.into_iter().filter_map(|finding| tell(finding, with.language)).collect()
        })
    }
}

fn tell(finding: FeishuFinding, language: Language) -> Option<Probe> {
    let detail = finding.detail;
    Some(match (finding.about, finding.status) {
        (CheckSubject::Bot, CheckStatus::Good) => probe::bot(&detail, language),
        (CheckSubject::Bot, _) => {
            probe::warning(words::bot_off(&detail, language), words::bot_off_fix(language))
        }
        // The finding about the bot already shows that the rest works.
        (_, CheckStatus::Good) => return None,
        (CheckSubject::Credentials, _) => probe::bad_credentials(&DEF, &detail, language),
        (CheckSubject::Connection, _) => probe::unreachable(&DEF, &detail, language),
        (CheckSubject::Sending, _) => {
            let advice = words::add_scope("im:message:send_as_bot", language);
            probe::error(words::may_not_send(&detail, language), advice)
        }
        (CheckSubject::Growing, _) => {
            let advice = words::add_scope("cardkit:card:write", language);
            probe::warning(words::may_not_stream(&detail, language), advice)
        }
    })
}
