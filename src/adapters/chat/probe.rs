//! The findings that the doctor probes of all platforms share, in the operator's language. Pure.

use crate::domain::Language;
use crate::ports::{AdapterDef, Probe, ProbeLevel};

/// The credentials are valid; the bot's name.
pub fn bot(name: &str, language: Language) -> Probe {
    let message = match language {
        Language::En => format!("the bot is {name}"),
        Language::Zh => format!("机器人是 {name}"),
    };
    Probe { level: ProbeLevel::Ok, message, advice: None }
}

/// The platform refused the credentials.
pub fn bad_credentials(def: &AdapterDef, detail: &str, language: Language) -> Probe {
    let keys: Vec<String> = def.credentials().map(|(key, _)| def.path(key)).collect();
    let keys = keys.join(", ");
    let (message, advice) = match language {
        Language::En => (
            format!("the credentials were refused: {detail}"),
            format!("check {keys} and the variables behind it"),
        ),
        Language::Zh => (format!("凭据被拒绝：{detail}"), format!("请检查 {keys} 及其变量")),
    };
    Probe { level: ProbeLevel::Error, message, advice: Some(advice) }
}

/// The platform could not be reached.
pub fn unreachable(def: &AdapterDef, detail: &str, language: Language) -> Probe {
    let message = match language {
        Language::En => format!("it cannot be asked: {detail}"),
        Language::Zh => format!("无法询问：{detail}"),
    };
    Probe { level: ProbeLevel::Error, message, advice: Some(check_network(def, language)) }
}

/// The platform did not respond within this time.
pub fn silent(def: &AdapterDef, seconds: u64, language: Language) -> Probe {
    let message = match language {
        Language::En => format!("it said nothing in {seconds} seconds"),
        Language::Zh => format!("在 {seconds} 秒内没有回答"),
    };
    Probe { level: ProbeLevel::Error, message, advice: Some(check_network(def, language)) }
}

fn check_network(def: &AdapterDef, language: Language) -> String {
    let key = def.path(def.address_key);
    match language {
        Language::En => format!("check the network, the proxy and {key}"),
        Language::Zh => format!("请检查网络、代理和 {key}"),
    }
}
