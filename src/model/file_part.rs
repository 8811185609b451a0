//! Converts a person's file to a content item for the model. Pure.
//!
//! The content is known only for a `data:` URL. A type that no model reads is described in one line; its content never
//! enters the prompt.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use crate::uimessage::file_note;

/// Most bytes of a text file in the prompt.
const MAX_TEXT: usize = 256 * 1024;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The item for a file of this type at this URL.
pub(crate) fn item(media_type: &str, url: &str, name: Option<&str>) -> Value {
    let Some(data) = url.strip_prefix("data:") else {
        return text(file_note(media_type, url, name));
    };
    let shown_name = name.unwrap_or("unnamed");
    let Some(bytes) = decode(data) else {
        return text(format!("[file: {shown_name} ({media_type}), unreadable]"));
    };
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "application/pdf" => json!({ "type": "file", "file": {
            "filename": name.unwrap_or("document.pdf"),
            "file_data": format!("data:application/pdf;base64,{}", BASE64.encode(bytes)),
        }}),
        "audio/wav" => audio("wav", &bytes),
        "audio/mp3" | "audio/mpeg" => audio("mp3", &bytes),
        kind if kind.starts_with("text/") => text(clipped(&String::from_utf8_lossy(&bytes))),
        _ => text(format!("[file: {shown_name} ({media_type}), {} bytes]", bytes.len())),
    }
}

fn text(text: String) -> Value {
    json!({ "type": "text", "text": text })
}

fn audio(format: &str, bytes: &[u8]) -> Value {
    json!({ "type": "input_audio", "input_audio": { "data": BASE64.encode(bytes), "format": format } })
}

/// The content of a `data:` URL, given the part after the scheme.
fn decode(data: &str) -> Option<Vec<u8>> {
    let (head, payload) = data.split_once(',')?;
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(payload).collect();
    let encoded = head.rsplit_once(';').is_some_and(|(_, last)| last.trim().eq_ignore_ascii_case("base64"));
    if !encoded {
        return Some(bytes);
    }
    let letters: Vec<u8> = bytes.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(letters).ok()
}

/// The beginning of a text that is too long, and a note that there is more.
fn clipped(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    match text.split_at_checked(end) {
        Some((head, rest)) if !rest.is_empty() => {
            format!("{head}\n[clipped: the file goes on for {} bytes]", rest.len())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_given_in_the_way_models_read_its_type() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let pdf = |name: &str| {
            json!({"type": "file", "file":
                {"filename": name, "file_data": "data:application/pdf;base64,JVBERg=="}})
        };
        let audio =
            |format: &str| json!({"type": "input_audio", "input_audio": {"data": "AAEC", "format": format}});
        for (media_type, url, name, expected) in [
            ("text/plain", "data:text/plain;base64,5aW9IQ==", None, text("好!")),
            ("text/plain", "data:text/plain;charset=utf-8;base64,5aW9IQ", None, text("好!")),
            ("text/csv", "data:text/csv,a%2Cb%0A%E5%A5%BD", Some("a.csv"), text("a,b\n好")),
            ("TEXT/Markdown; x=y", "data:,%23%20hi", None, text("# hi")),
            ("text/plain", "data:text/plain;base64,YQBi/w==", None, text("a\0b\u{FFFD}")),
            (
                "text/plain",
                "data:text/plain;base64,***",
                Some("a"),
                text("[file: a (text/plain), unreadable]"),
            ),
            ("text/plain", "data:nothing", None, text("[file: unnamed (text/plain), unreadable]")),
            ("application/pdf", "data:application/pdf;base64,JVBERg==", Some("a.pdf"), pdf("a.pdf")),
            ("application/pdf", "data:application/pdf,%25PDF", None, pdf("document.pdf")),
            ("audio/wav", "data:audio/wav;base64,AAEC", None, audio("wav")),
            ("audio/mp3", "data:audio/mp3;base64,AAEC", None, audio("mp3")),
            ("audio/mpeg", "data:audio/mpeg;base64,AAEC", None, audio("mp3")),
            (
                "audio/ogg",
                "data:audio/ogg;base64,AAEC",
                Some("v.ogg"),
                text("[file: v.ogg (audio/ogg), 3 bytes]"),
            ),
            (
                "application/zip",
                "data:application/zip;base64,AAEC",
                None,
                text("[file: unnamed (application/zip), 3 bytes]"),
            ),
            (
                "application/pdf",
                "files/a.pdf",
                Some("a.pdf"),
                text("[file: a.pdf (application/pdf) at files/a.pdf]"),
            ),
        ] {
            assert_eq!(item(media_type, url, name), expected, "{url}");
        }
    }

    #[test]
    fn a_long_text_is_clipped_and_says_so() {
        let shown = |length: usize| {
            let item = item("text/plain", &format!("data:,{}", "好".repeat(length)), None);
            item["text"].as_str().unwrap().to_owned()
        };
        assert_eq!(shown(MAX_TEXT / 3), "好".repeat(MAX_TEXT / 3));
        let long = shown(MAX_TEXT);
        assert!(long.ends_with("好\n[clipped: the file goes on for 524289 bytes]"), "{}", long.len());
        assert!(long.len() < MAX_TEXT + 60);
    }

    proptest! {
        #[test]
        fn no_address_is_too_odd_and_none_is_poured_out(head in "[ -~]{0,20}", payload in "[!-~]{0,60}") {
            let item = item("application/zip", &format!("data:{head},{payload}"), None);
            prop_assert!(item["text"].as_str().unwrap().len() < 60);
        }
    }
}
