//! A pattern of file names, as in a line of `.gitignore`: `*.rs` anywhere, `src/*.rs` there.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::ports::ToolFailure;

#[derive(Debug)]
pub(super) struct Glob(Option<Gitignore>);

impl Glob {
    /// Parses a pattern; none, or an empty one, matches every path.
    pub(super) fn read(pattern: Option<&str>) -> Result<Self, ToolFailure> {
        let pattern = pattern.unwrap_or_default().trim();
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.is_empty() {
            return Ok(Self(None));
        }
        if pattern.starts_with(['!', '#']) {
            return Err(bad(pattern, "it may not begin with `!` or `#`"));
        }
        let mut builder = GitignoreBuilder::new("");
        builder.add_line(None, pattern).map_err(|error| bad(pattern, &error.to_string()))?;
        let glob = builder.build().map_err(|error| bad(pattern, &error.to_string()))?;
        Ok(Self(Some(glob)))
    }

    /// Whether a path, relative to the project, or a folder above it matches.
    pub(super) fn matches(&self, relative: &Path, is_directory: bool) -> bool {
        self.0
            .as_ref()
            .is_none_or(|glob| glob.matched_path_or_any_parents(relative, is_directory).is_ignore())
    }

    /// Whether every path matches.
    pub(super) const fn is_everything(&self) -> bool {
        self.0.is_none()
    }
}

fn bad(pattern: &str, why: &str) -> ToolFailure {
    ToolFailure::BadArguments(format!("`glob` {pattern:?}: {why}; use a pattern such as *.rs or src/**/*.md"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_a_gitignore_line_means() {
        for (pattern, path, expected) in [
            ("", "a/b.rs", true),
            ("*.rs", "a/b.rs", true),
            ("*.rs", "a/b.txt", false),
            ("./src/*.rs", "src/a.rs", true),
            ("src/*.rs", "lib/src/a.rs", false),
            ("src/**/*.rs", "src/a/b/c.rs", true),
            ("**/*.{md,txt}", "a/b.txt", true),
            ("src/", "src/deep/a.rs", true),
            ("文档/*.md", "文档/说明.md", true),
        ] {
            let glob = Glob::read(Some(pattern)).unwrap();
            assert_eq!(glob.matches(Path::new(path), false), expected, "{pattern} {path}");
        }
        for pattern in ["!a", "#a", "{a"] {
            assert!(matches!(Glob::read(Some(pattern)), Err(ToolFailure::BadArguments(_))), "{pattern}");
        }
    }
}
