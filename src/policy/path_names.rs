//! Which file names contain secrets, belong to the daemon, or start programs. Names are compared folded: case,
//! full-width letters, invisible characters, white space around the name and trailing dots make no difference. The
//! lists are in `path_lists`.

use super::path_lists::{
    COPY_ENDINGS, GIT_SECRETS, SECRET_BEGINNINGS, SECRET_ENDINGS, SECRET_NAMES, SENSITIVE_BEGINNINGS,
    SENSITIVE_ENDINGS, SENSITIVE_FOLDERS, SENSITIVE_NAMES, SENSITIVE_PAIRS,
};
pub(super) use super::path_lists::{DATA_ENDINGS, SECRET_WORDS};

/// The daemon's own state and settings, and environment files: no tool may access them.
pub fn is_reserved_name(name: &str) -> bool {
    let name = folded(name);
    match name.as_str() {
        ".ship" | "ship.json" => true,
        ".env.example" => false,
        other => other
            .strip_prefix(".env")
            .is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric())),
    }
}

/// A file or folder whose content is not shown without approval, reserved ones included.
pub fn is_secret_name(name: &str) -> bool {
    if is_reserved_name(name) {
        return true;
    }
    let folded = folded(name);
    if folded.ends_with(".example") || folded.ends_with(".sample") {
        return false;
    }
    let original = without_copy_endings(&folded);
    let key_without_ending = original.starts_with("id_") && !original.contains('.');
    let history = original.starts_with('.') && original.ends_with("_history");
    key_without_ending
        || history
        || SECRET_NAMES.contains(&original)
        || SECRET_BEGINNINGS.iter().any(|start| original.starts_with(start))
        || SECRET_ENDINGS.iter().any(|end| original.ends_with(end))
        || original
            .strip_prefix(".env")
            .is_some_and(|rest| rest.starts_with(|c: char| c == 's' || c.is_ascii_digit()))
        || (DATA_ENDINGS.iter().any(|end| original.ends_with(end))
            && SECRET_WORDS.iter().any(|word| glob(&format!("*{word}*"), original)))
}

/// Whether a name alone makes everything at and below it able to start programs or instruct an agent.
pub(super) fn is_sensitive_name(name: &str) -> bool {
    let name = folded(name);
    SENSITIVE_FOLDERS.contains(&name.as_str())
        || SENSITIVE_NAMES.contains(&name.as_str())
        || SENSITIVE_ENDINGS.iter().any(|end| name.ends_with(end))
        || SENSITIVE_BEGINNINGS.iter().any(|start| name.starts_with(start))
        || SENSITIVE_PAIRS.iter().any(|(start, end)| name.starts_with(start) && name.ends_with(end))
}

/// Longest pattern that is compared.
const LONGEST_PATTERN: usize = 64;

/// Whether a pattern of the shell that begins with a known letter may match one of these names.
pub(super) fn may_match_protected(pattern: &str) -> bool {
    // Repeated stars are one; no name is so long that a longer pattern is worth comparing.
    let mut last = ' ';
    let mut pattern = folded(pattern);
    pattern.retain(|c| !(std::mem::replace(&mut last, c) == '*' && c == '*'));
    if !pattern.contains(['*', '?', '[', '{']) || pattern.len() > LONGEST_PATTERN {
        return false;
    }
    let lists = [SECRET_NAMES, SECRET_BEGINNINGS, SENSITIVE_FOLDERS, SENSITIVE_NAMES, &[".env", ".ship"]];
    alternatives(&pattern)
        .iter()
        .filter(|pattern| !pattern.starts_with(['*', '?', '[', '{']))
        .any(|pattern| lists.iter().flat_map(|list| list.iter()).any(|name| glob(pattern, name)))
}

/// The texts of a list in braces: `{a,b}.md` is `a.md` and `b.md`. Of several lists the first is expanded.
fn alternatives(pattern: &str) -> Vec<String> {
    let list = pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match list {
        Some((before, (inner, after))) => {
            inner.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        None => vec![pattern.to_owned()],
    }
}

/// Whether a pattern matches a name; a set or a list counts as any text.
fn glob(pattern: &str, name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    // `reached[n]`: the pattern so far matches the first n letters.
    let mut reached = vec![false; letters.len() + 1];
    reached.first_mut().into_iter().for_each(|start| *start = true);
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        let any = matches!(sign, '*' | '[' | '{');
        let end = if sign == '[' { ']' } else { '}' };
        if any && sign != '*' {
            signs.by_ref().find(|c| *c == end);
        }
        let mut before = false;
        for (at, place) in reached.iter_mut().enumerate() {
            let was = *place;
            let same =
                at.checked_sub(1).and_then(|at| letters.get(at)).is_some_and(|c| sign == '?' || *c == sign);
            *place = if any { was || before } else { before && same };
            before = if any { *place } else { was };
        }
    }
    reached.last().is_some_and(|end| *end)
}

