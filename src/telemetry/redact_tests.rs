//! Every encoding of a secret that the redactor must find, whole and in pieces; and texts that it must not change.

use std::time::Instant;

use super::redact::Redactor;
use super::stream::RedactedStream;

const SECRET: &str = "kD9_fZ3-qLw7xT2/mB5vN8==";
const OTHER: &str = "correct-Horse4battery";

fn each(secret: &str, write: impl Fn(u8) -> String, between: &str) -> String {
    secret.bytes().map(write).collect::<Vec<_>>().join(between)
}

fn base(bits: usize, alphabet: &[u8], bytes: &[u8]) -> String {
    let mut out = String::new();
    let all: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    for group in all.chunks(bits) {
        let value = group.iter().fold(0, |value, bit| value << 1 | usize::from(*bit)) << (bits - group.len());
        out.push(char::from(alphabet[value]));
    }
    out
}

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn wrapped(text: &str, width: usize, between: &str) -> String {
    text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join(between)
}

fn rot13(text: &str) -> String {
    let turn = |letter: char, first: u8| char::from((letter as u8 - first + 13) % 26 + first);
    text.chars()
        .map(|letter| match letter {
            'a'..='z' => turn(letter, b'a'),
            'A'..='Z' => turn(letter, b'A'),
            other => other,
        })
        .collect()
}

