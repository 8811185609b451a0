//! The commands that a longer approval covers with other arguments, with every option and operand of them that is known
//! to be harmless. Data only.

use crate::domain::Language;
use crate::phrases::approvals as words;

/// The kinds of values and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentKind {
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
pub(super) struct ShapeRow {
    pub(super) words: &'static str,
    /// One-letter options without a value.
    pub(super) flags: &'static str,
    /// Other options without a value.
    pub(super) options: &'static str,
    /// Options with a value, attached or as the next word.
    pub(super) valued: &'static [(&'static str, ArgumentKind)],
    /// Options of which one must be present.
    pub(super) needs: &'static str,
    /// The kind of operands; `None` when there may be none.
    pub(super) operands: Option<ArgumentKind>,
    /// What may follow `--` where it is not more operands.
    pub(super) tail: Option<&'static ShapeRow>,
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

const PLAIN: ShapeRow = ShapeRow {
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

const CARGO: ShapeRow = ShapeRow {
    flags: "vqr",
    options: "--all-targets --frozen --keep-going --lib --locked --offline --quiet --release --tests --verbose",
    valued: &[
        ("-j", ArgumentKind::Number),
        ("--jobs", ArgumentKind::Number),
        ("--color", ArgumentKind::Choice("always auto never")),
        ("--message-format", ArgumentKind::Choice("human json short")),
    ],
    runs: true,
    varies: OPTIONS,
    ..PLAIN
};

const PYTEST: ShapeRow = ShapeRow {
    flags: "lqsvx",
    options: "--co --collect-only --exitfirst --failed-first --ff --last-failed --lf --no-header --quiet \
        --showlocals --verbose",
    valued: &[
        ("-k", ArgumentKind::Names),
        ("-m", ArgumentKind::Names),
        ("--durations", ArgumentKind::Number),
        ("--maxfail", ArgumentKind::Number),
        ("--tb", ArgumentKind::Choice("auto long short line native no")),
    ],
    operands: Some(ArgumentKind::TestPath),
    runs: true,
    varies: words::other_test_files,
    ..PLAIN
};

/// The table. Deliberately left out: options that run, load or write something else, options that select other
/// packages, manifests or folders, and programs whose options are not all known here.
pub(super) const TABLE: &[ShapeRow] = &[
    ShapeRow {
        words: "git add",
        flags: "vuAN",
        options: "--all --ignore-errors --intent-to-add --refresh --update --verbose",
        operands: Some(ArgumentKind::Path),
        ..PLAIN
    },
    ShapeRow {
        words: "git commit",
        flags: "aqsv",
        options: "--all --quiet --signoff --verbose",
        valued: &[("-m", ArgumentKind::Text), ("--message", ArgumentKind::Text)],
        // Without a message git would start an editor.
        needs: "-m --message",
        varies: words::other_message,
        ..PLAIN
    },
    ShapeRow {
        words: "cargo test",
        options: "--all-targets --doc --frozen --lib --locked --no-fail-fast --no-run --offline --quiet --release \
            --tests --verbose",
        operands: Some(ArgumentKind::Name),
        tail: Some(&ShapeRow {
            flags: "q",
            options: "--exact --ignored --include-ignored --list --nocapture --quiet --show-output",
            valued: &[("--test-threads", ArgumentKind::Number), ("--skip", ArgumentKind::Name)],
            operands: Some(ArgumentKind::Name),
            ..PLAIN
        }),
        varies: TESTS,
        ..CARGO
    },
    ShapeRow {
        words: "cargo nextest run",
        options: "--all-targets --frozen --lib --locked --no-capture --no-fail-fast --nocapture --offline --release \
            --tests --verbose",
        operands: Some(ArgumentKind::Name),
        varies: TESTS,
        ..CARGO
    },
    ShapeRow { words: "cargo build", ..CARGO },
    ShapeRow { words: "cargo check", ..CARGO },
    ShapeRow {
        words: "cargo clippy",
        tail: Some(&ShapeRow {
            valued: &[("-A", ArgumentKind::Name), ("-D", ArgumentKind::Name), ("-W", ArgumentKind::Name)],
            ..PLAIN
        }),
        ..CARGO
    },
    ShapeRow {
        words: "cargo fmt",
        flags: "vq",
        options: "--all --check --quiet --verbose",
        varies: OPTIONS,
        ..PLAIN
    },
    ShapeRow { words: "pytest", ..PYTEST },
    ShapeRow { words: "python -m pytest", ..PYTEST },
    ShapeRow { words: "python3 -m pytest", ..PYTEST },
    ShapeRow {
        words: "go test",
        options: "-cover -failfast -race -short -v -x",
        valued: &[
            ("-count", ArgumentKind::Number),
            ("-p", ArgumentKind::Number),
            ("-parallel", ArgumentKind::Number),
            ("-run", ArgumentKind::Text),
            ("-skip", ArgumentKind::Text),
            ("-timeout", ArgumentKind::Name),
        ],
        operands: Some(ArgumentKind::Package),
        runs: true,
        varies: words::other_tests_and_packages,
        ..PLAIN
    },
    ShapeRow {
        words: "go vet",
        options: "-v -x",
        operands: Some(ArgumentKind::Package),
        varies: words::other_packages,
        ..PLAIN
    },
    ShapeRow {
        words: "ruff check",
        flags: "qv",
        options: "--no-cache --quiet --statistics --verbose",
        operands: Some(ArgumentKind::Path),
        ..PLAIN
    },
    ShapeRow {
        words: "ruff format",
        flags: "qv",
        options: "--check --diff --no-cache --quiet --verbose",
        operands: Some(ArgumentKind::Path),
        ..PLAIN
    },
    ShapeRow {
        words: "rustfmt",
        flags: "lqv",
        options: "--check --files-with-diff --quiet --verbose",
        valued: &[("--edition", ArgumentKind::Choice("2015 2018 2021 2024"))],
        operands: Some(ArgumentKind::Path),
        ..PLAIN
    },
    ShapeRow {
        words: "mkdir",
        flags: "pv",
        options: "--parents --verbose",
        operands: Some(ArgumentKind::Path),
        ..PLAIN
    },
    ShapeRow { words: "touch", operands: Some(ArgumentKind::Path), ..PLAIN },
];
