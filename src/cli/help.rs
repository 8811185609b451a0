//! Help and error messages of the command line, in a language. English keeps the parser's own frame; other languages
//! replace its headings, notes and error messages as well.

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

use crate::domain::Language;
use crate::phrases::cli as words;

/// The command line with its help in this language.
pub(super) fn localized(command: Command, language: Language) -> Command {
    let mut command = describe(command, "", language);
    if language == Language::En {
        return command;
    }
    // Only a built command has the arguments and the command that the parser adds.
    command.build();
    reframe(command, language)
}

/// Sets the help texts of a command and of everything below it.
fn describe(command: Command, path: &str, language: Language) -> Command {
    let command = command.mut_args(|arg| describe_argument(arg, path, language)).mut_subcommands(|sub| {
        let path = format!("{path} {}", sub.get_name());
        describe(sub, path.trim(), language)
    });
    let command = match (words::help(path, language), words::long_help(path, language)) {
        (Some(about), Some(more)) => command.about(about).long_about(format!("{about}\n\n{more}")),
        (Some(about), None) => command.about(about).long_about(None::<&str>),
        (None, _) => command,
    };
    match path {
        "" => command.after_help(words::exit_codes(language)),
        "chat" => command.after_help(words::chat_exit_codes(language)),
        _ => command,
    }
}

fn describe_argument(arg: Arg, path: &str, language: Language) -> Arg {
    let item = item_of(&arg, path, language);
    match (words::help(&item, language), words::long_help(&item, language)) {
        (Some(help), Some(more)) => arg.help(help).long_help(format!("{help}\n\n{more}")),
        (Some(help), None) => arg.help(help),
        (None, _) => arg,
    }
}

/// The name of an argument in the phrase table: its command's, or else one of all commands.
fn item_of(arg: &Arg, path: &str, language: Language) -> String {
    let own = format!("{path}/{}", arg.get_id());
    if words::help(&own, language).is_some() { own } else { format!("/{}", arg.get_id()) }
}

/// Replaces the parser's own texts on help pages.
fn reframe(command: Command, language: Language) -> Command {
    let usage = words::usage(language);
    let command =
        if command.get_name() == "help" { command.about(words::help_of_command(language)) } else { command };
    command
        .help_template(format!(
            "{{before-help}}{{about-with-newline}}\n{usage} {{usage}}\n\n{{all-args}}{{after-help}}"
        ))
        .subcommand_help_heading(words::commands(language))
        .mut_args(|arg| reframe_argument(arg, language))
        .mut_subcommands(|sub| reframe(sub, language))
}

fn reframe_argument(arg: Arg, language: Language) -> Arg {
    let heading = if arg.is_positional() { words::arguments(language) } else { words::options(language) };
    let arg = arg.help_heading(heading);
    match arg.get_id().as_str() {
        "help" => return arg.help(words::print_help(language)).long_help(words::print_help(language)),
        "version" => return arg.help(words::print_version(language)),
        _ => {}
    }
    let mut notes = Vec::new();
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        notes.push(words::default_value(&defaults.join(" "), language));
    }
    let values = arg.get_possible_values();
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    if !names.is_empty() {
        notes.push(words::possible_values(&names.join(words::between_values(language)), language));
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let long = arg.get_long_help().map_or_else(|| help.clone(), ToString::to_string);
    let short = std::iter::once(help).chain(notes.iter().cloned()).collect::<Vec<_>>().join(" ");
    let long = if notes.is_empty() { long } else { format!("{long}\n\n{}", notes.join(" ")) };
    arg.help(short).long_help(long).hide_default_value(true).hide_possible_values(true)
}