/// Whether a path leads to a file of a git repository that may contain credentials.
pub(super) fn is_git_secret<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut in_git = false;
    let mut last = String::new();
    for name in names {
        in_git |= last == ".git" || last.ends_with(".git");
        last = folded(name);
    }
    in_git && GIT_SECRETS.contains(&without_copy_endings(&last))
}

/// The name without suffixes of copies: `server.key.bak` is `server.key`.
fn without_copy_endings(name: &str) -> &str {
    let mut name = name;
    while let Some(shorter) =
        COPY_ENDINGS.iter().find_map(|end| name.strip_suffix(end)).filter(|shorter| !shorter.is_empty())
    {
        name = shorter;
    }
    name
}

/// The name as a file system that folds case, width or invisible characters would read it.
pub(super) fn folded(name: &str) -> String {
    let visible = name.chars().filter(|c| !c.is_control() && !super::shell::is_invisible(*c)).map(narrow);
    let lower = visible.collect::<String>().to_uppercase().to_lowercase();
    lower.trim().trim_end_matches(|c: char| c == '.' || c.is_whitespace()).to_owned()
}

/// The ASCII character of a full-width or look-alike form.
fn narrow(c: char) -> char {
    match u32::from(c) {
        wide @ 0xFF01..=0xFF5E => char::from_u32(wide - 0xFEE0).unwrap_or(c),
        // Leaders, small and ideographic full stops.
        0x2024 | 0xFE52 | 0xFF61 => '.',
        // Hyphens, dashes and the small low line.
        0x2010..=0x2015 | 0x2212 | 0xFE58 | 0xFE63 => '-',
        0xFE4D..=0xFE4F => '_',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_folded_as_the_most_tolerant_file_system_would() {
        for spelled in [
            ".env",
            ".ENV",
            ".Env.",
            " .env",
            ".env\u{a0}",
            "\u{3000}.env\n",
            ".e\u{200b}nv",
            "\u{feff}.env",
            "．ｅｎｖ",
            ".env . .",
        ] {
            assert_eq!(folded(spelled), ".env", "{spelled:?}");
            assert!(is_reserved_name(spelled), "{spelled:?}");
        }
        assert_eq!(folded(".\u{17f}hip"), ".ship");
        assert_eq!(folded("..."), "");
    }

    #[test]
    fn a_pattern_is_compared_with_the_names_it_may_match() {
        for pattern in [
            ".gi*",
            ".g?t",
            ".git[h]ub",
            "A*.md",
            "Agent.m?",
            ".e*",
            "id_*",
            ".{git,x}hub",
            "cred*",
            ".g**b",
            "{Agent,x}.md",
        ] {
            assert!(may_match_protected(pattern), "{pattern}");
        }
        for pattern in ["*.md", "src*", "a?c", "*", "Cargo.*", "[ab]", "Agent.md", "{a,b}.rs"] {
            assert!(!may_match_protected(pattern), "{pattern}");
        }
    }

    #[test]
    fn secrets_are_known_by_name_and_so_are_their_copies() {
        for name in [
            "id_rsa",
            "id_rsa.pub",
            "id_work",
            "ID_ED25519.bak",
            "server.key",
            "server.key.old",
            "tls.pem~",
            "putty.ppk",
            "prod.env",
            ".npmrc",
            ".bash_history",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "ship.json.bak",
            ".env-prod",
            ".env_old",
            ".env1",
            ".envs",
            ".secrets",
            ".vault_pass",
            "local.settings.json",
            "serviceAccountKey.json",
            "application_default_credentials.json",
            "app-firebase-adminsdk-x.json",
            "api_keys.txt",
            "prod.secrets.yaml",
            "credentials.toml",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "id_map.rs",
            "identity.rs",
            ".env.example",
            "ship.json.example",
            ".environment",
            "keyboard.rs",
            "history.rs",
            "chat_history.rs",
            "main.rs",
            "pem.rs",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
