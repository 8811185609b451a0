//! Programs that start others, and the position of those in their arguments. Data only.

use super::opaque::OPAQUE;

/// Shells, which execute a script.
pub(in crate::policy) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "osh", "rbash", "sh", "tcsh", "yash", "zsh"];

/// Languages whose programs cannot be inspected.
pub(in crate::policy) const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "clojure",
    "deno",
    "ed",
    "elixir",
    "elvish",
    "emacs",
    "erl",
    "ex",
    "expect",
    "gawk",
    "gdb",
    "ghc",
    "groovy",
    "guile",
    "irb",
    "jshell",
    "julia",
    "lua",
    "luajit",
    "mawk",
    "mysql",
    "nawk",
    "node",
    "nodejs",
    "nu",
    "ocaml",
    "octave",
    "osascript",
    "perl",
    "php",
    "psql",
    "pwsh",
    "pypy",
    "pypy3",
    "python",
    "python2",
    "python3",
    "R",
    "racket",
    "raku",
    "Rscript",
    "ruby",
    "sbcl",
    "scala",
    "sqlite3",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
    "vi",
    "vim",
    "nvim",
    "view",
    "wish",
    "xonsh",
];

/// How a command names the one it starts. An unlisted option makes the rest unreadable. Lists are words separated by
/// spaces.
pub(super) struct Launcher {
    pub(super) names: &'static str,
    /// The subcommands that start another command; empty when the program always does.
    pub(super) subcommands: &'static str,
    /// One-letter options without a value.
    pub(super) flags: &'static str,
    /// One-letter options with a value, attached or as the next word.
    pub(super) valued: &'static str,
    /// One-letter options that may have a value, attached.
    pub(super) attached: &'static str,
    /// Long options: `--x` takes no value, `--x=` takes one, `--x[=]` may have one attached.
    pub(super) long: &'static str,
    /// Options whose value is a script: `-c`, `--command`.
    pub(super) scripts: &'static str,
    /// The number of operands before the command, least and most.
    pub(super) operands: (usize, usize),
    /// Whether `A=b` may precede the command.
    pub(super) assigns: bool,
    pub(super) form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The rest is the command.
    Argv,
    /// The rest, joined, is a script.
    Joined,
    /// The command gets more words from another source.
    Open,
}

const PLAIN: Launcher = Launcher {
    names: "",
    subcommands: "",
    flags: "",
    valued: "",
    attached: "",
    long: "",
    scripts: "",
    operands: (0, 0),
    assigns: false,
    form: Form::Argv,
};

