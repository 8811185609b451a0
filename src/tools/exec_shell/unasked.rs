//! How a command that runs unasked is run: git in it is hardened, and what may hold secrets is hidden from it.

use std::path::{Path, PathBuf};

use super::unasked_reads::check_reads;
use crate::domain::Language;
use crate::policy::shell::{ReadPath, ShellCall, Unasked, unasked};
use crate::ports::ToolFailure;
use crate::sandbox::Isolation;

/// What the model is told where git has left files out.
const LEFT_OUT: &str = "git left out files whose names suggest secrets, if there are any (.env*, *.pem, *.key, id_*, \
                        credentials*, secrets* and the like)";

/// A command and what goes with it.
#[derive(Debug)]
pub(super) struct Arranged {
    /// The line for the shell.
    pub(super) command: String,
    /// What it must not see.
    pub(super) hidden: Vec<PathBuf>,
    /// What else there is to tell about its output.
    pub(super) notes: Vec<String>,
}

/// Prepares a command that runs without approval. The judge checked it earlier; changes since then are detected
/// here. `cwd` is relative to the project and without links. Touches the disk.
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
        // No judge allows this. Were it to happen, only a sandbox could keep it from reading secrets.
        None if !isolation.hides() => {
            return Err(refused("it is not known what the command reads".to_owned()));
        }
        None => {
            let read = ReadPath { path: ".".to_owned(), deep: true, follows_links: false, repository: false };
            Unasked { command, reads: vec![read], leaves_out: false }
        }
    };
    let hidden = check_reads(project, &reads, isolation.hides())
        .map_err(|reason| refused(reason.words(Language::En)))?;
    let notes = leaves_out.then(|| LEFT_OUT.to_owned()).into_iter().collect();
    Ok(Arranged { command, hidden, notes })
}
