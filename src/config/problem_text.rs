//! The message of each fault, from the phrase table.

use super::dotenv::LineFault;
use super::problem::{ConfigFault, JsonType, ProblemText, Range, SyntaxFault};
use crate::domain::Language;
use crate::phrases::config as words;

/// An entry of the phrase table.
type Text = fn(Language) -> &'static str;

/// The message and the advice.
pub(super) fn say(fault: &ConfigFault, language: Language) -> ProblemText {
    let l = language;
    let (message, fix) = match fault {
        ConfigFault::Syntax(fault) => both(syntax(*fault), l),
        ConfigFault::DotEnv(fault) => both(dotenv(*fault), l),
        ConfigFault::TooLarge => both((words::too_large, words::too_large_fix), l),
        ConfigFault::NotUtf8 => both((words::not_utf8, words::not_utf8_fix), l),
        ConfigFault::EmptyText => both((words::empty_text, words::empty_text_fix), l),
        ConfigFault::OpenVariable => both((words::open_variable, words::open_variable_fix), l),
        ConfigFault::NeededFor(provider) => (words::needed_for(provider, l), words::needed_for_fix(l).into()),
        ConfigFault::CurrencyWithoutRate(found) => (words::no_rate(found, l), words::no_rate_fix(l).into()),
        ConfigFault::KeyNeeded => both((words::key_needed, words::key_needed_fix), l),
        ConfigFault::Unreadable(why) => (words::unreadable(why, l), words::unreadable_fix(l).into()),
        ConfigFault::DuplicateKey { first_line } => {
            (words::duplicate_key(*first_line, l), words::duplicate_key_fix(l).into())
        }
        ConfigFault::UnknownKey { meant, known } => {
            let known = || words::known_keys(&known.join(words::between_names(l)), l);
            (words::unknown_key(l).into(), meant_or(meant.as_deref(), known, l))
        }
        ConfigFault::TypoInTool { meant } => (words::no_such_tool(l).into(), words::did_you_mean(meant, l)),
        ConfigFault::UnknownTool { known } => {
            (words::unknown_tool(l).into(), words::known_tools(&known.join(words::between_names(l)), l))
        }
        ConfigFault::WrongType { expected, found, in_quotes } => {
            let message = words::wrong_type(wanted(*expected)(l), type_name(*found)(l), l);
            (message, type_fix(*expected, *found, *in_quotes)(l).into())
        }
        ConfigFault::BadChoice { found, choices, meant } => {
            let choose = || words::bad_choice_fix(l).into();
            (words::bad_choice(found, &quoted(choices, l), l), meant_or(meant.as_deref(), choose, l))
        }
        ConfigFault::OutOfRange { found, range } => (words::out_of_range(found, l), range_fix(range, l)),
        ConfigFault::LongText { max } => (words::long_text(*max, l), words::long_text_fix(l).into()),
        ConfigFault::UnsetVariable(name) => {
            (words::unset_variable(name, l), words::unset_variable_fix(name, l))
        }
        ConfigFault::BadVariable(inside) => {
            (words::bad_variable(inside, l), words::bad_variable_fix(l).into())
        }
        ConfigFault::BadUrl(found) => (words::bad_url(found, l), words::bad_url_fix(l).into()),
        ConfigFault::BadListen(found) => (words::bad_listen(found, l), words::bad_listen_fix(l).into()),
        ConfigFault::BadAuthor { found, meant: Some(meant) } => {
            (words::no_such_platform(found, l), words::did_you_mean(meant, l))
        }
        ConfigFault::BadAuthor { found, meant: None } => {
            (words::bad_author(found, l), words::bad_author_fix(l).into())
        }
        ConfigFault::BadApprover { found, meant } => {
            let formats = || words::bad_approver_fix(l).into();
            (words::bad_approver(found, l), meant_or(meant.as_deref(), formats, l))
        }
        ConfigFault::BadModelName(found) => {
            (words::bad_model_name(found, l), words::bad_model_name_fix(l).into())
        }
        ConfigFault::BadPeer(found) => (words::bad_peer(found, l), words::bad_peer_fix(l).into()),
        ConfigFault::TwoPeers { found, other } => {
            (words::two_peers(found, other, l), words::two_peers_fix(l).into())
        }
        ConfigFault::BadOrigin { found, meant } => {
            let shape = || words::bad_origin_fix(l).into();
            (words::bad_origin(found, l), meant_or(meant.as_deref(), shape, l))
        }
        ConfigFault::BadHost(found) => (words::bad_host(found, l), words::bad_host_fix(l).into()),
        ConfigFault::BadTimeZone(found) => {
            (words::bad_time_zone(found, l), words::bad_time_zone_fix(l).into())
        }
        ConfigFault::BadRule(found) => (words::bad_rule(found, l), words::bad_rule_fix(l).into()),
        ConfigFault::BadSocket(found) => (words::bad_socket(found, l), words::bad_socket_fix(l).into()),
        ConfigFault::LiteralSecret { variable } => {
            (words::literal_secret(l).into(), words::literal_secret_fix(variable, l))
        }
        ConfigFault::BadKey => both((words::bad_key, words::bad_key_fix), l),
        ConfigFault::NotInside => both((words::not_inside, words::not_inside_fix), l),
        ConfigFault::NoElement { length } => {
            (words::no_element(*length, l), words::no_element_fix(*length, l))
        }
        ConfigFault::Disagreement(why) => (words::disagreement(why, l), words::disagreement_fix(l).into()),
    };
    ProblemText { message, fix }
}