/// Commands that start the one they are given.
pub(super) const LAUNCHERS: &[Launcher] = &[
    Launcher {
        names: "sudo",
        flags: "ABbEHiKkNnPSs",
        valued: "CDgGhpRrTtUu",
        long: "--askpass --background --bell --chdir= --chroot= --close-from= --command-timeout= --group= \
            --host= --login --no-update --non-interactive --other-user= --preserve-env[=] \
            --preserve-groups --prompt= --remove-timestamp --reset-timestamp --role= --set-home --shell \
            --stdin --type= --user=",
        assigns: true,
        ..PLAIN
    },
    Launcher { names: "doas", flags: "nsLS", valued: "uCa", assigns: true, ..PLAIN },
    Launcher { names: "gosu su-exec", operands: (1, 1), ..PLAIN },
    Launcher {
        names: "env genv",
        flags: "i0v",
        valued: "uCaP",
        long: "--argv0= --block-signal[=] --chdir= --debug --default-signal[=] --ignore-environment \
            --ignore-signal[=] --list-signal-handling --null --unset=",
        scripts: "-S --split-string",
        assigns: true,
        ..PLAIN
    },
    Launcher {
        names: "timeout gtimeout",
        flags: "fpv",
        valued: "ks",
        long: "--foreground --kill-after= --preserve-status --signal= --verbose",
        operands: (1, 1),
        ..PLAIN
    },
    Launcher {
        names: "xargs gxargs",
        flags: "0oprtx",
        valued: "adEILnPsJRS",
        attached: "eil",
        long: "--arg-file= --delimiter= --eof[=] --exit --interactive --max-args= --max-chars= \
            --max-lines[=] --max-procs= --no-run-if-empty --null --open-tty --process-slot-var= \
            --replace[=] --show-limits --verbose",
        form: Form::Open,
        ..PLAIN
    },
    Launcher {
        names: "parallel",
        flags: "0kqtuX",
        valued: "jSaILnNdP",
        long: "--dry-run --halt= --jobs= --keep-order --null --quote --tag --will-cite",
        form: Form::Open,
        ..PLAIN
    },
    Launcher { names: "nice", flags: "0123456789", valued: "n", long: "--adjustment=", ..PLAIN },
    Launcher {
        names: "ionice",
        flags: "t",
        valued: "cnpPu",
        long: "--class= --classdata= --ignore --pgid= --pid= --uid=",
        ..PLAIN
    },
    Launcher { names: "setsid", flags: "cfw", long: "--ctty --fork --wait", ..PLAIN },
    Launcher { names: "nohup builtin noglob nocorrect catchsegv", ..PLAIN },
    Launcher { names: "dumb-init tini", flags: "cvsgw", valued: "rpe", ..PLAIN },
    Launcher { names: "stdbuf", valued: "ioe", long: "--error= --input= --output=", ..PLAIN },
    Launcher { names: "command", flags: "p", ..PLAIN },
    Launcher { names: "exec", flags: "cl", valued: "a", ..PLAIN },
    // `coproc NAME { … }` has a name first.
    Launcher { names: "coproc busybox toybox", long: "--list --list-full", ..PLAIN },
    Launcher {
        names: "time gtime",
        flags: "pvqaV",
        valued: "fo",
        long: "--append --format= --output= --portability --quiet --verbose",
        assigns: true,
        ..PLAIN
    },
    Launcher {
        names: "chroot",
        valued: "ugG",
        long: "--groups= --skip-chdir --userspec=",
        operands: (1, 1),
        ..PLAIN
    },
    Launcher {
        names: "chrt",
        flags: "abdefiormRv",
        valued: "TPD",
        long: "--all-tasks --batch --deadline --ext --fifo --idle --other --reset-on-fork --rr \
            --sched-deadline= --sched-period= --sched-runtime= --verbose",
        operands: (1, 1),
        ..PLAIN
    },
    Launcher { names: "taskset", flags: "ac", long: "--all-tasks --cpu-list", operands: (1, 1), ..PLAIN },
    Launcher { names: "faketime", flags: "mf", operands: (1, 1), ..PLAIN },
    Launcher {
        names: "flock",
        flags: "enosuxFv",
        valued: "wE",
        long: "--close --conflict-exit-code= --exclusive --nb --no-fork --nonblock --shared --timeout= \
            --unlock --verbose --wait=",
        scripts: "-c --command",
        operands: (1, 1),
        ..PLAIN
    },
    Launcher {
        names: "setarch linux32 linux64 i386 i686 x86_64 aarch64 uname26",
        flags: "3BFILRSTXZv",
        long: "--32bit --3gb --4gb --addr-compat-layout --addr-no-randomize --fdpic-funcptrs \
            --mmap-page-zero --read-implies-exec --short-inode --sticky-timeouts --uname-2.6 --verbose \
            --whole-seconds",
        // `setarch x86_64 -R rm x`, `setarch -R rm x`: the architecture is optional, and options may follow it.
        operands: (0, 1),
        ..PLAIN
    },
    Launcher {
        names: "unshare",
        flags: "imnpuUCTfrc",
        valued: "RwSGl",
        long: "--boottime= --cgroup[=] --fork --ipc[=] --keep-caps --kill-child[=] --map-auto \
            --map-current-user --map-group= --map-groups= --map-root-user --map-user= --map-users= \
            --monotonic= --mount-proc[=] --mount[=] --net[=] --pid[=] --propagation= --root= --setgid= \
            --setgroups= --setuid= --time[=] --user[=] --uts[=] --wd=",
        ..PLAIN
    },
    Launcher {
        names: "nsenter",
        flags: "aFeZc",
        valued: "tSGW",
        attached: "muinpUCTrw",
        long: "--all --cgroup[=] --env --follow-context --ipc[=] --join-cgroup --mount[=] --net[=] \
            --no-fork --pid[=] --preserve-credentials --root[=] --setgid= --setuid= --target= --time[=] \
            --user[=] --uts[=] --wd[=] --wdns=",
        ..PLAIN
    },
    Launcher {
        names: "setpriv",
        long: "--ambient-caps= --apparmor-profile= --bounding-set= --clear-groups --egid= --euid= --groups= \
            --inh-caps= --init-groups --keep-groups --landlock-access= --landlock-rule= --no-new-privs \
            --nnp --pdeathsig= --ptracer= --regid= --reset-env --reuid= --rgid= --ruid= \
            --seccomp-filter= --securebits= --selinux-label=",
        ..PLAIN
    },
    Launcher {
        names: "strace",
        flags: "AcCdfFhiknNqrtTvVwxyYzZD",
        valued: "abeEIoOpPsSuUX",
        long: "--attach= --follow-forks --output-separately --output= --quiet[=] --string-limit= --trace=",
        ..PLAIN
    },
    Launcher { names: "ltrace", flags: "bcCfhiLrStTV", valued: "aAdDeFlnosuwxX", ..PLAIN },
    Launcher {
        names: "watch",
        flags: "bcdegprtwx",
        valued: "nqs",
        long: "--beep --chgexit --color --differences[=] --equexit= --errexit --exec --interval= --no-title \
            --no-wrap --precise",
        form: Form::Joined,
        ..PLAIN
    },
    Launcher { names: "eval", form: Form::Joined, ..PLAIN },
    Launcher {
        names: "ssh",
        flags: "46AaCfGgKkMNnqsTtVvXxYy",
        valued: "BbcDEeIiJLlmOpPQRSWw",
        operands: (1, 1),
        form: Form::Joined,
        ..PLAIN
    },
    Launcher {
        names: "su runuser",
        flags: "lmpfP",
        valued: "ugGsw",
        long: "--fast --group= --login --preserve-environment --pty --shell= --supp-group= --user= \
            --whitelist-environment=",
        scripts: "-c --command --session-command",
        operands: (0, 1),
        ..PLAIN
    },
    Launcher {
        names: "script",
        flags: "aefqrk",
        valued: "BEIOTmoF",
        attached: "t",
        long: "--append --echo= --flush --force --log-in= --log-io= --log-out= --log-timing= \
            --logging-format= --output-limit= --quiet --return --timing[=]",
        scripts: "-c --command",
        operands: (1, 1),
        ..PLAIN
    },
    Launcher {
        names: "systemd-run",
        flags: "Gqrt",
        valued: "pEuMH",
        long: "--collect --description= --gid= --no-block --pipe --property= --pty --quiet --same-dir \
            --scope --setenv= --slice= --system --uid= --unit= --user --wait --working-directory=",
        ..PLAIN
    },
    Launcher {
        names: "npx pnpx",
        flags: "yq",
        valued: "pw",
        long: "--ignore-existing --no --no-install --package= --quiet --workspace= --yes",
        scripts: "-c --call",
        ..PLAIN
    },
    Launcher { names: "bunx", valued: "p", long: "--bun --package=", ..PLAIN },
    Launcher {
        names: "npm pnpm yarn bun",
        subcommands: "exec x dlx",
        flags: "yq",
        valued: "pw",
        long: "--no --package= --quiet --workspace= --yes",
        scripts: "-c --call",
        ..PLAIN
    },
    Launcher {
        names: "poetry pipenv uv rye pdm pixi dotenv doppler op hatch pipx",
        subcommands: "run",
        flags: "q",
        valued: "p",
        long: "--all-extras --frozen --group= --isolated --locked --no-sync --python= --spec= --with=",
        ..PLAIN
    },
    Launcher { names: "uvx", flags: "q", valued: "p", long: "--from= --python= --with=", ..PLAIN },
    Launcher { names: "rustup", subcommands: "run", long: "--install", operands: (1, 1), ..PLAIN },
    Launcher { names: "bundle rbenv pyenv opam stack cabal composer", subcommands: "exec", ..PLAIN },
    Launcher { names: "direnv aws-vault", subcommands: "exec", operands: (1, 1), ..PLAIN },
    Launcher { names: "mise asdf", subcommands: "exec x", operands: (0, 1), ..PLAIN },
    Launcher {
        names: "ld.so",
        long: "--argv0= --audit= --glibc-hwcaps-mask= --glibc-hwcaps-prepend= --inhibit-cache \
            --inhibit-rpath= --library-path= --preload=",
        ..PLAIN
    },
];

