//! The checker's words in English.

use crate::config::dotenv::LineFault;
use crate::config::problem::{Fault, JsonType, Range, SyntaxFault, Words};

/// What is wrong and what to do about it.
pub(in crate::config) fn say(fault: &Fault) -> Words {
    let (message, fix) = match fault {
        Fault::Syntax(fault) => syntax(*fault),
        Fault::DotEnv(fault) => dotenv(*fault),
        Fault::Unreadable(why) => (format!("cannot be read ({why})"), "check its permissions".into()),
        Fault::TooLarge => ("is larger than 1 MiB".into(), "keep only configuration in it".into()),
        Fault::NotUtf8 => ("is not UTF-8".into(), "save it as UTF-8".into()),
        Fault::DuplicateKey { first_line } => {
            (format!("this key is already set on line {first_line}"), "remove one of the two".into())
        }
        Fault::UnknownKey { meant: Some(meant), .. } => {
            ("unknown key".into(), format!("did you mean \"{meant}\"?"))
        }
        Fault::UnknownKey { meant: None, known } => {
            ("unknown key".into(), format!("the keys here are {}", known.join(", ")))
        }
        Fault::TypoInTool { meant } => ("there is no such tool".into(), format!("did you mean \"{meant}\"?")),
        Fault::UnknownTool { known } => (
            "shipagent has no tool of this name, so this does nothing".into(),
            format!("the tools are {}", known.join(", ")),
        ),
        Fault::WrongType { expected, found, in_quotes } => wrong_type(*expected, *found, *in_quotes),
        Fault::BadChoice { found, choices, meant } => (
            format!("{found:?} is not one of {}", quoted(choices)),
            match meant {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => "choose one of these".into(),
            },
        ),
        Fault::OutOfRange { found, range } => out_of_range(found, range),
        Fault::EmptyText => ("is empty".into(), "fill it in, or remove the key".into()),
        Fault::LongText { max } => (format!("has more than {max} characters"), "shorten it".into()),
        Fault::UnsetVariable(name) => (
            format!("the variable {name} is not set"),
            format!("set it in the environment or in .env, or give a default: ${{{name}:-…}}"),
        ),
        Fault::OpenVariable => {
            ("\"${\" has no closing \"}\"".into(), "write ${NAME}, or $${ for the two characters".into())
        }
        Fault::BadVariable(inside) => (
            format!("\"${{{inside}}}\" names no variable"),
            "write ${NAME} or ${NAME:-default}, with letters, digits and _ in the name".into(),
        ),
        Fault::BadUrl(found) => {
            (format!("{found:?} is not a web address"), "write it as http://host or https://host/path".into())
        }
        Fault::BadListen(found) => (
            format!("{found:?} is not an address to listen at"),
            "write address:port, such as 127.0.0.1:7717".into(),
        ),
        Fault::BadAuthor { found, meant } => bad_author(found, meant.as_deref()),
        Fault::BadApprover { found, meant } => (
            format!("{found:?} is neither a role nor a person's id"),
            match meant {
                Some(meant) => format!("did you mean \"{meant}\"?"),
                None => "write requester, owners, admins, or an id such as telegram:user:123456".into(),
            },
        ),
        Fault::BadHost(found) => (
            format!("{found:?} is not a host name"),
            "write the name alone, such as agent.example.org, without scheme, port or path".into(),
        ),
        Fault::BadRule(found) => (
            format!("{found:?} is not the beginning of one plain command"),
            "write its first words, such as \"git status\", without * or operators".into(),
        ),
        Fault::BadSocket(found) => (
            format!("{found:?} is not the path of a socket that commands may connect to"),
            "write an absolute path such as /run/docker.sock, without .. and not inside .ship".into(),
        ),
        Fault::LiteralSecret { variable } => literal_secret(variable),
        Fault::KeyNeeded => (
            "api.openai.com needs a key".into(),
            "set it to ${OPENAI_API_KEY}, or set llm.baseUrl to your own server".into(),
        ),
        Fault::Disagreement(why) => {
            (format!("is not accepted ({why})"), "please report this: the check should have said why".into())
        }
    };
    Words { message, fix }
}

fn literal_secret(variable: &str) -> (String, String) {
    (
        "this secret is written into the file, where commits, backups and tools can pick it up".into(),
        format!("put {variable}=… into .env and write \"${{{variable}}}\" here"),
    )
}

