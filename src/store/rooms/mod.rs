//! Logs of rooms and the roster, in files that several daemons of one machine share.

mod folder;
mod room_log;
mod shared_rooms;
#[cfg(test)]
mod tests;

pub use folder::FolderFault;
pub use shared_rooms::SharedRooms;
