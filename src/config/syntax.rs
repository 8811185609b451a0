//! Parses a file to values with positions.
//!
//! JSON with comments and trailing commas. Common mistakes (a missing comma, single quotes, a key
//! without quotes) are reported but still parsed, so that the rest of the file is checked too.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseStringErrorKind, parse_to_ast,
};

use super::problem::SyntaxFault;

#[derive(Debug)]
pub(super) struct ParsedFile<'a> {
    /// `None` where the text cannot be parsed.
    pub value: Option<Value<'a>>,
    /// Syntax faults with their byte offsets, in the order of the text.
    pub faults: Vec<(usize, SyntaxFault)>,
}

pub(super) fn parse(text: &str) -> ParsedFile<'_> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
    match parse_to_ast(text, &collect, &options(Strictness::Forgiving)) {
        Ok(parsed) => {
            let mut faults = Vec::new();
            match &parsed.value {
                Some(value) => forgiven(text, value, &parsed.tokens.unwrap_or_default(), &mut faults),
                None => faults.push((0, SyntaxFault::Empty)),
            }
            faults.sort_by_key(|(offset, _)| *offset);
            ParsedFile { value: parsed.value, faults }
        }
        Err(error) => ParsedFile { value: None, faults: fatal(text, &collect, &error) },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Strict,
    Forgiving,
}

