//! `Agent.md`: the one file a project must have.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::domain::Language;

pub const AGENT_MD: &str = "Agent.md";

/// The largest `Agent.md` there may be: all of it goes into every call.
const MAX_BYTES: u64 = 256 * 1024;

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentMdError {
    /// The project directory is not there.
    #[error("{} is not a directory; give the project directory with -C DIR", .0.display())]
    NoProject(PathBuf),
    /// There is no such file.
    #[error("{} is missing; run `shipagent init` to create one, or give another directory with -C DIR", .0.display())]
    Missing(PathBuf),
    #[error("{} is empty; write down who the agent is and what it should do", .0.display())]
    Empty(PathBuf),
    /// It is too large.
    #[error("{} is larger than 256 KiB; all of it goes into every call, so shorten it", .0.display())]
    TooLarge(PathBuf),
    /// It is not text.
    #[error("{} is not UTF-8; save it as UTF-8", .0.display())]
    NotUtf8(PathBuf),
    #[error("{} cannot be read ({source}); check its permissions", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl AgentMdError {
    /// What is wrong and what to do, in a language.
    pub fn words(&self, language: Language) -> String {
        if language == Language::En {
            return self.to_string();
        }
        match self {
            Self::NoProject(path) => format!("{} 不是目录；请用 -C DIR 指定项目目录", path.display()),
            Self::Missing(path) => {
                format!("缺少 {}；请运行 `shipagent init` 创建，或用 -C DIR 指定其他目录", path.display())
            }
            Self::Empty(path) => format!("{} 是空的；请写下这个智能体是谁、该做什么", path.display()),
            Self::TooLarge(path) => format!("{} 超过 256 KiB；它会进入每次调用，请缩短", path.display()),
            Self::NotUtf8(path) => format!("{} 不是 UTF-8 编码；请另存为 UTF-8", path.display()),
            Self::Io { path, source } => format!("无法读取 {}（{source}）；请检查文件权限", path.display()),
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

/// Reads a whole file, unless it is larger than a bound.
pub(super) fn read_bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Without waiting: a named pipe in the file's place would never open.
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
