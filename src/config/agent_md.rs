//! `Agent.md`: the one file a project must have.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::domain::Language;
use crate::phrases::config as words;

pub const AGENT_MD: &str = "Agent.md";

/// The largest `Agent.md`: all of it goes into every model call.
const MAX_BYTES: u64 = 256 * 1024;

/// Why `Agent.md` cannot be used.
#[derive(Debug)]
pub enum AgentMdError {
    /// The project directory does not exist.
    NoProject(PathBuf),
    Missing(PathBuf),
    Empty(PathBuf),
    TooLarge(PathBuf),
    /// It is not UTF-8.
    NotUtf8(PathBuf),
    Io {
        path: PathBuf,
        source: io::Error,
    },
}

impl AgentMdError {
    /// The message: what is wrong and what to do.
    pub fn words(&self, language: Language) -> String {
        match self {
            Self::NoProject(path) => words::no_project(path.display(), language),
            Self::Missing(path) => words::no_agent_md(path.display(), language),
            Self::Empty(path) => words::agent_md_empty(path.display(), language),
            Self::TooLarge(path) => words::agent_md_too_large(path.display(), language),
            Self::NotUtf8(path) => words::agent_md_not_utf8(path.display(), language),
            Self::Io { path, source } => words::agent_md_unreadable(path.display(), source, language),
        }
    }
}

impl fmt::Display for AgentMdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(Language::En))
    }
}

impl std::error::Error for AgentMdError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Reads the project's `Agent.md`.
pub fn read_agent_md(project: &Path) -> Result<String, AgentMdError> {
    let path = project.join(AGENT_MD);
    let bytes = match read_bounded(&path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(AgentMdError::Missing(path)),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(AgentMdError::TooLarge(path));
        }
        Err(source) => return Err(AgentMdError::Io { path, source }),
    };
    let Ok(text) = String::from_utf8(bytes) else { return Err(AgentMdError::NotUtf8(path)) };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if text.trim().is_empty() { Err(AgentMdError::Empty(path)) } else { Ok(text.to_owned()) }
}

/// Reads a whole file of at most `limit` bytes.
pub(super) fn read_bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Non-blocking: opening a named pipe would block for ever.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_have_no_agent_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(AGENT_MD);
        let outcome = |bytes: &[u8]| {
            File::create(&path).and_then(|mut file| io::Write::write_all(&mut file, bytes)).unwrap();
            read_agent_md(dir.path())
        };
        assert!(matches!(read_agent_md(dir.path()), Err(AgentMdError::Missing(_))));
        assert!(matches!(outcome(b" \n\t"), Err(AgentMdError::Empty(_))));
        assert!(matches!(outcome(b"\xff\xfe"), Err(AgentMdError::NotUtf8(_))));
        assert!(matches!(outcome(&vec![b'a'; 256 * 1024 + 1]), Err(AgentMdError::TooLarge(_))));
        assert_eq!(outcome(&vec![b'a'; 256 * 1024]).unwrap().len(), 256 * 1024);
        assert_eq!(outcome("\u{feff}# 你好\n".as_bytes()).unwrap(), "# 你好\n");
    }
}