/// A dump as `xxd` or `hexdump -C` writes it.
fn dump(secret: &str, canonical: bool) -> String {
    let mut out = String::new();
    for (row, line) in secret.as_bytes().chunks(16).enumerate() {
        let text = String::from_utf8_lossy(line);
        if canonical {
            let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            out.push_str(&format!("{:08x}  {:<48}  |{text}|\n", row * 16, hex.join(" ")));
        } else {
            let hex: Vec<String> =
                line.chunks(2).map(|two| two.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
            out.push_str(&format!("{:08x}: {:<39}  {text}\n", row * 16, hex.join(" ")));
        }
    }
    out
}

/// The secret in each encoding, by name.
fn encodings(secret: &str) -> Vec<(&'static str, String)> {
    let hex = each(secret, |byte| format!("{byte:02x}"), "");
    let inside = |before: &str| format!("{before}{secret}tail").into_bytes();
    let json = serde_json::to_string(secret).unwrap();
    let letters: Vec<String> = secret.chars().map(String::from).collect();
    vec![
        ("plain", secret.to_owned()),
        ("upper case", secret.to_uppercase()),
        ("lower case", secret.to_lowercase()),
        ("reversed", secret.chars().rev().collect()),
        ("rot13", rot13(secret)),
        ("hex", hex.clone()),
        ("hex upper", hex.to_uppercase()),
        ("hex colons", each(secret, |byte| format!("{byte:02x}"), ":")),
        ("hex spaces", each(secret, |byte| format!("{byte:02X}"), " ")),
        ("hex \\x", each(secret, |byte| format!("\\x{byte:02x}"), "")),
        ("hex 0x", each(secret, |byte| format!("0x{byte:02x}"), ", ")),
        ("hex lines", wrapped(&hex, 10, "\n")),
        ("xxd", dump(secret, false)),
        ("hexdump -C", dump(secret, true)),
        ("decimal", each(secret, |byte| byte.to_string(), " ")),
        ("decimal list", format!("[{}]", each(secret, |byte| byte.to_string(), ", "))),
        ("octal", each(secret, |byte| format!("{byte:03o}"), " ")),
        ("octal escapes", each(secret, |byte| format!("\\{byte:03o}"), "")),
        ("binary", each(secret, |byte| format!("{byte:08b}"), " ")),
        ("base64", base(6, BASE64, secret.as_bytes())),
        ("base64 at 1", base(6, BASE64, &inside("a"))),
        ("base64 at 2", base(6, BASE64, &inside("ab"))),
        ("base64 url", base(6, BASE64_URL, &inside("abc"))),
        ("base64 lines", wrapped(&base(6, BASE64, &inside("x")), 11, "\n")),
        ("base64 json lines", wrapped(&base(6, BASE64, &inside("x")), 11, "\\n")),
        ("base64 percent", base(6, BASE64, &inside("y")).replace('+', "%2B").replace('/', "%2F")),
        ("base32", base(5, BASE32, secret.as_bytes())),
        ("base32 lower, at 3", base(5, BASE32, &inside("abc")).to_lowercase()),
        ("base32 lines", wrapped(&base(5, BASE32, &inside("ab")), 8, "\n")),
        ("percent", each(secret, |byte| format!("%{byte:02X}"), "")),
        ("percent lower", each(secret, |byte| format!("%{byte:02x}"), "")),
        ("percent twice", each(secret, |byte| format!("%25{byte:02X}"), "")),
        ("json", json.clone()),
        ("json twice", serde_json::to_string(&json).unwrap()),
        ("json \\u", each(secret, |byte| format!("\\u{byte:04x}"), "")),
        ("json \\u twice", each(secret, |byte| format!("\\\\u{byte:04X}"), "")),
        ("rust \\u", each(secret, |byte| format!("\\u{{{byte:x}}}"), "")),
        ("json slashes", secret.replace('/', "\\/")),
        ("html decimal", each(secret, |byte| format!("&#{byte};"), "")),
        ("html hex", each(secret, |byte| format!("&#x{byte:x};"), "")),
        ("html twice", each(secret, |byte| format!("&amp;#{byte};"), "")),
        ("html named", secret.replace('/', "&sol;").replace('_', "&lowbar;").replace('=', "&equals;")),
        ("code points", each(secret, |byte| format!("U+{byte:04X}"), " ")),
        ("spaces", letters.join(" ")),
        ("hyphens", letters.join("-")),
        ("dots", letters.join(" . ")),
        ("lines", letters.join("\n")),
        ("lines in json", letters.join("\\n")),
        ("zero width", letters.join("\u{200b}")),
        ("joiners", letters.join("\u{2060}\u{feff}")),
        ("bold", letters.iter().map(|letter| format!("**{letter}**")).collect()),
        ("list", letters.iter().map(|letter| format!("- {letter}\n")).collect()),
        (
            "quoted",
            format!("[{}]", letters.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ")),
        ),
        ("concatenated", wrapped(secret, 5, "\" + \"")),
        ("folded", wrapped(secret, 7, "\n")),
        (
            "full width",
            secret
                .chars()
                .map(|letter| char::from_u32(u32::from(letter) + 0xFEE0).unwrap_or(letter))
                .collect(),
        ),
    ]
}

fn redactor() -> Redactor {
    Redactor::new([SECRET, OTHER]).unwrap().only_known()
}

/// The letters and digits beside the marks.
fn rest(text: &str) -> String {
    text.replace("[redacted]", "").chars().filter(char::is_ascii_alphanumeric).collect()
}

#[test]
fn a_secret_is_found_in_every_encoding() {
    for secret in [SECRET, OTHER] {
        for (name, text) in encodings(secret) {
            let clean = redactor().apply(&text).into_owned();
            assert!(clean.contains("[redacted]"), "{name}: {text}");
            // The base32 and base64 digits around the secret, the offset of a dump, and the digits at its edges.
            assert!(rest(&clean).len() <= 16, "{name}: {clean}");
            let around = format!("Before it {text} and after it.");
            let clean = redactor().apply(&around).into_owned();
            assert!(clean.starts_with("Before it ") && clean.contains("[redacted]"), "{name}: {clean}");
            assert!(clean.ends_with(" and after it."), "{name}: {clean}");
        }
    }
}

#[test]
fn of_an_encoding_in_pieces_no_more_than_the_first_letters_are_shown() {
    for (name, text) in encodings(SECRET) {
        let text = format!("It says: {text} — that is all of it.");
        for size in [1, 3, 10] {
            let mut stream = RedactedStream::new(redactor());
            let letters: Vec<char> = text.chars().collect();
            let mut out = String::new();
            for piece in letters.chunks(size) {
                out.push_str(&stream.push(&piece.iter().collect::<String>()));
            }
            out.push_str(&stream.finish());
            let whole = redactor().apply(&text).into_owned();
            assert!(out.contains("[redacted]"), "{name} by {size}: {out}");
            // A code point has five letters and digits, and one of the first four is a symbol.
            let first = if name == "code points" { 4 * 5 } else { 3 };
            assert!(rest(&out).len() <= rest(&whole).len() + first, "{name} by {size}: {out}\n{whole}");
        }
    }
}

#[test]
fn what_may_be_shown_of_a_text_that_goes_on_never_cuts_a_secret() {
    let redactor = redactor();
    for (name, text) in encodings(SECRET) {
        let text = format!("It says: {text} — that is all of it.");
        let (mut out, mut held) = (String::new(), String::new());
        for letter in text.chars() {
            held.push(letter);
            let (clean, settled) = redactor.settled(&held, 0);
            out.push_str(&clean);
            held.drain(..settled);
        }
        out.push_str(&redactor.apply(&held));
        let clean = redactor.apply(&text);
        assert_eq!(rest(&out).len(), rest(&clean).len(), "{name}: {out}\n{clean}");
    }
}

#[test]
fn ordinary_texts_are_left_alone() {
    let redactor =
        Redactor::new([SECRET, OTHER, "hunter2", "12345678", "test-token-0123456789", "deadbeef42"]).unwrap();
    for text in [
        "A correct horse is no battery, and 4 horses are not either.",
        "1, 2, 3, 4, 5, 6, 7, 8, 9",
        "The test failed: token 0 of 123 was wrong, see 456 and 789.",
        "beef is dead, 42 times; &amp; 100% of it \\o/ %s %d &c.",
        "00000000: 6865 6c6c 6f20 776f 726c 640a            hello world.",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "你好，世界。这里没有密钥。",
        "https://example.org/a%20b?c=d&e=f#g",
        "fn main() { println!(\"{}\", \"\\u{1f600}\\n\"); }",
    ] {
        assert_eq!(redactor.apply(text), text);
    }
}

#[test]
fn a_megabyte_of_text_is_read_at_a_bounded_cost() {
    let line =
        "2024-05-01 12:00:00 INFO worker-7 handled GET /api/items?id=4711&page=3 in 12 ms (状态 200)\n";
    let text = line.repeat((1 << 20) / line.len());
    let secrets: Vec<String> = (0..20).map(|n| format!("sk-{n:02}aB9xK2mQ7pL4wZ8vT1cR6yU3eH5jN0")).collect();
    let redactor = Redactor::new(&secrets).unwrap();
    let began = Instant::now();
    assert_eq!(redactor.apply(&text), text);
    let took = began.elapsed();
    println!("{:.1} MB/s", text.len() as f64 / 1e6 / took.as_secs_f64());
    // A debug build takes a second or two.
    assert!(took.as_secs() < 30, "{took:?}");
}
