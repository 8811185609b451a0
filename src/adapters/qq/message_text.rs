//! Restores the text that a person typed: the platform encodes mentions and emoji as tags. Pure.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// Removes the tags that mention one of these ids.
pub(super) fn without_mentions(text: &str, ids: &[String]) -> String {
    let mut out = text.to_owned();
    for id in ids {
        for tag in [format!("<@!{id}>"), format!("<@{id}>")] {
            out = out.replace(&tag, "");
        }
    }
    out
}

/// Writes emoji out, and removes the space that a removed mention leaves.
pub(super) fn clean(text: &str) -> String {
    const TAG: &str = "<faceType=";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(TAG) {
        out.push_str(before);
        let Some((tag, after)) = from.split_once('>') else {
            out.push_str(TAG);
            rest = from;
            continue;
        };
        if let Some(name) = face(tag) {
            out.push_str(&format!("[{name}]"));
        }
        rest = after;
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// The name of an emoji, from the JSON in Base64 in its tag.
fn face(tag: &str) -> Option<String> {
    let (_, ext) = tag.split_once("ext=\"")?;
    let (ext, _) = ext.split_once('"')?;
    let json: Value = serde_json::from_slice(&BASE64_STANDARD.decode(ext).ok()?).ok()?;
    json.get("text")?.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_become_what_people_see() {
        let smile = r#"<faceType=1,faceId="13",ext="eyJ0ZXh0Ijoi5ZGy54mZIn0=">"#;
        for (raw, words) in [
            (" hello ".to_owned(), "hello"),
            (" /status ".to_owned(), "/status"),
            (format!("好{smile}的"), "好[呲牙]的"),
            (r#"<faceType=4,faceId="">x"#.to_owned(), "x"),
            ("a <faceType= b".to_owned(), "a <faceType= b"),
            ("1 < 2 > 0".to_owned(), "1 < 2 > 0"),
        ] {
            assert_eq!(clean(&raw), words, "{raw:?}");
        }
    }

    #[test]
    fn only_the_mentions_of_these_ids_go() {
        let ids = ["7".to_owned()];
        assert_eq!(without_mentions("<@!7> ask <@7><@!8>", &ids), " ask <@!8>");
        assert_eq!(without_mentions("<@!7>", &[]), "<@!7>");
    }

    proptest! {
        #[test]
        fn words_without_tags_are_not_touched(text in "[^<]{0,40}") {
            prop_assert_eq!(clean(&text), text.trim());
        }

        #[test]
        fn anything_can_be_read(text in "(<faceType=|ext=\"|\"|>|\\PC){0,20}") {
            clean(&text);
        }
    }
}
