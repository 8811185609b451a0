//! The findings that the doctor probes of all platforms share, in the operator's language. Pure.

use crate::domain::Language;
use crate::phrases::adapters as words;
use crate::ports::{AdapterDef, Probe, ProbeLevel};

/// The credentials are valid; the bot's name.
pub fn bot(name: &str, language: Language) -> Probe {
    Probe { level: ProbeLevel::Ok, message: words::probe_bot(name, language), advice: None }
}

/// A part that does not work.
pub fn error(message: impl Into<String>, advice: impl Into<String>) -> Probe {
    Probe { level: ProbeLevel::Error, message: message.into(), advice: Some(advice.into()) }
}

/// Works, with a part missing.
pub fn warning(message: impl Into<String>, advice: impl Into<String>) -> Probe {
    Probe { level: ProbeLevel::Warning, ..error(message, advice) }
}

/// The platform refused the credentials.
pub fn bad_credentials(def: &AdapterDef, detail: &str, language: Language) -> Probe {
    let keys: Vec<String> = def.credentials().map(|(key, _)| def.path(key)).collect();
    let advice = words::probe_bad_credentials_fix(&keys.join(", "), language);
    error(words::probe_bad_credentials(detail, language), advice)
}

/// The platform could not be reached.
pub fn unreachable(def: &AdapterDef, detail: &str, language: Language) -> Probe {
    error(words::probe_unreachable(detail, language), check_network(def, language))
}

/// The platform did not respond within this time.
pub fn silent(def: &AdapterDef, seconds: u64, language: Language) -> Probe {
    error(words::probe_silent(seconds, language), check_network(def, language))
}

fn check_network(def: &AdapterDef, language: Language) -> String {
    words::probe_check_network(&def.path(def.address_key), language)
}
