//! QQ's entry in the adapter table: settings, construction, doctor probes and `init` questions.

use std::sync::Arc;

use super::adapter::QqAdapter;
use super::check::{QqFinding, check};
use super::options::QqEvents;
use super::phrases as words;
use super::section::QqSection;
use crate::adapters::chat::inbound::InboundOptions;
use crate::adapters::chat::probe;
use crate::domain::Language;
use crate::ports::{
    AdapterDef, AdapterParts, BoxFuture, BuiltAdapter, ConfiguredAdapter, InitKey, InitValue, Probe,
    ProbeParts, parse_section, section_schema,
};

pub const DEF: AdapterDef = AdapterDef {
    name: "qq",
    title: "QQ",
    about: "QQ, by a bot of yours.",
    schema: section_schema::<QqSection>,
    parse: parse_section::<QqSection>,
    init: &[
        InitKey { key: "appId", value: InitValue::Variable("QQ_APP_ID") },
        InitKey { key: "appSecret", value: InitValue::Variable("QQ_APP_SECRET") },
        InitKey { key: "allowedUsers", value: InitValue::Json("[]") },
    ],
    aliases: &[],
    address_key: "apiUrl",
    invitation: None,
};

impl ConfiguredAdapter for QqSection {
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
        self.mode == QqEvents::Webhook
    }

    fn build(&self, parts: AdapterParts) -> BuiltAdapter {
        let inbound = InboundOptions::new(&parts, &self.allowed_users, &self.allowed_chats, &self.groups);
        let options = self.options(inbound);
        let adapter = Arc::new(QqAdapter::new(parts.platform, options, parts.chat));
        let hook = self.by_webhook().then(|| adapter.hook());
        BuiltAdapter { adapter, hook }
    }

    fn probe(&self, with: ProbeParts) -> BoxFuture<'_, Vec<Probe>> {
        Box::pin(async move {
            let found = check(&self.options(InboundOptions::default()), with.http).await;
            found.into_iter().filter_map(|finding| self.tell(finding, with.language)).collect()
        })
    }
}

impl QqSection {
    fn tell(&self, finding: QqFinding, language: Language) -> Option<Probe> {
        Some(match finding {
            QqFinding::Bot { name } => probe::bot(&name, language),
            QqFinding::Gateway { sessions_left: Some(0) } if self.mode == QqEvents::Gateway => {
                probe::warning(words::no_sessions(language), words::no_sessions_fix(language))
            }
            QqFinding::Gateway { .. } => return None,
            QqFinding::BadCredentials { what } => probe::bad_credentials(&DEF, &what, language),
            QqFinding::AddressNotListed { what } => {
                let advice = words::address_not_listed_fix(language);
                probe::error(words::address_not_listed(&what, language), advice)
            }
            QqFinding::CallFailed { what } => probe::unreachable(&DEF, &what, language),
        })
    }
}
