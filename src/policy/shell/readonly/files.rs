//! Read-only commands about files and the machine.

use super::options::{Args, Operands, OptionSpec};

pub(super) const TABLE: &[OptionSpec] = &[
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["head"],
        flags: "qvz",
        valued: "nc",
        long: &["--lines=", "--bytes=", "--quiet", "--silent", "--verbose"],
        digits: true,
        ..OptionSpec::PLAIN
    },
    // Without -f: it would run until its deadline.
    OptionSpec {
        names: &["tail"],
        flags: "qvz",
        valued: "nc",
        long: &["--lines=", "--bytes=", "--quiet", "--silent", "--verbose"],
        digits: true,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["wc"],
        flags: "lwcmL",
        long: &["--lines", "--words", "--bytes", "--chars", "--max-line-length"],
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["stat"],
        flags: "Lft",
        valued: "c",
        long: &["--dereference", "--file-system", "--format=", "--printf=", "--terse"],
        ..OptionSpec::PLAIN
    },
    // Not -C, which writes, -p, which sets times, -f, which names more files, nor -z, which starts programs.
    OptionSpec {
        names: &["file"],
        flags: "bhikLNrE",
        valued: "F",
        long: &["--brief", "--mime", "--mime-type", "--mime-encoding", "--extension", "--no-dereference"],
        ..OptionSpec::PLAIN
    },
    // Not -L, which follows every link.
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec { names: &["pwd"], flags: "LP", operands: Operands::None, ..OptionSpec::PLAIN },
    OptionSpec {
        names: &["basename"],
        flags: "az",
        valued: "s",
        long: &["--multiple", "--suffix=", "--zero"],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["dirname"],
        flags: "z",
        long: &["--zero"],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["readlink"],
        flags: "femnqsvz",
        long: &["--canonicalize", "--canonicalize-existing", "--canonicalize-missing", "--no-newline"],
        ..OptionSpec::PLAIN
    },
    // Not -o, -R (writes pages with -o), -l (follows links) nor --fromfile.
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["whoami", "nproc", "arch", "logname", "tty"],
        operands: Operands::None,
        ..OptionSpec::PLAIN
    },
    // Any operand would set the name.
    OptionSpec { names: &["hostname"], operands: Operands::None, ..OptionSpec::PLAIN },
    OptionSpec { names: &["free"], flags: "bghklmtw", operands: Operands::None, ..OptionSpec::PLAIN },
    OptionSpec { names: &["uptime"], flags: "ps", operands: Operands::None, ..OptionSpec::PLAIN },
    OptionSpec {
        names: &["uname"],
        flags: "aimnoprsv",
        long: &["--all", "--kernel-name", "--kernel-release", "--machine"],
        operands: Operands::None,
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        names: &["id"],
        flags: "gGnruz",
        long: &["--group", "--groups", "--name", "--user"],
        operands: Operands::Text,
        ..OptionSpec::PLAIN
    },
    OptionSpec { names: &["which"], flags: "a", operands: Operands::Text, ..OptionSpec::PLAIN },
    OptionSpec { names: &["type"], flags: "afptP", operands: Operands::Text, ..OptionSpec::PLAIN },
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
    OptionSpec {
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
        ..OptionSpec::PLAIN
    },
];

/// An operand of `date` that is no format sets the clock.
fn only_formats(args: &Args) -> Result<(), String> {
    match args.operands.iter().find(|operand| !operand.starts_with('+')) {
        Some(sets) => Err(sets.clone()),
        None => Ok(()),
    }
}
