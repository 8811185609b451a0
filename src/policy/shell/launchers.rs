//! Which programs start others, and where in their arguments those stand. Data only.

/// Shells, which take a script.
pub(in crate::policy) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "yash", "zsh"];

/// Languages whose programs cannot be looked into.
pub(in crate::policy) const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "deno",
    "ed",
    "emacs",
    "ex",
    "expect",
    "gawk",
    "gdb",
    "irb",
    "julia",
    "lua",
    "luajit",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "octave",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "python2",
    "python3",
    "R",
    "Rscript",
    "ruby",
    "sqlite3",
    "tclsh",
    "ts-node",
    "tsx",
    "vi",
    "vim",
    "nvim",
    "view",
    "wish",
];

/// How a command names the one it starts.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    /// Options that take a value as their own word: one letter each.
    pub(super) short: &'static str,
    /// The same, long.
    pub(super) long: &'static [&'static str],
    /// How many operands stand before the command.
    pub(super) skip: usize,
    pub(super) form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The rest is the command.
    Argv,
    /// The rest, joined, is a script.
    Joined,
    /// The command gets more words from elsewhere.
    Open,
}

const fn argv(names: &'static [&'static str], short: &'static str, skip: usize) -> Wrapper {
    Wrapper { names, short, long: &[], skip, form: Form::Argv }
}

/// Commands that start the one they are given.
pub(super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo", "doas"],
        short: "ughpCrtTUDRa",
        long: &[
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--chdir",
            "--chroot",
            "--role",
            "--type",
            "--other-user",
        ],
        skip: 0,
        form: Form::Argv,
    },
    Wrapper { names: &["env"], short: "uC", long: &["--unset", "--chdir"], skip: 0, form: Form::Argv },
    Wrapper {
        names: &["timeout", "gtimeout"],
        short: "ks",
        long: &["--kill-after", "--signal"],
        skip: 1,
        form: Form::Argv,
    },
    Wrapper {
        names: &["xargs"],
        short: "adEILnPsJR",
        long: &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-lines",
            "--max-procs",
            "--max-chars",
            "--replace",
            "--process-slot-var",
        ],
        skip: 0,
        form: Form::Open,
    },
    Wrapper {
        names: &["nice", "ionice", "setsid", "nohup", "stdbuf"],
        short: "ncioep",
        long: &["--adjustment", "--class", "--classdata", "--input", "--output", "--error"],
        skip: 0,
        form: Form::Argv,
    },
    argv(&["command", "builtin", "exec", "coproc", "noglob", "nocorrect", "busybox", "toybox"], "a", 0),
    argv(&["time"], "fo", 0),
    argv(
        &["chroot", "chrt", "taskset", "flock", "setarch", "linux32", "linux64", "catchsegv", "faketime"],
        "",
        1,
    ),
    argv(
        &["strace", "ltrace", "perf", "valgrind", "rlwrap", "unbuffer", "fakeroot", "proot", "firejail"],
        "oepSEu",
        0,
    ),
    argv(
        &["unshare", "nsenter", "setpriv", "systemd-run", "bwrap", "caffeinate", "doppler", "dotenv"],
        "tSGu",
        0,
    ),
    Wrapper { names: &["watch"], short: "n", long: &["--interval"], skip: 0, form: Form::Joined },
    Wrapper { names: &["eval"], short: "", long: &[], skip: 0, form: Form::Joined },
    Wrapper { names: &["ssh"], short: "bcDEeFIiJLlmOopQRSWw", long: &[], skip: 1, form: Form::Joined },
    Wrapper { names: &["parallel"], short: "jSaIkLnN", long: &["--jobs"], skip: 0, form: Form::Open },
];

/// Options of other programs after which a command follows, up to `;` or `+`.
pub(super) const CALLING: &[(&[&str], &[&str])] = &[
    (&["find", "gfind"], &["-exec", "-execdir", "-ok", "-okdir"]),
    (&["fd", "fdfind"], &["-x", "-X", "--exec", "--exec-batch"]),
];

/// Options of other programs whose value is a script.
pub(super) const SCRIPTED: &[(&[&str], &[&str])] = &[
    (&["su", "runuser", "script", "flock"], &["-c", "--command"]),
    (&["env"], &["-S", "--split-string"]),
    (&["trap"], &[]),
];

/// Options of other programs that run something we do not look into.
pub(super) const HIDING: &[(&[&str], &[&str])] = &[
    (
        &["git"],
        &[
            "-c",
            "--config-env",
            "--exec",
            "--exec-path",
            "foreach",
            "run",
            "-x",
            "--upload-pack",
            "--ext-diff",
        ],
    ),
    (
        &["tar", "bsdtar", "gtar"],
        &[
            "-I",
            "-F",
            "--use-compress-program",
            "--to-command",
            "--checkpoint-action",
            "--info-script",
            "--rsh-command",
        ],
    ),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["sort"], &["--compress-program"]),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["scp", "sftp"], &["-S", "-o"]),
    (&["make", "gmake"], &["--eval", "SHELL"]),
    (&["docker", "podman", "kubectl"], &["exec", "run"]),
    (&["enable"], &["-f"]),
];