fn options(strictness: Strictness) -> ParseOptions {
    let forgiving = strictness == Strictness::Forgiving;
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: forgiving,
        allow_missing_commas: forgiving,
        allow_single_quoted_strings: forgiving,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The fatal fault; also the tolerated ones before it, since they may be the cause.
fn fatal(text: &str, collect: &CollectOptions, error: &ParseError) -> Vec<(usize, SyntaxFault)> {
    let mut faults = vec![(error.range().start, fault_of(text, error))];
    if let Err(first) = parse_to_ast(text, collect, &options(Strictness::Strict)) {
        let first = (first.range().start, fault_of(text, &first));
        if !faults.contains(&first) {
            faults.insert(0, first);
        }
    }
    faults
}

/// Finds tolerated faults.
fn forgiven(
    text: &str,
    value: &Value<'_>,
    tokens: &[TokenAndRange<'_>],
    faults: &mut Vec<(usize, SyntaxFault)>,
) {
    for token in tokens {
        let single = matches!(token.token, Token::String(_))
            && text.as_bytes().get(token.range.start).is_some_and(|quote| *quote == b'\'');
        if single {
            faults.push((token.range.start, SyntaxFault::SingleQuotes));
        }
    }
    let commas: Vec<usize> =
        tokens.iter().filter(|token| token.token == Token::Comma).map(|token| token.range.start).collect();
    structure(value, &commas, faults);
}

fn structure(value: &Value<'_>, commas: &[usize], faults: &mut Vec<(usize, SyntaxFault)>) {
    let mut previous: Option<usize> = None;
    let mut next = |start: usize, end: usize, faults: &mut Vec<(usize, SyntaxFault)>| {
        if let Some(previous) = previous {
            let first = commas.partition_point(|comma| *comma < previous);
            if commas.get(first).is_none_or(|comma| *comma >= start) {
                faults.push((previous, SyntaxFault::MissingComma));
            }
        }
        previous = Some(end);
    };
    match value {
        Value::Object(object) => {
            for property in &object.properties {
                next(property.range.start, property.range.end, faults);
                if let ObjectPropName::Word(word) = &property.name {
                    faults.push((word.range.start, SyntaxFault::UnquotedKey));
                }
                structure(&property.value, commas, faults);
            }
        }
        Value::Array(array) => {
            for element in &array.elements {
                next(element.range().start, element.range().end, faults);
                structure(element, commas, faults);
            }
        }
        Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => {}
    }
}

fn fault_of(text: &str, error: &ParseError) -> SyntaxFault {
    use ParseErrorKind as K;
    let letter = || {
        let rest = text.get(error.range().start..).unwrap_or_default();
        rest.chars().next().is_some_and(char::is_alphabetic)
    };
    match error.kind() {
        K::UnexpectedToken if letter() => SyntaxFault::BareWord,
        K::ExpectedComma => SyntaxFault::MissingComma,
        K::SingleQuotedStringsNotAllowed => SyntaxFault::SingleQuotes,
        K::ExpectedStringObjectProperty => SyntaxFault::UnquotedKey,
        K::ExpectedColonAfterObjectKey => SyntaxFault::MissingColon,
        K::ExpectedObjectValue => SyntaxFault::MissingValue,
        K::UnexpectedWord => SyntaxFault::BareWord,
        K::BareDecimalPointNumbersNotAllowed
        | K::ExpectedDigit
        | K::ExpectedDigitFollowingNegativeSign
        | K::ExpectedPlusMinusOrDigitInNumberLiteral
        | K::HexadecimalNumbersNotAllowed
        | K::NonFiniteNumbersNotAllowed
        | K::UnaryPlusNumbersNotAllowed => SyntaxFault::BadNumber,
        K::String(ParseStringErrorKind::UnterminatedStringLiteral) => SyntaxFault::OpenText,
        K::String(_) => SyntaxFault::BadEscape,
        K::UnterminatedArray => SyntaxFault::OpenArray,
        K::UnterminatedObject => SyntaxFault::OpenObject,
        K::UnterminatedCommentBlock => SyntaxFault::OpenComment,
        K::MultipleRootJsonValues => SyntaxFault::SecondValue,
        K::NestingDepthExceeded => SyntaxFault::TooDeep,
        K::CommentsNotAllowed
        | K::TrailingCommasNotAllowed
        | K::UnexpectedCloseBrace
        | K::UnexpectedCloseBracket
        | K::UnexpectedColon
        | K::UnexpectedComma
        | K::UnexpectedToken
        | K::UnexpectedTokenInObject => SyntaxFault::StraySign,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_people_forget_is_read_and_told() {
        use SyntaxFault::*;
        for (text, expected, readable) in [
            (r#"{"a": 1, /* b */ "c": [1, 2,], } // d"#, vec![], true),
            (r#"{"a": 1 "b": 2}"#, vec![(7, MissingComma)], true),
            ("{\"a\": 1 // ,\n \"b\": 2}", vec![(7, MissingComma)], true),
            (r#"[[1] [2] 3]"#, vec![(4, MissingComma), (8, MissingComma)], true),
            (r#"{a: 'b' "c": 1}"#, vec![(1, UnquotedKey), (4, SingleQuotes), (7, MissingComma)], true),
            ("", vec![(0, Empty)], false),
            ("// nothing", vec![(0, Empty)], false),
            (r#"{"a": True}"#, vec![(6, BareWord)], false),
            (r#"{"a": +1}"#, vec![(6, BadNumber)], false),
            (r#"{"a": 0x1f}"#, vec![(6, BadNumber)], false),
            (r#"{"a": "\q"}"#, vec![(7, BadEscape)], false),
            ("{\"a\": \"b\n}", vec![(6, OpenText)], false),
            (r#"{"a": 1"#, vec![(0, OpenObject)], false),
            (r#"{"a": [1"#, vec![(6, OpenArray)], false),
            (r#"{"a": /* 1}"#, vec![(6, OpenComment)], false),
            (r#"{"a" 1}"#, vec![(5, MissingColon)], false),
            (r#"{"a": }"#, vec![(6, StraySign)], false),
            (r#"{} {}"#, vec![(3, SecondValue)], false),
            (r#"[1,,2]"#, vec![(3, StraySign)], false),
            (r#"{"a": 1 "b": True}"#, vec![(7, MissingComma), (13, BareWord)], false),
        ] {
            let parsed = parse(text);
            assert_eq!(parsed.faults, expected, "{text:?}");
            assert_eq!(parsed.value.is_some(), readable, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_read(text in any::<String>()) {
            prop_assert!(parse(&text).faults.iter().all(|(offset, _)| *offset <= text.len()));
        }

        #[test]
        fn any_json_is_read_without_a_fault(text in "[a-z]{0,5}", number in any::<i32>()) {
            let json = serde_json::json!({ "a": [text, number, null, true, { "b": number }] });
            for json in [json.to_string(), serde_json::to_string_pretty(&json).unwrap()] {
                prop_assert_eq!(parse(&json).faults, vec![]);
            }
        }
    }
}
