//! The tolerant parser: walks tree-sitter's bash grammar for every command. It accepts nearly anything, so nothing is
//! allowed because of it alone.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser};

use super::script::{Redirect, RedirectKind, Script};
use super::word::ShellWord;
use super::{plain, screen};
use crate::policy::Reason;

/// Limit of the parser's progress reports, about one per hundred steps; a text that needs more is not parsed.
const MOST_REPORTS: usize = 20_000;

/// Parses a command line. A text that cannot be parsed has [`Reason::Unparsed`] among its oddities.
pub(super) fn read(text: &str) -> Script {
    let mut script = Script::default();
    let Some(tree) = tree(text) else {
        script.oddities.insert(Reason::Unparsed);
        return script;
    };
    let root = tree.root_node();
    if root.has_error() {
        script.oddities.insert(Reason::Unparsed);
    }
    // No recursion: a text of ten thousand parentheses is as deep as it is long.
    let mut todo = vec![(root, false)];
    while let Some((node, fed)) = todo.pop() {
        let fed = fed || gives_input(node);
        let commands = script.commands.len();
        visit(node, text, &mut script);
        script.fed.extend((commands..script.commands.len()).filter(|_| fed));
        let mut cursor = node.walk();
        let before = todo.len();
        // The first command of a pipe has the input of the line.
        let pipe = node.kind() == "pipeline";
        todo.extend(
            node.children(&mut cursor).enumerate().map(|(at, child)| (child, fed || (pipe && at > 0))),
        );
        if let Some(new) = todo.get_mut(before..) {
            new.reverse();
        }
    }
    script
}

fn tree(text: &str) -> Option<tree_sitter::Tree> {
    if text.len() > screen::LONGEST {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut reports = 0_usize;
    let mut patience = |_: &tree_sitter::ParseState| {
        reports += 1;
        if reports > MOST_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // The grammar's own C code reads beyond its tables at some letters outside ASCII, which crashes the process. To a
    // shell these are ordinary letters, so each byte is replaced by a plain one: all offsets stay the same.
    let stand_in: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'z' }).collect();
    let bytes = stand_in.as_slice();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut patience)),
    )
}

/// Whether a statement or command has a redirection that gives it input.
fn gives_input(node: Node<'_>) -> bool {
    let is_input = |child: Node<'_>| match child.kind() {
        "heredoc_redirect" | "herestring_redirect" => true,
        "file_redirect" => child.children(&mut child.walk()).any(|part| matches!(part.kind(), "<" | "<&")),
        _ => false,
    };
    matches!(node.kind(), "redirected_statement" | "command") && node.children(&mut node.walk()).any(is_input)
}

fn visit(node: Node<'_>, text: &str, script: &mut Script) {
    let mut odd = |reason: Reason| {
        script.oddities.insert(reason);
    };
    if node.is_error() || node.is_missing() {
        return odd(Reason::Unparsed);
    }
    match node.kind() {
        "program" | "list" | "pipeline" | "comment" | "redirected_statement" => {}
        "command" => command(node, text, script),
        "test_command" => condition(node, text, script),
        "declaration_command" | "unset_command" => {
            odd(Reason::Assignment);
            script.commands.push(node_text(node, text).split_whitespace().map(ShellWord::read).collect());
        }
        "file_redirect" => redirect(node, text, script),
        "variable_assignment" => assignment(node, text, script),
        "variable_assignments" => odd(Reason::Assignment),
        "command_substitution" | "process_substitution" => odd(Reason::Substitution),
        "heredoc_redirect" | "heredoc_start" | "heredoc_end" => odd(Reason::HereDocument),
        "heredoc_body" | "herestring_redirect" => {
            odd(Reason::HereDocument);
            let body = node_text(node, text).trim_start_matches("<<<").trim_start();
            script.texts.push(match ShellWord::read(body) {
                ShellWord::Literal(inner) => inner,
                ShellWord::Dynamic(body) => body,
            });
        }
        "if_statement"
        | "while_statement"
        | "for_statement"
        | "c_style_for_statement"
        | "case_statement"
        | "function_definition"
        | "negated_command"
        | "subshell"
        | "compound_statement" => {
            odd(Reason::ControlFlow);
        }
        "arithmetic_expansion"
        | "expansion"
        | "simple_expansion"
        | "ansi_c_string"
        | "translated_string"
        | "brace_expression"
        | "extglob_pattern"
        | "array"
        | "subscript" => {
            odd(Reason::NotLiteral(shorten(node_text(node, text))));
        }
        // Inside a test, a loop or an expansion; the enclosing node has been recorded.
        "command_name"
        | "word"
        | "string"
        | "string_content"
        | "raw_string"
        | "concatenation"
        | "number"
        | "file_descriptor"
        | "test_operator"
        | "variable_name"
        | "special_variable_name"
        | "regex"
        | "binary_expression"
        | "unary_expression"
        | "postfix_expression"
        | "ternary_expression"
        | "parenthesized_expression"
        | "do_group"
        | "elif_clause"
        | "else_clause"
        | "case_item"
        | "heredoc_content" => {}
        "&" if node.parent().is_some_and(|parent| parent.kind() != "binary_expression") => {
            odd(Reason::Background);
        }
        _ if node.is_named() => odd(Reason::Unparsed),
        _ => {}
    }
}

