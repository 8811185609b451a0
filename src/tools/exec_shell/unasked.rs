//! Commands that run without approval: git in them is hardened, and files that may contain secrets are hidden.

use std::path::{Path, PathBuf};

use super::unasked_reads::check_reads;
use crate::domain::Language;
use crate::policy::shell::{GitUse, ReadPath, ShellCall, Unasked, unasked};
use crate::ports::ToolFailure;
use crate::sandbox::Isolation;

/// The note for the model where git has left files out.
const LEFT_OUT: &str = "git left out files whose names suggest secrets, if there are any (.env*, *.pem, *.key, id_*, \
                        credentials*, secrets* and the like)";

#[derive(Debug)]
pub(super) struct Arranged {
    /// The command line for the shell.
    pub(super) command: String,
    /// The paths to hide.
    pub(super) hidden: Vec<PathBuf>,
    /// Further notes about its output.
    pub(super) notes: Vec<String>,
}

/// Prepares a command that runs without approval. The judge checked it earlier; changes since then are detected here.
/// `cwd` is relative to the project and without links. Accesses the disk.
pub(super) fn arrange_unasked(
    project: &Path,
    cwd: &Path,
    command: String,
    isolation: Isolation,
) -> Result<Arranged, ToolFailure> {
    let call = ShellCall { command: &command, cwd: &cwd.to_string_lossy() };
    let refused = |why: String| ToolFailure::Refused(format!("{why}; the command needs approval now"));
    let exists = |path: &str| project.join(path).symlink_metadata().is_ok();
    let known = unasked(&project.to_string_lossy(), &call, &exists);
    let known = known.map_err(|error| refused(error.to_string()))?;
    let Unasked { command, reads, leaves_out } = match known {
        Some(known) => known,
        // The judge never allows this. Should it happen, only a sandbox could keep the command from reading secrets.
        None if !isolation.hides() => {
            return Err(refused("it is not known what the command reads".to_owned()));
        }
        None => {
            let read = ReadPath { path: ".".to_owned(), deep: true, follows_links: false, git: GitUse::None };
            Unasked { command, reads: vec![read], leaves_out: false }
        }
    };
    let hidden = check_reads(project, &reads, isolation.hides())
        .map_err(|reason| refused(reason.words(Language::En)))?;
    let notes = leaves_out.then(|| LEFT_OUT.to_owned()).into_iter().collect();
    Ok(Arranged { command, hidden, notes })
}
