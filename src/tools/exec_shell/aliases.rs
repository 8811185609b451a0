//! Paths in a command's environment that lead to programs through links, such as a `PATH` entry in the home directory
//! that is a link into a store. The sandbox covers unknown paths, so it must know these.

use std::path::{Path, PathBuf};

/// Variables with folders of programs, separated by colons.
const NAMING: &[&str] = &["PATH", "JAVA_HOME", "GOROOT", "RUSTUP_HOME"];

/// Every folder of these variables whose path contains links. Accesses the disk.
pub(super) fn aliases_in(own: &[(String, String)]) -> Vec<PathBuf> {
    let values = own.iter().filter(|(name, _)| NAMING.contains(&name.as_str()));
    let named = values.flat_map(|(_, value)| value.split(':')).map(Path::new);
    let rustup = own.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home).join(".rustup"));
    let mut aliases: Vec<PathBuf> = named
        .map(Path::to_owned)
        .chain(rustup)
        .filter(|path| path.is_absolute())
        .filter(|path| path.canonicalize().is_ok_and(|place| place.is_dir() && place != *path))
        .collect();
    aliases.sort();
    aliases.dedup();
    aliases
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_that_is_named_by_a_link_is_an_alias() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["store/bin", "store/toolchains", "plain"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("store", root.join("profile")).unwrap();
        symlink(root.join("store/toolchains"), root.join(".rustup")).unwrap();
        let shown = |path: &str| root.join(path).to_string_lossy().into_owned();
        let path = [shown("profile/bin"), shown("plain"), shown("gone"), "profile/bin".into()].join(":");
        let own = [("PATH".to_owned(), path), ("HOME".to_owned(), root.to_string_lossy().into_owned())];
        assert_eq!(aliases_in(&own), [root.join(".rustup"), root.join("profile/bin")]);
    }
}
