//! Spelling suggestions. Pure.

/// The candidate nearest to a word, if one is near enough.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    let far = plain.chars().count().div_ceil(3).min(3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&plain, &self::plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A word without case, dashes and underscores.
fn plain(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_word_is_offered() {
        let keys = ["baseUrl", "apiKey", "model", "maxSteps"];
        for (word, expected) in [
            ("base_url", Some("baseUrl")),
            ("baseURL", Some("baseUrl")),
            ("api-key", Some("apiKey")),
            ("modle", Some("model")),
            ("maxStep", Some("maxSteps")),
            ("steps", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys), expected, "{word:?}");
        }
    }
}