fn assignment(node: Node<'_>, text: &str, script: &mut Script) {
    script.oddities.insert(Reason::Assignment);
    script.assigned.extend(node.child_by_field_name("name").map(|name| node_text(name, text).to_owned()));
}

fn command(node: Node<'_>, text: &str, script: &mut Script) {
    let mut cursor = node.walk();
    let words: Vec<ShellWord> = node
        .children(&mut cursor)
        .filter(|child| {
            child.is_named()
                && !matches!(child.kind(), "variable_assignment" | "file_redirect" | "comment")
                && !matches!(child.kind(), "herestring_redirect" | "heredoc_redirect" | "heredoc_body")
        })
        .map(|child| ShellWord::read(node_text(child, text)))
        .collect();
    if words.iter().any(|word| word.literal().is_none() && word.text().starts_with(char::is_whitespace)) {
        // The grammar has joined two lines.
        script.oddities.insert(Reason::Unparsed);
    }
    script.commands.push(words);
}

/// `[ … ]` is a command like any other; `[[ … ]]` and `(( … ))` are a language of their own.
fn condition(node: Node<'_>, text: &str, script: &mut Script) {
    let source = node_text(node, text);
    match plain::read(source).as_deref() {
        Some([only]) if !source.starts_with("[[") => {
            script.commands.push(only.argv.iter().cloned().map(ShellWord::Literal).collect());
        }
        _ => {
            script.oddities.insert(Reason::ControlFlow);
        }
    }
}

fn redirect(node: Node<'_>, text: &str, script: &mut Script) {
    let mut cursor = node.walk();
    let mut kind = None;
    let mut target = None;
    for child in node.children(&mut cursor) {
        match child.kind() {
            "file_descriptor" => {}
            "<" => kind = Some(RedirectKind::Read),
            ">" | ">>" | ">|" | "&>" | "&>>" => kind = Some(RedirectKind::Write),
            ">&" | "<&" => kind = Some(RedirectKind::Duplicate),
            ">&-" | "<&-" => {
                script.redirects.push(Redirect::Harmless);
                return;
            }
            _ => target = Some(ShellWord::read(node_text(child, text))),
        }
    }
    let written = match (&kind, &target) {
        (Some(kind), Some(ShellWord::Literal(target))) => Redirect::new(*kind, target.clone()),
        _ => None,
    };
    script.redirects.push(written.unwrap_or_else(|| {
        Redirect::Write(target.as_ref().map_or_else(|| node_text(node, text), ShellWord::text).to_owned())
    }));
}

fn node_text<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let script = read(text);
        script.commands.iter().filter_map(|words| Some(words.first()?.text().to_owned())).collect()
    }

    #[test]
    fn every_command_is_found_however_deep() {
        for text in [
            "ls; rm x",
            "ls && rm x",
            "ls | rm x",
            "ls & rm x",
            "ls\nrm x",
            "(rm x)",
            "{ rm x; }",
            "! rm x",
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"a $(rm x) b\"",
            "cat <(rm x)",
            "ls > >(rm x)",
            "echo ${y:-$(rm x)}",
            "echo $((1 + $(rm x)))",
            "((a[$(rm x)]))",
            "a=$(rm x)",
            "a[$(rm x)]=1",
            "export A=$(rm x)",
            "cat <<E\n$(rm x)\nE",
            "cat <<E | rm x\nE",
            "cat <<< $(rm x)",
            "if true; then rm x; fi",
            "if rm x; then true; fi",
            "if true; then true; elif rm x; then true; else true; fi",
            "for i in a; do rm x; done",
            "for i in $(rm x); do true; done",
            "for ((i=0;i<$(rm x);i++)); do true; done",
            "while rm x; do true; done",
            "until true; do rm x; done",
            "case a in a) rm x;; esac",
            "case $(rm x) in a) true;; esac",
            "select i in a; do rm x; done",
            "f() { rm x; }",
            "function f { rm x; }",
            "[[ -n $(rm x) ]]",
            "[ -n \"$(rm x)\" ]",
            "A=1 rm x",
            "> f rm x",
            "'r'm x",
            "\\rm x",
            "r\"\"m x",
            "\"rm\" x",
            "ls $(echo $(echo $(rm x)))",
            "echo \"${a[$(rm x)]}\"",
        ] {
            assert!(names(text).contains(&"rm".to_owned()), "{text}: {:?}", names(text));
        }
    }

    #[test]
    fn what_is_no_command_line_is_said_to_be_unreadable() {
        for text in ["ls (", "'", "ls <> f", "if", "$(", "ls `"] {
            assert!(read(text).oddities.contains(&Reason::Unparsed), "{text}");
        }
    }

    #[test]
    fn letters_outside_ascii_are_letters_to_the_grammar() {
        // The first one of these crashed the process.
        for text in ["ls {\u{e0041}", "ls {会..3}", "会议 x", "ls 会议; rm x", "é=1 rm x"] {
            read(text);
        }
        assert_eq!(names("会议 x; rm é"), ["会议", "rm"]);
        let script = read("rm 会议");
        assert_eq!(script.commands, [[ShellWord::Literal("rm".into()), ShellWord::Literal("会议".into())]]);
    }

    #[test]
    fn a_text_of_nothing_but_parentheses_does_not_exhaust_the_stack() {
        for open in ["(", "$(", "{ ", "((", "[[ ", "`", "<(", "${a:-", "if ", "\"$("] {
            read(&open.repeat(8_000));
        }
    }
}
