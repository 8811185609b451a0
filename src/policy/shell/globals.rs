//! Options between a program and its subcommand, and other spellings of subcommands: where `push` is in `git -C x
//! --git-dir y push`. Data and the function that skips the options.

use super::launchers::lists;
use super::rules::base_name;
use super::word::ShellWord;

/// The options of one program before its subcommand. Lists are words separated by spaces.
pub(super) struct Globals {
    names: &'static str,
    /// One-letter options without a value.
    flags: &'static str,
    /// One-letter options with a value, attached or as the next word.
    valued: &'static str,
    /// Long options: `--x` takes no value, `--x=` takes the next word when none is attached.
    long: &'static str,
    /// Every subcommand of the program; empty where other words may be subcommands too. A word outside a non-empty list
    /// may be an alias.
    pub(super) subcommands: &'static str,
}

/// The position of the subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    At(usize),
    Missing,
    /// An option is not in the table, or a word is unknown until it runs.
    Unknown,
}

impl Globals {
    /// The table of the program with this name.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        GLOBALS.iter().find(|globals| lists(globals.names, base_name(name)))
    }

    /// Skips the options before the subcommand.
    pub(super) fn subcommand(&self, args: &[ShellWord]) -> Subcommand {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let Some(text) = arg.literal() else { return Subcommand::Unknown };
            let skip = if let Some(toolchain) = text.strip_prefix('+') {
                usize::from(self.names == "cargo" && !toolchain.is_empty())
            } else if text.starts_with("--") {
                self.long_option(text)
            } else if text.len() > 1 && text.starts_with('-') {
                self.short_options(text)
            } else {
                return Subcommand::At(at);
            };
            let value_is_dynamic =
                skip == 2 && args.get(at + 1).is_some_and(|value| value.literal().is_none());
            if skip == 0 || value_is_dynamic {
                return Subcommand::Unknown;
            }
            at += skip;
        }
        Subcommand::Missing
    }

    /// How many words a long option has; zero for one that is not in the table.
    fn long_option(&self, text: &str) -> usize {
        if text.contains('=') {
            // The option's value is in the same word.
            return 1;
        }
        let takes_value = |long: &str| long.strip_suffix('=') == Some(text);
        let mut long = self.long.split_ascii_whitespace();
        match (long.clone().any(|long| long == text), long.any(takes_value)) {
            (true, _) => 1,
            (false, true) => 2,
            (false, false) => 0,
        }
    }

    /// How many words a cluster of one-letter options has; zero for one that is not in the table.
    fn short_options(&self, text: &str) -> usize {
        let mut letters = text.chars().skip(1);
        while let Some(letter) = letters.next() {
            if self.valued.contains(letter) {
                return if letters.next().is_some() { 1 } else { 2 };
            }
            if !self.flags.contains(letter) {
                return 0;
            }
        }
        1
    }
}

