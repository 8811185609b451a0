//! Finds secrets that are written into `ship.json` instead of a variable. Pure.

/// Placeholders for keys that a server does not check, or that still have to be filled in.
const PLACEHOLDERS: &[&str] = &[
    "none",
    "null",
    "empty",
    "local",
    "ollama",
    "lm-studio",
    "no-key",
    "not-needed",
    "sk-no-key-required",
    "dummy",
    "test",
    "todo",
    "token",
    "secret",
    "password",
];

/// Parts of placeholders.
const PLACEHOLDER_PARTS: &[&str] =
    &["your", "change", "example", "placeholder", "xxx", "...", "…", "<", "***"];

/// Whether the text of a secret key is the secret itself. A default in `${NAME:-text}` is one as well;
/// `used` says whether a variable's value is part of it.
pub(super) fn is_literal_secret(text: &str, used: bool) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let placeholder = text.is_empty()
        || PLACEHOLDERS.contains(&text.as_str())
        || PLACEHOLDER_PARTS.iter().any(|part| text.contains(part));
    !used && !placeholder
}

/// A variable name for the key at a path: `TELEGRAM_BOT_TOKEN` for `adapters.telegram.botToken`.
pub(super) fn variable_for(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').filter(|part| *part != "adapters").collect();
    let mut name = String::new();
    for part in parts {
        if !name.is_empty() {
            name.push('_');
        }
        let mut lower = false;
        for letter in part.chars() {
            if letter.is_ascii_uppercase() && lower {
                name.push('_');
            }
            lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
            match letter {
                letter if letter.is_ascii_alphanumeric() => name.push(letter.to_ascii_uppercase()),
                ']' => {}
                _ => name.push('_'),
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_told_from_a_variable_and_from_a_placeholder() {
        for (text, used, literal) in [
            ("sk-4f9a8b7c6d5e", false, true),
            ("hunter2", false, true),
            ("110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", false, true),
            ("sk-4f9a8b7c6d5e", true, false),
            ("", false, false),
            ("  ", false, false),
            ("ollama", false, false),
            ("<bot token>", false, false),
            ("your-api-key", false, false),
            ("CHANGE_ME", false, false),
            ("sk-...", false, false),
            ("xxxxxxxx", false, false),
        ] {
            assert_eq!(is_literal_secret(text, used), literal, "{text:?}");
        }
    }

    #[test]
    fn a_variable_is_named_after_its_key() {
        for (path, name) in [
            ("adapters.telegram.botToken", "TELEGRAM_BOT_TOKEN"),
            ("adapters.feishu.appSecret", "FEISHU_APP_SECRET"),
            ("adapters.web.token", "WEB_TOKEN"),
            ("llm.apiKey", "LLM_API_KEY"),
            ("llm.fallbacks[0].apiKey", "LLM_FALLBACKS_0_API_KEY"),
        ] {
            assert_eq!(variable_for(path), name);
        }
    }
}
