//! Which commands a longer approval covers with other arguments. A command has a shape only when the table lists every
//! option and operand of it as harmless; any other command is covered only with exactly the same words.

use super::paths::{self, PathLocation};
use super::shape_table::{ArgumentKind, PATHS, ShapeRow, TABLE};
use super::shell::has_script_name;
use crate::domain::Language;

/// A command of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The fixed words: `git commit`.
    pub words: &'static str,
    /// The operands that are paths; they may differ from call to call.
    pub paths: Vec<String>,
}

/// The shape of a command that may run in any of these folders (relative to the project), if it has one.
pub fn shape_of(argv: &[String], folders: &[String]) -> Option<Shape> {
    let row = TABLE.iter().find(|row| fixed(row, argv).is_some())?;
    let mut reading = ShapeReading { folders, paths: Vec::new(), met: Vec::new() };
    reading.arguments(row, fixed(row, argv)?)?;
    let needed = row.needs.is_empty() || row.needs.split(' ').any(|name| reading.met.contains(&name));
    needed.then_some(Shape { words: row.words, paths: reading.paths })
}

/// Whether commands of this shape run files of the project; true for a command that is not in the table.
pub fn runs_project_files(words: &str) -> bool {
    TABLE.iter().find(|row| row.words == words).is_none_or(|row| row.runs)
}

/// What may differ in commands of this shape, as text.
pub fn varies(words: &str, language: Language) -> &'static str {
    TABLE.iter().find(|row| row.words == words).map_or(PATHS, |row| row.varies)(language)
}

/// The arguments after the fixed words, if the command begins with them.
fn fixed<'a>(row: &ShapeRow, argv: &'a [String]) -> Option<&'a [String]> {
    let words: Vec<&str> = row.words.split(' ').collect();
    let same = argv.iter().map(String::as_str).take(words.len()).eq(words.iter().copied());
    same.then(|| argv.get(words.len()..)).flatten()
}

/// The state of parsing a command's arguments.
struct ShapeReading<'a> {
    folders: &'a [String],
    paths: Vec<String>,
    /// The options with a value.
    met: Vec<&'static str>,
}

impl ShapeReading<'_> {
    /// Parses arguments by a row; `None` when one of them is not in it.
    fn arguments(&mut self, row: &'static ShapeRow, args: &[String]) -> Option<()> {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--" {
                return match row.tail {
                    Some(tail) => self.arguments(tail, args.as_slice()),
                    None => args.try_for_each(|arg| self.operand(row, arg)),
                };
            }
            if arg.starts_with('-') {
                self.option(row, arg, &mut args)?;
            } else {
                self.operand(row, arg)?;
            }
        }
        Some(())
    }

    fn operand(&mut self, row: &ShapeRow, arg: &str) -> Option<()> {
        self.value(row.operands?, arg)
    }

    fn option<'a>(
        &mut self,
        row: &'static ShapeRow,
        arg: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Option<()> {
        if row.options.split_ascii_whitespace().any(|option| option == arg) {
            return Some(());
        }
        // A complete option, alone or with `=`; an abbreviation is not accepted.
        for (name, kind) in row.valued {
            let is_letter = name.len() == 2;
            let value = match arg.strip_prefix(name) {
                Some("") => rest.next()?,
                Some(attached) if !is_letter => attached.strip_prefix('=')?,
                _ => continue,
            };
            self.met.push(name);
            return self.value(*kind, value);
        }
        self.cluster(row, arg, rest)
    }

    /// `-qv`, `-am x`, `-mx`: letters without a value, and perhaps one with a value at the end.
    fn cluster<'a>(
        &mut self,
        row: &'static ShapeRow,
        arg: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Option<()> {
        let mut letters = arg.strip_prefix('-')?.chars();
        if arg.starts_with("--") || letters.as_str().is_empty() {
            return None;
        }
        while let Some(letter) = letters.next() {
            let valued = row
                .valued
                .iter()
                .find(|(name, _)| name.strip_prefix('-').is_some_and(|name| name.chars().eq([letter])));
            if let Some((name, kind)) = valued {
                let value = if letters.as_str().is_empty() { rest.next()? } else { letters.as_str() };
                self.met.push(name);
                return self.value(*kind, value);
            }
            if !row.flags.contains(letter) {
                return None;
            }
        }
        Some(())
    }

    fn value(&mut self, kind: ArgumentKind, value: &str) -> Option<()> {
        let fits = match kind {
            ArgumentKind::Text => !value.starts_with('-'),
            ArgumentKind::Name => is_name(value),
            ArgumentKind::Names => {
                value.split(' ').all(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
            }
            ArgumentKind::Number => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()),
            ArgumentKind::Choice(words) => words.split(' ').any(|word| word == value),
            ArgumentKind::Path => self.path(value),
            ArgumentKind::TestPath => match value.split_once("::") {
                Some((path, name)) => {
                    self.path(path) && name.chars().all(|c| c.is_alphanumeric() || "_:[]-.".contains(c))
                }
                None => self.path(value),
            },
            ArgumentKind::Package => {
                let folder = value.strip_suffix("...").unwrap_or(value);
                (value == "." || value.starts_with("./")) && self.path(folder)
            }
        };
        fits.then_some(())
    }

    /// Whether the path is an ordinary one of the project, relative to each possible folder.
    fn path(&mut self, path: &str) -> bool {
        let plain = !path.is_empty()
            && !path.starts_with(['-', '/', '@', ':', '~', '+', '#', '=', ' '])
            && !path.ends_with(char::is_whitespace)
            && path.chars().all(|c| !c.is_control() && !"*?[]{}!$`\\'\"=".contains(c));
        let ordinary = |folder: &String| match paths::locate("", folder, path) {
            PathLocation::Inside(inside) => !paths::is_sensitive(&inside),
            PathLocation::Secret | PathLocation::Outside => false,
        };
        let fits = plain && !self.folders.is_empty() && self.folders.iter().all(ordinary);
        if fits {
            self.paths.push(path.to_owned());
        }
        fits
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && !text.contains("..")
        && text.chars().all(|c| c.is_alphanumeric() || "_:.-".contains(c))
}

