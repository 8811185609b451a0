//! Parses arguments like getopt, against an explicit list of read-only options.

use crate::policy::Reason;

/// The allowed arguments of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptionSpec {
    /// The names of the command.
    pub(super) names: &'static [&'static str],
    /// One-letter options without a value.
    pub(super) flags: &'static str,
    /// One-letter options with a value, attached or as the next word.
    pub(super) valued: &'static str,
    /// One-letter options that may have a value, attached.
    pub(super) attached: &'static str,
    /// Long options. `--x` takes no value, `--x=` takes one, `--x[=]` may have one attached, `--x[=next]` takes the
    /// next word if there is one.
    pub(super) long: &'static [&'static str],
    /// Options, of those above, whose value is a path that is read.
    pub(super) path_options: &'static [&'static str],
    /// Whether `-5` is an option.
    pub(super) digits: bool,
    pub(super) operands: Operands,
    /// Flags that make it read whole folders; `*` when it always does.
    pub(super) deep: &'static [&'static str],
    /// Flags that make it follow the links it finds in folders; `*` when it always does.
    pub(super) follows_links: &'static [&'static str],
    pub(super) check: fn(&Args) -> Result<(), String>,
}

impl OptionSpec {
    /// No options, paths as operands.
    pub(super) const PLAIN: Self = Self {
        names: &[],
        flags: "",
        valued: "",
        attached: "",
        long: &[],
        path_options: &[],
        digits: false,
        operands: Operands::Paths,
        deep: &[],
        follows_links: &[],
        check: |_| Ok(()),
    };
}

/// The kinds of words that belong to no option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// There may be none.
    None,
    /// Any text; nothing is opened.
    Text,
    /// Paths that are read.
    Paths,
    /// At most this many paths; the next one would be written.
    PathsAtMost(usize),
    /// A pattern, unless one of these options contains it, then paths.
    PatternThenPaths(&'static [&'static str]),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Args {
    /// Options as `-x` or `--xyz`, each with its value.
    pub(super) options: Vec<(String, Option<String>)>,
    pub(super) operands: Vec<String>,
    /// The word index of each operand.
    pub(super) places: Vec<usize>,
    /// How many operands precede `--`; `None` where there is no `--`.
    pub(super) before_separator: Option<usize>,
}

impl Args {
    /// Whether any of these options is present.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Parses the arguments of a command by its list.
    ///
    /// # Errors
    /// Names the first argument that is not on the list.
    pub(super) fn read(spec: &OptionSpec, command: &str, words: &[String]) -> Result<Self, Reason> {
        let mut args = Self::default();
        let all = words.len();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let unknown = || Reason::Argument { command: command.to_owned(), argument: word.clone() };
            let place = all - words.len() - 1;
            if word == "--" {
                args.before_separator = Some(args.operands.len());
                args.places.extend(place + 1..all);
                args.operands.extend(words.by_ref().cloned());
            } else if word.starts_with("--") {
                args.long(spec, word, &mut words).ok_or_else(unknown)?;
            } else if word.len() > 1 && word.starts_with('-') {
                args.short(spec, word, &mut words).ok_or_else(unknown)?;
            } else {
                args.places.push(place);
                args.operands.push(word.clone());
            }
        }
        (spec.check)(&args).map_err(|argument| Reason::Argument { command: command.to_owned(), argument })?;
        Ok(args)
    }

    fn long<'a>(
        &mut self,
        spec: &OptionSpec,
        word: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Option<()> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let known = |ending: &str| spec.long.iter().any(|long| long.strip_suffix(ending) == Some(name));
        let value = match attached {
            Some(value) if known("=") || known("[=]") || known("[=next]") => Some(value),
            None if known("=") => Some(own_word(rest.next()?)?),
            None if known("[=next]") => {
                rest.next().map(own_word).map_or(Some(None), |word| word.map(Some))?
            }
            None if known("[=]") || spec.long.contains(&name) => None,
            _ => return None,
        };
        self.options.push((name.to_owned(), value));
        Some(())
    }

    fn short<'a>(
        &mut self,
        spec: &OptionSpec,
        word: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Option<()> {
        let cluster = word.strip_prefix('-')?;
        if spec.digits && cluster.bytes().all(|b| b.is_ascii_digit()) {
            self.options.push(("-n".to_owned(), Some(cluster.to_owned())));
            return Some(());
        }
        let mut letters = cluster.chars();
        while let Some(letter) = letters.next() {
            let name = format!("-{letter}");
            if spec.flags.contains(letter) {
                self.options.push((name, None));
            } else if spec.valued.contains(letter) {
                let attached = letters.as_str();
                let value = if attached.is_empty() { own_word(rest.next()?)? } else { attached.to_owned() };
                self.options.push((name, Some(value)));
                return Some(());
            } else if spec.attached.contains(letter) {
                let attached = letters.as_str();
                self.options.push((name, (!attached.is_empty()).then(|| attached.to_owned())));
                return Some(());
            } else {
                return None;
            }
        }
        Some(())
    }
}

/// A value in a word of its own. One that looks like an option is refused: should a program parse its options
/// differently, no option may be hidden as another's value.
pub(super) fn own_word(word: &String) -> Option<String> {
    let hides = word.strip_prefix('-').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    (!hides || word == "-").then(|| word.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: OptionSpec = OptionSpec {
        flags: "ab",
        valued: "n",
        attached: "M",
        long: &["--all", "--max=", "--color[=]", "--merged[=next]"],
        digits: true,
        ..OptionSpec::PLAIN
    };

    fn read(text: &str) -> Option<String> {
        let words: Vec<String> = text.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
        let args = Args::read(&SPEC, "x", &words).ok()?;
        let options =
            args.options.iter().map(|(name, value)| format!("{name}:{}", value.as_deref().unwrap_or("")));
        Some(options.chain(args.operands.iter().cloned()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn operands_keep_their_places_and_the_separator_is_known() {
        let words: Vec<String> = "-a x -n 3 y -- -z".split(' ').map(str::to_owned).collect();
        let args = Args::read(&SPEC, "x", &words).unwrap();
        assert_eq!((args.operands.join(" ").as_str(), args.places.as_slice()), ("x y -z", &[1, 4, 6][..]));
        assert_eq!(args.before_separator, Some(2));
        assert_eq!(Args::read(&SPEC, "x", &["x".to_owned()]).unwrap().before_separator, None);
    }

    #[test]
    fn arguments_are_sorted_as_getopt_does() {
        for (text, want) in [
            ("", Some("")),
            ("-ab x", Some("-a: -b: x")),
            ("x -a y", Some("-a: x y")),
            ("-n5 -n 6 -an7", Some("-n:5 -n:6 -a: -n:7")),
            ("-20", Some("-n:20")),
            ("-n -5", Some("-n:-5")),
            ("-M5 -aM x", Some("-M:5 -a: -M: x")),
            ("--all --max=3 --max 4", Some("--all: --max:3 --max:4")),
            ("--color --color=x y", Some("--color: --color:x y")),
            ("--merged a b", Some("--merged:a b")),
            ("--merged", Some("--merged:")),
            ("-- -z --zz", Some("-z --zz")),
            ("-", Some("-")),
            ("-z", None),
            ("-az", None),
            ("--al", None),
            ("--all=x", None),
            ("--max", None),
            ("-n", None),
            ("--merge", None),
            ("-n -a", None),
            ("--max --all", None),
            ("--merged --all", None),
            ("--max -o", None),
            ("-2a", None),
        ] {
            assert_eq!(read(text).as_deref(), want, "{text}");
        }
    }
}
