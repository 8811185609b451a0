//! The findings that the doctor probes of all platforms share, in the operator's language. Pure.

use crate::domain::Language;
use crate::phrases::adapters as words;
use crate::ports::{AdapterDef, Probe, ProbeLevel};

/// The credentials are valid; the bot's name.
pub fn bot(name: &str, language: Language) -> Probe {
    Probe { level: ProbeLevel::Ok, message: words::probe_bot(name, language), advice: None }
}

/// The platform refused the credentials.
pub fn bad_credentials(def: &AdapterDef, detail: &str, language: Language) -> Probe {
    let keys: Vec<String> = def.credentials().map(|(key, _)| def.path(key)).collect();
    Probe {
        level: ProbeLevel::Error,
        message: words::probe_bad_credentials(detail, language),
        advice: Some(words::probe_bad_credentials_fix(&keys.join(", "), language)),
    }
}

/// The platform could not be reached.
pub fn unreachable(def: &AdapterDef, detail: &str, language: Language) -> Probe {
    let message = words::probe_unreachable(detail, language);
    Probe { level: ProbeLevel::Error, message, advice: Some(check_network(def, language)) }
}

/// The platform did not respond within this time.
pub fn silent(def: &AdapterDef, seconds: u64, language: Language) -> Probe {
    let message = words::probe_silent(seconds, language);
    Probe { level: ProbeLevel::Error, message, advice: Some(check_network(def, language)) }
}

fn check_network(def: &AdapterDef, language: Language) -> String {
    words::probe_check_network(&def.path(def.address_key), language)
}
