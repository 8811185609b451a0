//! Programs that start others in a way that is not parsed here, and those that start none. Data only; lists are words
//! separated by spaces.

/// Programs that start what their arguments, files or later input say, in a way that is not parsed here.
pub(super) const OPAQUE: &str = "\
    . abduco adb alias ansible at batch bind bwrap capsh complete conda crontab daemonize devbox dtach \
    ed emacs enable entr ex expect fabric fakeroot fc firejail gdb guix hash heroku lldb lxc machinectl \
    mapfile micromamba nano newgrp nix nix-shell nodemon nox nvim perf proot pueue qemu-x86_64 readarray \
    reflex rlwrap rr runsv screen sem sg source start-stop-daemon supervisord tmux tox tsp unbuffer \
    vagrant valgrind vi view vim virsh watchexec wine zellij";

/// Options of other programs that are followed by a command, up to `;` or `+`.
pub(super) const CALLING: &[(&str, &str)] =
    &[("find gfind", "-exec -execdir -ok -okdir"), ("fd fdfind", "-x -X --exec --exec-batch")];

/// Options and words of other programs that run something that is not inspected.
pub(super) const HIDING: &[(&str, &str)] = &[
    (
        "git",
        "-c --config --config-env --exec --exec-path --extcmd --ext-diff --open-files-in-pager \
        --receive-pack --template --textconv --to-cmd --upload-pack -O -x",
    ),
    (
        "tar bsdtar gtar",
        "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script \
        --rsh-command --rmt-command",
    ),
    ("rsync", "-e --rsh --rsync-path"),
    ("zip", "-TT --unzip-command"),
    ("sort gsort", "--compress-program"),
    ("split gsplit", "--filter"),
    ("rg", "--pre --hostname-bin"),
    ("man", "-P --pager -H --html"),
    ("scp sftp", "-S -o -D"),
    ("ssh", "-o -F"),
    ("make gmake", "--eval -E SHELL .SHELLFLAGS MAKEFLAGS"),
    ("docker podman nerdctl kubectl oc", "exec run debug"),
    ("go", "-exec -toolexec -vettool --exec --toolexec --vettool"),
    ("cargo", "--config -Z"),
    ("npm pnpm yarn bun npx", "--script-shell --node-options --shell --editor"),
    ("pytest py.test", "-p -c -o --pdbcls --override-ini"),
    ("hg", "--config"),
    ("curl", "-K --config"),
    ("wget", "--use-askpass -e --execute"),
    ("cmake", "-E -P"),
    ("openssl", "engine -engine -provider -provider-path"),
    ("nix-build ghci", "--run --command"),
    ("rustc clang gcc cc", "-wrapper -fplugin -fuse-ld -B"),
];

/// Options that, for any program, name a program or code to run, or a place to write to.
pub(super) const EXECUTING: &str = "\
    --askpass --checkpoint-action --cmd --command --compress-program --coverprofile --editor --eval --exec \
    --exec-batch --execute --extcmd --hook --info-script --junit-xml --junitxml --loader --log-file --logfile \
    --new-volume-script --open-files-in-pager --out --out-dir --out-file --outdir --outfile --pager --plugin --preload \
    --receive-pack --report-file --require --rmt-command --rsh --rsh-command --rsync-path --script-shell --shell \
    --target-dir --to-command --upload-pack --use-compress-program --wrapper -coverprofile -exec -toolexec";

/// Programs that never execute their arguments, with any content.
pub(super) const SELF_CONTAINED: &str = "\
    [ basename base64 cat cd chgrp chmod chown cksum cmp column comm cp curl cut date declare df diff \
    dirname du echo egrep exit expand export expr false fd fdfind fgrep file find fmt fold gfind grep \
    head hexdump hostname id install join jq kill less ln local ls md5sum mkdir mktemp more mv nl od \
    paste pkill printf ps pwd read readlink readonly realpath return rev rg rm rmdir scp seq set sha1sum \
    sha256sum shasum shift sleep sort split stat strings sum tac tail tee test touch tr tree true \
    truncate type typeset uname uniq unlink unset wait wc wget which whoami xxd yes";

/// Programs that may execute what they read from their input, beside shells and interpreters.
pub(super) const READS_CODE: &str = "\
    ansible at batch bc cmake crontab dc docker ed ex expect ftp gap gdb gmake gnuplot gp kubectl lftp lldb m4 make \
    maxima mysql ninja octave parallel patch podman psql sftp sqlite3 ssh telnet";

/// Programs that write none of their operands and do not execute them.
pub(super) const READS_FILES: &str = "\
    . [ basename cat cd chgrp chmod chown cmp diff dirname du echo egrep file find grep head less ls md5sum mkdir \
    printf pwd readlink realpath rg rm rmdir sha256sum source stat tail test touch type wc which";

/// Subcommands of git that start programs named by their arguments or settings.
pub(super) const GIT_STARTS: &str =
    "config daemon difftool filter-branch for-each-repo hook instaweb mergetool send-email";

/// Subcommands of git that start nothing their arguments name.
pub(super) const GIT_SELF_CONTAINED: &str =
    "add branch checkout commit diff log mv reset restore rm show stash status switch tag";

/// Whether a variable of this name determines which programs run.
pub(super) fn decides_programs(variable: &str) -> bool {
    const NAMES: &str = "\
    AR BASHOPTS BASH_ENV BROWSER CC CXX EDITOR ENV FCEDIT HOME IFS LD LESSCLOSE LESSOPEN MAKEFLAGS \
    NODE_OPTIONS NODE_PATH PAGER PATH PERL5LIB PERL5OPT PROMPT_COMMAND PS4 PYTHONHOME PYTHONPATH \
    PYTHONSTARTUP RSYNC_RSH RUBYLIB RUBYOPT RUSTC RUSTDOC RUSTFLAGS SHELL SHELLOPTS TAR_OPTIONS VISUAL";
    const BEGINNINGS: &str = "LD_ DYLD_ GIT_ CARGO_ NPM_CONFIG_ PIP_ BASH_FUNC_ XDG_";
    const ENDINGS: &str = "PAGER EDITOR _COMMAND _WRAPPER _ASKPASS _RUNNER _SHELL";
    let name = variable.to_ascii_uppercase();
    NAMES.split_ascii_whitespace().any(|known| known == name)
        || BEGINNINGS.split_ascii_whitespace().any(|beginning| name.starts_with(beginning))
        || ENDINGS.split_ascii_whitespace().any(|ending| name.ends_with(ending))
}
