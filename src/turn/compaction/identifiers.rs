//! Names that must not be lost when a text is shortened: paths, numbers, and what stands in backticks.

/// How many of a text's identifiers are looked after.
const MOST: usize = 16;

/// The identifiers of a text, in their order, each once.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let quoted =
        text.split('`').skip(1).step_by(2).map(str::trim).filter(|name| !name.is_empty() && name.len() <= 80);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '-' | '@' | '#');
    let words =
        text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '/', ':', '-', '#', '@']));
    let named = words.filter(|word| {
        let inner_dot = word.contains('.') && word.chars().any(char::is_alphanumeric);
        word.chars().any(|c| c.is_ascii_digit()) || word.contains(['/', '_']) || inner_dot
    });
    for name in quoted.chain(named) {
        if found.len() < MOST && found.iter().all(|known| !known.contains(name)) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The identifiers of `text` that `shorter` lacks.
pub(super) fn lost(text: &str, shorter: &str) -> Vec<String> {
    identifiers(text).into_iter().filter(|name| !shorter.contains(name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_numbers_and_quoted_names_are_found_in_any_writing() {
        for (text, expected) in [
            ("please fix `cargo test` in src/main.rs, line 42.", vec!["cargo test", "src/main.rs", "42"]),
            ("请看src/store/mod.rs第42行，端口8080", vec!["src/store/mod.rs", "42", "8080"]),
            ("nothing here. Really.", vec![]),
            ("run gen_itgc on v1.2 and v1.2 again", vec!["gen_itgc", "v1.2"]),
        ] {
            assert_eq!(identifiers(text), expected, "{text}");
        }
        assert_eq!(lost("look at a/b and c/d", "c/d is done"), ["a/b"]);
    }
}
