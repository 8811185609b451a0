//! The providers of models that the onboarding offers. A further one is one line here and its title in the phrases.

use crate::config::file::DEFAULT_BASE_URL;
use crate::domain::Language;
use crate::phrases::onboarding as words;

/// A provider of models with an OpenAI-compatible server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProviderDef {
    pub(crate) id: &'static str,
    /// Empty where the person gives it.
    pub(crate) base_url: &'static str,
    pub(crate) key_variable: &'static str,
    /// The proposed model; empty where there is none.
    pub(crate) model: &'static str,
    pub(crate) needs_key: bool,
    /// The page on which a key is made; empty where none is needed.
    pub(crate) keys_at: &'static str,
}

/// The id of a server that the table does not know.
pub(crate) const OTHER: &str = "other";

pub(crate) const PROVIDERS: [ProviderDef; 7] = [
    ProviderDef {
        id: "openai",
        base_url: DEFAULT_BASE_URL,
        key_variable: "OPENAI_API_KEY",
        model: "gpt-6-luna",
        needs_key: true,
        keys_at: "https://platform.openai.com/api-keys",
    },
    ProviderDef {
        id: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        key_variable: "DEEPSEEK_API_KEY",
        model: "deepseek-flash",
        needs_key: true,
        keys_at: "https://platform.deepseek.com/api_keys",
    },
    ProviderDef {
        id: "qwen",
        base_url: "https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable: "DASHSCOPE_API_KEY",
        model: "qwen-plus",
        needs_key: true,
        keys_at: "https://help.aliyun.com/zh/model-studio/get-api-key",
    },
    ProviderDef {
        id: "moonshot",
        base_url: "https://api.moonshot.cn/v1",
        key_variable: "MOONSHOT_API_KEY",
        model: "kimi-k2.6",
        needs_key: true,
        keys_at: "https://platform.moonshot.cn/console/api-keys",
    },
    ProviderDef {
        id: "glm",
        base_url: "https://open.bigmodel.cn/api/paas/v4",
        key_variable: "ZHIPUAI_API_KEY",
        model: "glm-4.6",
        needs_key: true,
        keys_at: "https://bigmodel.cn/usercenter/proj-mgmt/apikeys",
    },
    ProviderDef {
        id: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        key_variable: "OLLAMA_API_KEY",
        model: "qwen3",
        needs_key: false,
        keys_at: "",
    },
    OTHER_PROVIDER,
];

/// A server that is not in the table.
const OTHER_PROVIDER: ProviderDef = ProviderDef {
    id: OTHER,
    base_url: "",
    key_variable: "LLM_API_KEY",
    model: "",
    needs_key: false,
    keys_at: "",
};

/// The provider at this address; the one of unknown servers where none is known.
pub(crate) fn provider_at(base_url: &str) -> &'static ProviderDef {
    let wanted = base_url.trim().trim_end_matches('/');
    PROVIDERS.iter().find(|def| def.base_url == wanted).unwrap_or(&OTHER_PROVIDER)
}

/// The provider of this id.
pub(crate) fn provider(id: &str) -> Option<&'static ProviderDef> {
    PROVIDERS.iter().find(|known| known.id == id)
}

impl ProviderDef {
    pub(crate) fn title(&self, language: Language) -> &'static str {
        words::provider(self.id, language).unwrap_or(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{is_variable_name, is_web_address};
    use crate::usage::{default_price, host_of, is_local};

    #[test]
    fn every_provider_is_complete() {
        for def in PROVIDERS {
            assert!(words::provider(def.id, Language::En).is_some(), "{} has no title", def.id);
            assert!(is_variable_name(def.key_variable), "{}", def.id);
            assert_eq!(def.base_url.is_empty(), def.id == OTHER);
            assert!(def.base_url.is_empty() || is_web_address(def.base_url), "{}", def.id);
            assert_eq!(def.needs_key, is_web_address(def.keys_at), "{}: where its key is made", def.id);
            assert_eq!(provider(def.id), Some(&def));
        }
    }

    #[test]
    fn the_proposed_model_of_every_provider_has_a_price_or_is_local() {
        for def in PROVIDERS.iter().filter(|def| !def.model.is_empty()) {
            let known = default_price(def.model).is_some_and(|price| price.input > 0 && price.output > 0);
            assert!(known || is_local(&host_of(def.base_url)), "{}: {}", def.id, def.model);
        }
    }
}