/// Whether a list contains a name, in any case, with or without a version suffix.
pub(super) fn lists(list: &str, name: &str) -> bool {
    let has = |name: &str| list.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(name));
    has(name) || has(unversioned(name))
}

/// Whether a program of the project may run what its arguments name: by its name, or because a package manager has
/// installed it, under any name.
pub(in crate::policy) fn runs_its_arguments(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let stem = name.split('.').next().unwrap_or(name);
    let launches =
        |name: &str| LAUNCHERS.iter().any(|launcher| lists(launcher.names, name)) || lists(OPAQUE, name);
    let runs = |name: &str| is_shell(name) || is_interpreter(name) || launches(name);
    let installed = |folder: &str| {
        let hidden = folder.len() > 1 && folder.starts_with('.') && folder != "..";
        hidden || lists("node_modules vendor venv env virtualenv site-packages Scripts", folder)
    };
    runs(name)
        || runs(stem)
        || lists("gradlew mvnw rails rake artisan manage console", stem)
        || program.split('/').rev().skip(1).any(installed)
}

/// Whether the name is that of a shell.
pub(super) fn is_shell(name: &str) -> bool {
    is_in(SHELLS, name)
}

/// Whether the name is that of a language.
pub(super) fn is_interpreter(name: &str) -> bool {
    is_in(INTERPRETERS, name)
}

fn is_in(list: &[&str], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(unversioned(name)))
}

/// The name without a version suffix: `python3.12` is `python`.
pub(super) fn unversioned(name: &str) -> &str {
    let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
    if short.is_empty() { name } else { short }
}
