//! The commands that a longer approval covers with other arguments, with every option and operand of them that is known
//! to be harmless. Data only.

use crate::domain::Language;
use crate::phrases::approvals as words;

/// The kinds of values and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any text that does not look like an option: it is only stored or compared.
    Text,
    /// A name such as `parser::reads_a_line`.
    Name,
    /// Names separated by spaces.
    Names,
    Number,
    /// One of these words.
    Choice(&'static str),
    /// A file or folder of the project that is neither secret nor sensitive.
    Path,
    /// The same, optionally followed by `::name`.
    TestPath,
    /// `./x`, `./...`: a package of the project.
    Package,
}

/// A command of the table. Lists are words separated by spaces.
#[derive(Debug)]
pub(super) struct Row {
    /// The fixed words.
    pub(super) words: &'static str,
    /// One-letter options without a value.
    pub(super) flags: &'static str,
    /// Other options without a value.
    pub(super) options: &'static str,
    /// Options with a value, attached or as the next word.
    pub(super) valued: &'static [(&'static str, Kind)],
    /// Options of which one must be present.
    pub(super) needs: &'static str,
    /// The kind of operands; `None` when there may be none.
    pub(super) operands: Option<Kind>,
    /// What may follow `--` where it is not more operands.
    pub(super) tail: Option<&'static Row>,
    /// Whether it runs files of the project that a path may name; hooks are sensitive, and no path of the table names
    /// them.
    pub(super) runs: bool,
    /// What may differ.
    pub(super) varies: Words,
}

/// An entry of the phrase table.
type Words = fn(Language) -> &'static str;

pub(super) const PATHS: Words = words::other_paths;
const TESTS: Words = words::other_tests;
const OPTIONS: Words = words::other_options;

const PLAIN: Row = Row {
    words: "",
    flags: "",
    options: "",
    valued: &[],
    needs: "",
    operands: None,
    tail: None,
    runs: false,
    varies: PATHS,
};

const CARGO: Row = Row {
    flags: "vqr",
    options: "--all-targets --frozen --keep-going --lib --locked --offline --quiet --release --tests --verbose",
    valued: &[
        ("-j", Kind::Number),
        ("--jobs", Kind::Number),
        ("--color", Kind::Choice("always auto never")),
        ("--message-format", Kind::Choice("human json short")),
    ],
    runs: true,
    varies: OPTIONS,
    ..PLAIN
};

const PYTEST: Row = Row {
    flags: "lqsvx",
    options: "--co --collect-only --exitfirst --failed-first --ff --last-failed --lf --no-header --quiet \
        --showlocals --verbose",
    valued: &[
        ("-k", Kind::Names),
        ("-m", Kind::Names),
        ("--durations", Kind::Number),
        ("--maxfail", Kind::Number),
        ("--tb", Kind::Choice("auto long short line native no")),
    ],
    operands: Some(Kind::TestPath),
    runs: true,
    varies: words::other_test_files,
    ..PLAIN
};

/// The table. Deliberately left out: options that run, load or write something else, options that select other
/// packages, manifests or folders, and programs whose options are not all known here.
pub(super) const TABLE: &[Row] = &[
    Row {
        words: "git add",
        flags: "vuAN",
        options: "--all --ignore-errors --intent-to-add --refresh --update --verbose",
        operands: Some(Kind::Path),
        ..PLAIN
    },
    Row {
        words: "git commit",
        flags: "aqsv",
        options: "--all --quiet --signoff --verbose",
        valued: &[("-m", Kind::Text), ("--message", Kind::Text)],
        // Without a message git would start an editor.
        needs: "-m --message",
        varies: words::other_message,
        ..PLAIN
    },
    Row {
        words: "cargo test",
        options: "--all-targets --doc --frozen --lib --locked --no-fail-fast --no-run --offline --quiet --release \
            --tests --verbose",
        operands: Some(Kind::Name),
        tail: Some(&Row {
            flags: "q",
            options: "--exact --ignored --include-ignored --list --nocapture --quiet --show-output",
            valued: &[("--test-threads", Kind::Number), ("--skip", Kind::Name)],
            operands: Some(Kind::Name),
            ..PLAIN
        }),
        varies: TESTS,
        ..CARGO
    },
    Row {
        words: "cargo nextest run",
        options: "--all-targets --frozen --lib --locked --no-capture --no-fail-fast --nocapture --offline --release \
            --tests --verbose",
        operands: Some(Kind::Name),
        varies: TESTS,
        ..CARGO
    },
    Row { words: "cargo build", ..CARGO },
    Row { words: "cargo check", ..CARGO },
    Row {
        words: "cargo clippy",
        tail: Some(&Row { valued: &[("-A", Kind::Name), ("-D", Kind::Name), ("-W", Kind::Name)], ..PLAIN }),
        ..CARGO
    },
    Row {
        words: "cargo fmt",
        flags: "vq",
        options: "--all --check --quiet --verbose",
        varies: OPTIONS,
        ..PLAIN
    },
    Row { words: "pytest", ..PYTEST },
    Row { words: "python -m pytest", ..PYTEST },
    Row { words: "python3 -m pytest", ..PYTEST },
    Row {
        words: "go test",
        options: "-cover -failfast -race -short -v -x",
        valued: &[
            ("-count", Kind::Number),
            ("-p", Kind::Number),
            ("-parallel", Kind::Number),
            ("-run", Kind::Text),
            ("-skip", Kind::Text),
            ("-timeout", Kind::Name),
        ],
        operands: Some(Kind::Package),
        runs: true,
        varies: words::other_tests_and_packages,
        ..PLAIN
    },
    Row {
        words: "go vet",
        options: "-v -x",
        operands: Some(Kind::Package),
        varies: words::other_packages,
        ..PLAIN
    },
    Row {
        words: "ruff check",
        flags: "qv",
        options: "--no-cache --quiet --statistics --verbose",
        operands: Some(Kind::Path),
        ..PLAIN
    },
    Row {
        words: "ruff format",
        flags: "qv",
        options: "--check --diff --no-cache --quiet --verbose",
        operands: Some(Kind::Path),
        ..PLAIN
    },
    Row {
        words: "rustfmt",
        flags: "lqv",
        options: "--check --files-with-diff --quiet --verbose",
        valued: &[("--edition", Kind::Choice("2015 2018 2021 2024"))],
        operands: Some(Kind::Path),
        ..PLAIN
    },
    Row { words: "mkdir", flags: "pv", options: "--parents --verbose", operands: Some(Kind::Path), ..PLAIN },
    Row { words: "touch", operands: Some(Kind::Path), ..PLAIN },
];