/// The error message about the arguments in this language; `None` where the parser's own text has to serve.
pub fn complaint(error: &Error, language: Language) -> Option<String> {
    if language == Language::En || !error.use_stderr() {
        return None;
    }
    let context = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(words::between_values(language))),
        ContextValue::StyledStrs(texts) => Some(texts.iter().map(ToString::to_string).collect()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg);
    let what = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            words::unknown_command(&context(ContextKind::InvalidSubcommand)?, language)
        }
        ErrorKind::UnknownArgument => words::unknown_argument(&argument?, language),
        ErrorKind::MissingRequiredArgument => words::missing_argument(&argument?, language),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            match context(ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
                Some(value) => words::bad_value(&value, &argument?, language),
                None => words::missing_value(&argument?, language),
            }
        }
        ErrorKind::ArgumentConflict => match context(ContextKind::PriorArg) {
            Some(other) if argument.as_ref() != Some(&other) => {
                words::cannot_combine(&argument?, &other, language)
            }
            _ => words::used_twice(&argument?, language),
        },
        ErrorKind::TooManyValues => words::too_many_values(&argument?, language),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            words::too_few_values(&argument?, language)
        }
        ErrorKind::NoEquals => words::no_equals(&argument?, language),
        ErrorKind::InvalidUtf8 => words::not_utf8(language).to_owned(),
        ErrorKind::MissingSubcommand => words::missing_command(language).to_owned(),
        _ => return None,
    };
    let mut lines = vec![words::error(&what, language)];
    if let Some(values) = context(ContextKind::ValidValue).filter(|values| !values.is_empty()) {
        lines.push(format!("  {}", words::possible_values(&values, language)));
    }
    let similar = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    lines.extend(
        similar
            .into_iter()
            .filter_map(context)
            .map(|name| format!("  {}", words::tip_similar(&name, language))),
    );
    lines.extend([String::new(), words::more_with_help(language).to_owned()]);
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn every_item(command: &Command, path: &str, out: &mut Vec<String>) {
        out.push(path.to_owned());
        for arg in command.get_arguments() {
            let item = item_of(arg, path, Language::En);
            out.extend(arg.get_possible_values().iter().map(|value| format!("{item}={}", value.get_name())));
            out.push(item);
        }
        for sub in command.get_subcommands() {
            every_item(sub, format!("{path} {}", sub.get_name()).trim(), out);
        }
    }

    #[test]
    fn every_command_and_argument_has_help_and_no_help_is_left_over() {
        let mut items = Vec::new();
        every_item(&Cli::command(), "", &mut items);
        // Names of shells, adapters and switches say all there is to say.
        let known =
            |item: &String| item.contains("/shell=") || item.contains("/adapters=") || item.contains("json=");
        for item in
            items.iter().filter(|item| !known(item) && !item.ends_with("=true") && !item.ends_with("=false"))
        {
            assert!(words::help(item, Language::En).is_some(), "{item:?} has no help");
        }
        for item in words::items() {
            assert!(items.iter().any(|known| known == item), "there is no {item:?} any more");
        }
    }

    fn page(path: &[&str], language: Language, long: bool) -> String {
        let line = ["shipagent"].iter().chain(path).chain([if long { &"--help" } else { &"-h" }]);
        Cli::parse_with(line, &[("irc", "IRC")], language).unwrap_err().to_string()
    }

    #[test]
    fn help_pages_are_in_one_language() {
        for (path, zh, en) in [
            (&[][..], "把项目目录变成", "Turns a project directory into"),
            (&["run"], "用法： shipagent run", "Usage: shipagent run"),
            (&["approvals", "list"], "[默认：pending] [可选值：pending、all]", "[default: pending]"),
            (&["threads", "show"], "参数:\n  <THREAD>  会话的 id", "Arguments:\n  <THREAD>  The thread's id"),
            (&["chat"], "退出码：", "Exit codes:"),
        ] {
            let (chinese, english) = (page(path, Language::Zh, false), page(path, Language::En, false));
            assert!(chinese.contains(zh), "{path:?}: {chinese}");
            assert!(english.contains(en), "{path:?}: {english}");
            assert_eq!(Language::of(&english), Language::En, "{english}");
            for frame in ["Usage", "Options", "Commands", "Arguments", "Print ", "[default", "[possible"] {
                for page in [&chinese, &page(path, Language::Zh, true)] {
                    assert!(!page.contains(frame), "{path:?}: {page}");
                }
            }
        }
        assert!(page(&["run"], Language::Zh, true).contains("平稳停止"));
        assert!(page(&["approvals", "list"], Language::En, true).contains("- pending: Those that wait"));
    }

    #[test]
    fn complaints_are_in_one_language() {
        for (line, zh, en) in [
            ("runn", "错误：没有命令“runn”", "unrecognized subcommand"),
            ("run --lisen 1", "没有参数“--lisen”", "unexpected argument"),
            ("approvals show", "缺少必需的参数：<APPROVAL>", "required arguments"),
            ("approvals list --state x", "的值“x”无效", "invalid value"),
            ("run --listen x", "的值“x”无效", "invalid value"),
            (
                "run --listen 127.0.0.1:1 --listen 127.0.0.1:2",
                "不能重复使用",
                "cannot be used multiple times",
            ),
        ] {
            let told = |language| {
                Cli::parse_with(std::iter::once("shipagent").chain(line.split(' ')), &[], language)
            };
            let error = told(Language::Zh).unwrap_err();
            let chinese = complaint(&error, Language::Zh).unwrap();
            assert!(chinese.contains(zh), "{chinese}");
            assert!(chinese.ends_with("更多信息请用“--help”查看。"), "{chinese}");
            let error = told(Language::En).unwrap_err();
            assert_eq!(complaint(&error, Language::En), None);
            assert!(error.to_string().contains(en), "{error}");
        }
    }
}