fn both((message, fix): (Text, Text), language: Language) -> (String, String) {
    (message(language).to_owned(), fix(language).to_owned())
}

fn meant_or(meant: Option<&str>, other: impl FnOnce() -> String, language: Language) -> String {
    meant.map_or_else(other, |meant| words::did_you_mean(meant, language))
}

fn syntax(fault: SyntaxFault) -> (Text, Text) {
    match fault {
        SyntaxFault::Empty => (words::json_empty, words::json_empty_fix),
        SyntaxFault::MissingComma => (words::json_missing_comma, words::json_missing_comma_fix),
        SyntaxFault::SingleQuotes => (words::json_single_quotes, words::json_single_quotes_fix),
        SyntaxFault::UnquotedKey => (words::json_unquoted_key, words::put_in_quotes),
        SyntaxFault::MissingColon => (words::json_missing_colon, words::json_write_pair),
        SyntaxFault::MissingValue => (words::json_missing_value, words::json_write_pair),
        SyntaxFault::BareWord => (words::json_bare_word, words::json_bare_word_fix),
        SyntaxFault::BadNumber => (words::json_bad_number, words::json_bad_number_fix),
        SyntaxFault::BadEscape => (words::json_bad_escape, words::json_bad_escape_fix),
        SyntaxFault::OpenText => (words::json_open_text, words::json_open_text_fix),
        SyntaxFault::OpenObject => (words::json_open_object, words::json_open_object_fix),
        SyntaxFault::OpenArray => (words::json_open_array, words::json_open_array_fix),
        SyntaxFault::OpenComment => (words::json_open_comment, words::json_open_comment_fix),
        SyntaxFault::SecondValue => (words::json_second_value, words::json_second_value_fix),
        SyntaxFault::TooDeep => (words::json_too_deep, words::json_too_deep_fix),
        SyntaxFault::StraySign => (words::json_stray_sign, words::json_stray_sign_fix),
    }
}

fn dotenv(fault: LineFault) -> (Text, Text) {
    match fault {
        LineFault::NoEquals => (words::env_no_equals, words::env_no_equals_fix),
        LineFault::BadName => (words::env_bad_name, words::env_bad_name_fix),
        LineFault::OpenQuote => (words::env_open_quote, words::env_open_quote_fix),
        LineFault::AfterQuote => (words::env_after_quote, words::env_after_quote_fix),
    }
}

fn type_fix(expected: JsonType, found: JsonType, in_quotes: bool) -> Text {
    match (expected, found) {
        (_, JsonType::Null) => words::give_value,
        _ if in_quotes => words::remove_quotes,
        (JsonType::Text, JsonType::Integer | JsonType::Number | JsonType::Boolean) => words::put_in_quotes,
        (JsonType::Integer, JsonType::Number) => words::no_fraction,
        (JsonType::Array, _) => words::put_in_brackets,
        (JsonType::Object, _) => words::write_object,
        (JsonType::Text, _) => words::write_text,
        (JsonType::Integer | JsonType::Number, _) => words::write_number,
        (JsonType::Boolean, _) => words::write_boolean,
        (JsonType::Null, _) => words::remove_key,
    }
}

/// A number key is described as a number, with or without a fraction.
fn wanted(json: JsonType) -> Text {
    if json == JsonType::Number { words::a_number } else { type_name(json) }
}

fn type_name(json: JsonType) -> Text {
    match json {
        JsonType::Object => words::type_object,
        JsonType::Array => words::type_array,
        JsonType::Text => words::type_text,
        JsonType::Integer => words::type_integer,
        JsonType::Number => words::type_number,
        JsonType::Boolean => words::type_boolean,
        JsonType::Null => words::type_null,
    }
}

fn range_fix(range: &Range, language: Language) -> String {
    match range {
        Range::Between(min, max) => words::range_between(min, max, language),
        Range::MoreThan(min) => words::range_more_than(min, language),
        Range::Representable => words::range_smaller(language).into(),
    }
}

fn quoted(choices: &[String], language: Language) -> String {
    let choices: Vec<String> = choices.iter().map(|choice| format!("\"{choice}\"")).collect();
    choices.join(words::between_names(language))
}