/// Whether a word is a plain argument: no option, no assignment, no path that leaves the folder, no script.
pub fn is_plain_argument(word: &str, folders: &[String]) -> bool {
    let plain = !word.is_empty()
        && !has_script_name(word)
        && !word.starts_with(['-', '/', '.', '+', '@', '~'])
        && word.chars().all(|c| c.is_alphanumeric() || "_.,:/-".contains(c));
    plain
        && folders.iter().all(|folder| match paths::locate("", folder, word) {
            PathLocation::Inside(inside) => !paths::is_sensitive(&inside),
            PathLocation::Secret | PathLocation::Outside => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arguments_that_the_table_knows_have_a_shape() {
        for (command, want) in [
            ("git add a b", Some("git add")),
            ("git add -- a", Some("git add")),
            ("git add -A", Some("git add")),
            ("git add -p", None),
            ("git add .env", None),
            ("git add ../x", None),
            ("git add :/", None),
            ("git add .git/hooks/x", None),
            ("git commit -m x", Some("git commit")),
            ("git commit -am x", Some("git commit")),
            ("git commit -qmx", Some("git commit")),
            ("git commit --message=x", Some("git commit")),
            ("git commit --mess=x", None),
            ("git commit", None),
            ("git commit -m x --amend", None),
            ("git commit -m x -n", None),
            ("git commit -m x a", None),
            ("git commit -F a", None),
            ("git -C x commit -m x", None),
            ("git push", None),
            ("cargo test", Some("cargo test")),
            ("cargo test a::b -- --nocapture --test-threads=1", Some("cargo test")),
            ("cargo test --config x", None),
            ("cargo test -p x", None),
            ("cargo test --manifest-path x", None),
            ("cargo test -- --logfile x", None),
            ("cargo +nightly test", None),
            ("cargo clippy -- -D warnings", Some("cargo clippy")),
            ("cargo clippy -- -Clinker=x", None),
            ("cargo run", None),
            ("pytest -q tests/a.py::test_x", Some("pytest")),
            ("pytest -p x", None),
            ("pytest -k a", Some("pytest")),
            ("pytest -k __import__('os')", None),
            ("python -m pytest -x", Some("python -m pytest")),
            ("python -m http.server", None),
            ("go test ./... -run=X", Some("go test")),
            ("go test -exec x ./...", None),
            ("go test example.com/x", None),
            ("mkdir -p a/b", Some("mkdir")),
            ("mkdir -m 777 a", None),
            ("touch a", Some("touch")),
            ("touch -r x a", None),
            ("touch -c a", None),
            ("npm test", None),
            ("make test", None),
            ("", None),
        ] {
            let argv: Vec<String> = command.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
            let shape = shape_of(&argv, &[String::new()]);
            assert_eq!(shape.map(|shape| shape.words), want, "{command}");
        }
    }

    #[test]
    fn every_folder_a_command_may_run_in_counts() {
        let argv = ["touch".to_owned(), "../a".to_owned()];
        assert!(shape_of(&argv, &["sub".to_owned()]).is_some());
        assert!(shape_of(&argv, &["sub".to_owned(), String::new()]).is_none());
        assert!(shape_of(&argv, &[]).is_none());
    }

    #[test]
    fn a_plain_argument_is_no_option_no_assignment_and_no_path_elsewhere() {
        let here = [String::new()];
        for word in ["g1", "v1.2.3", "a/b.txt", "会议", "a:b"] {
            assert!(is_plain_argument(word, &here), "{word}");
        }
        for word in [
            "",
            "-x",
            "+x",
            "a=b",
            "/etc",
            "../a",
            "a/../../b",
            ".env",
            "~",
            "a b",
            "$x",
            "a;b",
            "@f",
            "evil.py",
            "a/x.sh",
        ] {
            assert!(!is_plain_argument(word, &here), "{word}");
        }
    }
}
