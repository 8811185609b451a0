//! Read-only commands about files and the machine.

use super::options::{Args, Operands, Spec};

pub(super) const TABLE: &[Spec] = &[
    Spec {
        names: &["ls"],
        flags: "1aAbBcCdDfFgGhHiklmnNopqQrRsStuUvxXZ",
        valued: "ITw",
        long: &[
            "--all",
            "--almost-all",
            "--author",
            "--classify[=]",
            "--color[=]",
            "--directory",
            "--file-type",
            "--format=",
            "--full-time",
            "--group-directories-first",
            "--human-readable",
            "--ignore=",
            "--inode",
            "--no-group",
            "--numeric-uid-gid",
            "--recursive",
            "--reverse",
            "--si",
            "--size",
            "--sort=",
            "--time=",
            "--time-style=",
        ],
        ..Spec::PLAIN
    },
    Spec {
        names: &["cat"],
        flags: "AbeEnstTuv",
        long: &[
            "--number",
            "--number-nonblank",
            "--show-all",
            "--show-ends",
            "--show-tabs",
            "--squeeze-blank",
        ],
        ..Spec::PLAIN
    },
    Spec {
        names: &["head"],
        flags: "qvz",
        valued: "nc",
        long: &["--lines=", "--bytes=", "--quiet", "--silent", "--verbose"],
        digits: true,
        ..Spec::PLAIN
    },
    // Without -f: it would run until its deadline.
    Spec {
        names: &["tail"],
        flags: "qvz",
        valued: "nc",
        long: &["--lines=", "--bytes=", "--quiet", "--silent", "--verbose"],
        digits: true,
        ..Spec::PLAIN
    },
    Spec {
        names: &["wc"],
        flags: "lwcmL",
        long: &["--lines", "--words", "--bytes", "--chars", "--max-line-length"],
        ..Spec::PLAIN
    },
    Spec {
        names: &["stat"],
        flags: "Lft",
        valued: "c",
        long: &["--dereference", "--file-system", "--format=", "--printf=", "--terse"],
        ..Spec::PLAIN
    },
    // Not -C, which writes, -p, which sets times, -f, which names more files, nor -z, which starts programs.
    Spec {
        names: &["file"],
        flags: "bhikLNrE",
        valued: "F",
        long: &["--brief", "--mime", "--mime-type", "--mime-encoding", "--extension", "--no-dereference"],
        ..Spec::PLAIN
    },
    // Not -L, which follows every link.
    Spec {
        names: &["du"],
        flags: "0abcDhHklmPsSx",
        valued: "dBt",
        long: &[
            "--all",
            "--apparent-size",
            "--bytes",
            "--exclude=",
            "--human-readable",
            "--max-depth=",
            "--one-file-system",
            "--separate-dirs",
            "--si",
            "--summarize",
            "--threshold=",
            "--total",
        ],
        ..Spec::PLAIN
    },
    Spec {
        names: &["df"],
        flags: "ahHiklPT",
        valued: "Btx",
        long: &[
            "--all",
            "--human-readable",
            "--inodes",
            "--local",
            "--portability",
            "--print-type",
            "--si",
            "--total",
        ],
        ..Spec::PLAIN
    },
    Spec { names: &["pwd"], flags: "LP", operands: Operands::None, ..Spec::PLAIN },
    Spec {
        names: &["basename"],
        flags: "az",
        valued: "s",
        long: &["--multiple", "--suffix=", "--zero"],
        operands: Operands::Text,
        ..Spec::PLAIN
    },
    Spec { names: &["dirname"], flags: "z", long: &["--zero"], operands: Operands::Text, ..Spec::PLAIN },
    Spec {
        names: &["realpath"],
        flags: "eLmPqsz",
        long: &[
            "--relative-to=",
            "--relative-base=",
            "--no-symlinks",
            "--canonicalize-missing",
            "--canonicalize-existing",
        ],
        path_options: &["--relative-to", "--relative-base"],
        ..Spec::PLAIN
    },
    Spec {
        names: &["readlink"],
        flags: "femnqsvz",
        long: &["--canonicalize", "--canonicalize-existing", "--canonicalize-missing", "--no-newline"],
        ..Spec::PLAIN
    },
    // Not -o, -R (writes pages with -o), -l (follows links) nor --fromfile.
    Spec {
        names: &["tree"],
        flags: "aACdDfFghinNpqrsStuUvJX",
        valued: "ILP",
        long: &[
            "--charset[=]",
            "--dirsfirst",
            "--du",
            "--filelimit[=]",
            "--filesfirst",
            "--gitignore",
            "--inodes",
            "--matchdirs",
            "--noreport",
            "--prune",
            "--si",
            "--sort[=]",
            "--timefmt[=]",
        ],
        ..Spec::PLAIN
    },
    Spec { names: &["whoami", "nproc", "arch", "logname", "tty"], operands: Operands::None, ..Spec::PLAIN },
    // Any operand would set the name.
    Spec { names: &["hostname"], operands: Operands::None, ..Spec::PLAIN },
    Spec { names: &["uptime"], flags: "ps", operands: Operands::None, ..Spec::PLAIN },
    Spec {
        names: &["uname"],
        flags: "aimnoprsv",
        long: &["--all", "--kernel-name", "--kernel-release", "--machine"],
        operands: Operands::None,
        ..Spec::PLAIN
    },
    Spec {
        names: &["id"],
        flags: "gGnruz",
        long: &["--group", "--groups", "--name", "--user"],
        operands: Operands::Text,
        ..Spec::PLAIN
    },
    Spec { names: &["which"], flags: "a", operands: Operands::Text, ..Spec::PLAIN },
    Spec { names: &["type"], flags: "afptP", operands: Operands::Text, ..Spec::PLAIN },
    Spec {
        names: &["date"],
        flags: "uR",
        valued: "dr",
        attached: "I",
        long: &[
            "--date=",
            "--iso-8601[=]",
            "--reference=",
            "--rfc-3339=",
            "--rfc-email",
            "--universal",
            "--utc",
        ],
        path_options: &["-r", "--reference"],
        operands: Operands::Text,
        check: only_formats,
        ..Spec::PLAIN
    },
    Spec {
        names: &[
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "shasum",
            "sum",
        ],
        flags: "btzrs",
        valued: "al",
        long: &["--binary", "--tag", "--text", "--algorithm=", "--length=", "--zero"],
        ..Spec::PLAIN
    },
];

/// An operand of `date` that is no format sets the clock.
fn only_formats(args: &Args) -> Result<(), String> {
    match args.operands.iter().find(|operand| !operand.starts_with('+')) {
        Some(sets) => Err(sets.clone()),
        None => Ok(()),
    }
}
