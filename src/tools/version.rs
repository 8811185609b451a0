//! The version of a file's content, as a short digest. Pure.

use ring::digest::{Context, SHA256};

/// Computes the version of a file from its content, piece by piece.
pub(super) struct VersionOf(Context);

impl VersionOf {
    pub(super) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Sixteen hexadecimal digits: enough to distinguish contents, short enough for a model to repeat.
    pub(super) fn finish(self) -> String {
        self.0.finish().as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The version of a whole content.
pub(super) fn version_of(content: &[u8]) -> String {
    let mut version = VersionOf::new();
    version.add(content);
    version.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_have_versions_of_their_own_however_they_are_read() {
        let mut pieces = VersionOf::new();
        pieces.add(b"one ");
        pieces.add(b"two");
        assert_eq!(pieces.finish(), version_of(b"one two"));
        assert_ne!(version_of(b"one two"), version_of(b"one tw0"));
        assert_eq!(version_of(b""), "e3b0c44298fc1c14");
    }
}