const GLOBALS: &[Globals] = &[
    Globals {
        names: "git",
        flags: "pPhv",
        valued: "Cc",
        long: "--attr-source= --bare --config-env= --exec-path --git-dir= --glob-pathspecs --help \
            --html-path --icase-pathspecs --info-path --literal-pathspecs --man-path --namespace= \
            --no-advice --no-lazy-fetch --no-optional-locks --no-pager --no-replace-objects \
            --noglob-pathspecs --paginate --shallow-file= --super-prefix= --version --work-tree=",
        subcommands: GIT_SUBCOMMANDS,
    },
    Globals {
        names: "docker podman nerdctl",
        flags: "Dvr",
        valued: "HcLl",
        long: "--config= --connection= --context= --debug --host= --identity= --log-level= --namespace= \
            --remote --root= --runroot= --storage-driver= --tls --tlscacert= --tlscert= --tlskey= \
            --tlsverify --url=",
        subcommands: "",
    },
    Globals {
        names: "kubectl oc helm",
        flags: "h",
        valued: "ns",
        long: "--as= --as-group= --cluster= --context= --debug --kube-context= --kubeconfig= --namespace= \
            --request-timeout= --server= --token= --user=",
        subcommands: "",
    },
    Globals {
        names: "cargo",
        flags: "qvV",
        valued: "CZ",
        long: "--color= --config= --frozen --locked --offline --quiet --verbose",
        subcommands: "",
    },
    Globals {
        names: "npm pnpm yarn bun",
        flags: "sqdrg",
        valued: "CwF",
        long: "--cwd= --dir= --filter= --global --loglevel= --prefix= --quiet --recursive --registry= \
            --silent --workspace= --workspaces",
        subcommands: "",
    },
    Globals {
        names: "systemctl",
        flags: "alqfri",
        valued: "HMtpnosP",
        long: "--all --force --full --host= --machine= --no-ask-password --no-block --no-legend --no-pager \
            --now --property= --quiet --root= --runtime --signal= --state= --system --type= --user",
        subcommands: "",
    },
    Globals {
        names: "pip pip3",
        flags: "qv",
        valued: "",
        long: "--cache-dir= --cert= --debug --disable-pip-version-check --isolated --log= --no-cache-dir \
            --no-color --no-input --proxy= --python= --quiet --require-virtualenv --retries= --timeout= \
            --trusted-host= --verbose",
        subcommands: "",
    },
    Globals {
        names: "apt apt-get dnf yum",
        flags: "ydqfmsuVbhC",
        valued: "ocatR",
        long: "--allow-downgrades --assume-yes --no-install-recommends --quiet --yes",
        subcommands: "",
    },
    Globals {
        names: "bundle bundler",
        flags: "vV",
        valued: "",
        long: "--no-color --retry= --verbose",
        subcommands: "",
    },
    // `-chdir=x` contains its value; the single dash makes it a cluster that is not in the table.
    Globals { names: "terraform tofu", flags: "", valued: "c", long: "", subcommands: "" },
];

/// Spellings of the same subcommand.
const SAME: &[(&str, &[&str])] = &[
    (
        "npm pnpm yarn bun",
        &[
            "install i in ins inst insta instal isnt isnta isntal isntall add it install-test",
            "ci clean-install ic install-clean isntall-clean cit clean-install-test sit",
            "uninstall un unlink remove rm r",
            "update up upgrade udpate",
            "run run-script rum urn",
            "exec x",
            "test t tst",
            "dist-tag dist-tags",
        ],
    ),
    ("cargo", &["build b", "check c", "doc d", "run r", "test t", "remove rm"]),
    ("brew", &["uninstall rm remove", "install instal"]),
    ("helm", &["uninstall del delete un"]),
    ("apt apt-get dnf yum", &["remove erase rm", "autoremove auto-remove"]),
    ("git", &["stage add", "push send-pack http-push"]),
];

/// Whether both words are the same subcommand of a program.
pub(super) fn same_subcommand(program: &str, one: &str, other: &str) -> bool {
    let has = |group: &str, word: &str| group.split(' ').any(|known| known == word);
    one == other
        || SAME
            .iter()
            .filter(|(names, _)| lists(names, base_name(program)))
            .flat_map(|(_, groups)| groups.iter())
            .any(|group| has(group, one) && has(group, other))
}

/// The built-in subcommands of git.
const GIT_SUBCOMMANDS: &str = "\
    add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column \
    commit commit-graph commit-tree config count-objects credential describe diff diff-files diff-index \
    diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref \
    for-each-repo format-patch fsck gc get-tar-commit-id grep gui hash-object help hook index-pack init \
    instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge \
    merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev \
    notes pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase \
    reflog remote repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm \
    send-email send-pack shortlog show show-branch show-index show-ref sparse-checkout stage stash \
    status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index \
    update-ref update-server-info upload-archive var verify-commit verify-pack verify-tag version \
    whatchanged worktree write-tree";