fn syntax(fault: SyntaxFault) -> (String, String) {
    let (message, fix) = match fault {
        SyntaxFault::Empty => ("is empty", "write {} into it, or remove it"),
        SyntaxFault::MissingComma => ("a comma is missing", "put one here"),
        SyntaxFault::SingleQuotes => ("single quotes are not JSON", "use double quotes"),
        SyntaxFault::UnquotedKey => ("this key has no quotes", "put it in double quotes"),
        SyntaxFault::MissingColon => ("a colon is missing behind the key", "write \"key\": value"),
        SyntaxFault::MissingValue => ("a value is missing behind the colon", "write \"key\": value"),
        SyntaxFault::BareWord => {
            ("a word without quotes", "put text in double quotes; true, false and null are lower-case")
        }
        SyntaxFault::BadNumber => ("not a number in JSON's notation", "write it as 12, -3 or 0.5"),
        SyntaxFault::BadEscape => ("an escape that JSON does not have", "write a backslash as \\\\"),
        SyntaxFault::OpenText => ("this text does not end on its line", "close it with a double quote"),
        SyntaxFault::OpenObject => ("this { is never closed", "add the missing }"),
        SyntaxFault::OpenArray => ("this [ is never closed", "add the missing ]"),
        SyntaxFault::OpenComment => ("this comment is never closed", "add the missing */"),
        SyntaxFault::SecondValue => {
            ("something stands behind the end", "remove it, or mend the braces above")
        }
        SyntaxFault::TooDeep => ("too many brackets inside each other", "mend the brackets"),
        SyntaxFault::StraySign => {
            ("a sign that does not belong here", "remove it, or add what is missing before it")
        }
    };
    (message.into(), fix.into())
}

fn dotenv(fault: LineFault) -> (String, String) {
    let (message, fix) = match fault {
        LineFault::NoEquals => ("this line has no \"=\"", "write NAME=value, or begin a comment with #"),
        LineFault::BadName => {
            ("the part before \"=\" is not a name", "use letters, digits and _, and no digit first")
        }
        LineFault::OpenQuote => ("this quote is never closed", "close it, or remove it"),
        LineFault::AfterQuote => ("something stands behind the closing quote", "quote the whole value"),
    };
    (message.into(), fix.into())
}

fn wrong_type(expected: JsonType, found: JsonType, in_quotes: bool) -> (String, String) {
    let message = format!("should be {}, but is {}", wanted(expected), type_name(found));
    let fix = match (expected, found) {
        (_, JsonType::Null) => "give it a value, or remove the key",
        _ if in_quotes => "remove the quotes",
        (JsonType::Text, JsonType::Integer | JsonType::Number | JsonType::Boolean) => {
            "put it in double quotes"
        }
        (JsonType::Integer, JsonType::Number) => "leave out the fraction",
        (JsonType::Array, _) => "put it in brackets: [ … ]",
        (JsonType::Object, _) => "write { \"key\": value }",
        (JsonType::Text, _) => "write one text in double quotes",
        (JsonType::Integer | JsonType::Number, _) => "write one number",
        (JsonType::Boolean, _) => "write true or false",
        (JsonType::Null, _) => "remove the key",
    };
    (message, fix.into())
}

/// What is wanted of a number is not that it has a fraction.
fn wanted(json: JsonType) -> &'static str {
    if json == JsonType::Number { "a number" } else { type_name(json) }
}

fn type_name(json: JsonType) -> &'static str {
    match json {
        JsonType::Object => "an object",
        JsonType::Array => "a list",
        JsonType::Text => "text",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number with a fraction",
        JsonType::Boolean => "true or false",
        JsonType::Null => "null",
    }
}

fn out_of_range(found: &str, range: &Range) -> (String, String) {
    match range {
        Range::Between(min, max) => {
            (format!("{found} is out of range"), format!("use a number from {min} to {max}"))
        }
        Range::MoreThan(min) => (format!("{found} is out of range"), format!("use a number above {min}")),
        Range::Representable => (format!("{found} is out of range"), "use a smaller number".into()),
    }
}

fn bad_author(found: &str, meant: Option<&str>) -> (String, String) {
    match meant {
        Some(meant) => {
            (format!("{found:?} names a platform there is not"), format!("did you mean \"{meant}\"?"))
        }
        None => (
            format!("{found:?} is not a person's id"),
            "write platform:user:id, such as telegram:user:123456".into(),
        ),
    }
}

fn quoted(choices: &[String]) -> String {
    choices.iter().map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>().join(", ")
}
