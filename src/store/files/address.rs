//! The address and token of the running daemon: `.ship/run/address` and `.ship/run/token`, readable by their owner
//! only.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use secrecy::SecretString;

use super::atomic::replace_file;

const ADDRESS: &str = "run/address";
const TOKEN: &str = "run/token";
const OWNER_ONLY: u32 = 0o600;

/// The token of this project; created where there is none.
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

/// The token of this project, if a daemon has created one.
pub fn known_token(state: &Path) -> Option<SecretString> {
    let text = std::fs::read_to_string(state.join(TOKEN)).ok()?;
    Some(text.trim()).filter(|text| !text.is_empty()).map(SecretString::from)
}

/// Stores the daemon's address.
///
/// # Errors
/// When it cannot be written.
pub fn announce(state: &Path, address: SocketAddr) -> io::Result<()> {
    replace_file(&state.join(ADDRESS), format!("{address}\n").as_bytes(), OWNER_ONLY)
}

/// Removes the address. A stale file is harmless: the lock tells whether a daemon runs.
pub fn withdraw(state: &Path) {
    drop(std::fs::remove_file(state.join(ADDRESS)));
}

/// The stored address of the daemon.
pub fn announced(state: &Path) -> Option<SocketAddr> {
    std::fs::read_to_string(state.join(ADDRESS)).ok()?.trim().parse().ok()
}
