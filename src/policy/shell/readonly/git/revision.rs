//! Git revisions. A hash, and any ref, can name a file or a folder directly, without a path that shows whether it is
//! secret: where contents are shown, only commits may be named.

/// Makes git refuse anything but a commit.
const COMMIT: &str = "^{commit}";

/// The revision, restricted to commits or a path of a commit. `None` where that is not possible.
pub(super) fn of_commits(word: &str) -> Option<String> {
    if word.is_empty() || word.starts_with(":/") || word.starts_with('-') {
        return None;
    }
    // `HEAD^!`, `HEAD^@`, `HEAD^-1`: only commits have parents.
    let (base, last) = word.rsplit_once('^').unwrap_or((word, ""));
    let parents = matches!(last, "!" | "@")
        || last.strip_prefix('-').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if parents && !base.contains([':', '{']) && !base.contains("..") {
        return Some(word.to_owned());
    }
    match path_at(word) {
        Some(at) => {
            let (revision, path) = word.split_at_checked(at)?;
            // `a:b..c:d` is ambiguous.
            let doubtful = revision.contains("..")
                || path.split([':', '/']).any(|name| name != ".." && name.contains(".."));
            match revision {
                _ if doubtful => None,
                // The index, which has paths only: `:path`, `:2:path`.
                "" => Some(word.to_owned()),
                revision => Some(format!("{}{path}", one(revision))),
            }
        }
        None => match word.split_once("...").map(|sides| (sides, "...")) {
            Some(((from, to), dots)) if !to.contains("..") => Some(format!("{}{dots}{}", one(from), one(to))),
            Some(_) => None,
            None => match word.split_once("..") {
                Some((from, to)) if !to.contains("..") => Some(format!("{}..{}", one(from), one(to))),
                Some(_) => None,
                None => Some(one(word)),
            },
        },
    }
}

/// Whether a word is a pathspec by its form: `:(top)x`, `:!x`, `:^x`, and patterns, which cannot be revisions.
pub(super) fn is_pathspec(word: &str) -> bool {
    let pattern = |c: char| matches!(c, '*' | '?' | '[');
    [":(", ":!", ":^"].iter().any(|start| word.starts_with(start))
        || (word.contains(pattern) && !word.contains(':'))
}

/// The position of the colon in `revision:path`: the first one outside braces.
fn path_at(word: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in word.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// One side of a range; an empty one means `HEAD`.
fn one(revision: &str) -> String {
    match revision {
        "" | "^" => revision.to_owned(),
        peeled if peeled.ends_with(COMMIT) => peeled.to_owned(),
        revision => format!("{revision}{COMMIT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_made_to_name_commits() {
        for (word, want) in [
            ("HEAD", Some("HEAD^{commit}")),
            ("deadbeef", Some("deadbeef^{commit}")),
            ("HEAD~3", Some("HEAD~3^{commit}")),
            ("stash@{0}", Some("stash@{0}^{commit}")),
            ("^main", Some("^main^{commit}")),
            ("main..topic", Some("main^{commit}..topic^{commit}")),
            ("main...topic", Some("main^{commit}...topic^{commit}")),
            ("main..", Some("main^{commit}..")),
            ("..topic", Some("..topic^{commit}")),
            ("HEAD:src/main.rs", Some("HEAD^{commit}:src/main.rs")),
            ("HEAD:../x", Some("HEAD^{commit}:../x")),
            (":src/x", Some(":src/x")),
            (":0:src/x", Some(":0:src/x")),
            ("HEAD^!", Some("HEAD^!")),
            ("HEAD^@", Some("HEAD^@")),
            ("HEAD^-", Some("HEAD^-")),
            ("HEAD^-2", Some("HEAD^-2")),
            ("HEAD^2", Some("HEAD^2^{commit}")),
            ("v1^{commit}", Some("v1^{commit}")),
            ("v1^{tree}", Some("v1^{tree}^{commit}")),
            ("v1^{}", Some("v1^{}^{commit}")),
            ("HEAD^{/a:b}", Some("HEAD^{/a:b}^{commit}")),
            (":/fix", None),
            ("a..b..c", None),
            ("HEAD:a..HEAD:b", None),
            ("a..HEAD:b", None),
            ("", None),
        ] {
            assert_eq!(of_commits(word).as_deref(), want, "{word}");
        }
    }
}
