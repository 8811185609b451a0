//! Where the running daemon is found: `.ship/run/address` and `.ship/run/token`, for its owner only.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use secrecy::SecretString;

use super::atomic::replace_file;

const ADDRESS: &str = "run/address";
const TOKEN: &str = "run/token";
const OWNER_ONLY: u32 = 0o600;

/// The token of this project: the one it had before, or a new one.
///
/// # Errors
/// When it can be neither read nor written.
pub fn token(state: &Path) -> io::Result<SecretString> {
    let path = state.join(TOKEN);
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().len() >= 32 => return Ok(text.trim().into()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let fresh = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    replace_file(&path, format!("{fresh}\n").as_bytes(), OWNER_ONLY)?;
    Ok(fresh.into())
}

/// The token that a daemon made for this project, if one did.
pub fn known_token(state: &Path) -> Option<SecretString> {
    let text = std::fs::read_to_string(state.join(TOKEN)).ok()?;
    Some(text.trim()).filter(|text| !text.is_empty()).map(SecretString::from)
}

/// Notes where the daemon listens.
///
/// # Errors
/// When it cannot be written.
pub fn announce(state: &Path, address: SocketAddr) -> io::Result<()> {
    replace_file(&state.join(ADDRESS), format!("{address}\n").as_bytes(), OWNER_ONLY)
}

/// The daemon no longer listens. A note that stays behind harms nobody: the lock tells who lives.
pub fn withdraw(state: &Path) {
    drop(std::fs::remove_file(state.join(ADDRESS)));
}

/// Where the daemon said it listens.
pub fn announced(state: &Path) -> Option<SocketAddr> {
    std::fs::read_to_string(state.join(ADDRESS)).ok()?.trim().parse().ok()
}
