//! What chat platforms have in common, so that none of them copies it: who may speak, which messages are for the
//! agent, how questions and their buttons look, how fast one may send, what is shown while a turn runs, where files
//! go, and how what takes a while to be handed in is neither lost nor in the way. Knows no platform by name.

mod attention;
mod backlog;
mod berth;
mod buttons;
mod deciders;
mod fetch;
mod fresh;
mod gate;
mod hand_in;
mod line;
mod pace;
mod parts;
mod question;
mod screen;

pub use attention::{Attention, Facts, Hearing, Respond};
pub use backlog::{Backlog, BacklogTask, Finish, Finished, Unaccepted};
pub use berth::Berth;
pub use buttons::{Button, Menu, decode, encode, label, rows};
pub use deciders::{Deciders, MayAnswer};
pub use fetch::{Downloads, FetchError, is_kept, keep, name_before};
pub use fresh::Fresh;
pub use gate::{Admission, Gate, GuestList};
pub use hand_in::{Handed, hand_in};
pub use line::{Haste, Lines, Place};
pub use pace::{Pace, Rate};
pub use parts::ChatParts;
pub use question::{fenced, question};
pub use screen::{Canvas, Frame, Painter, Screen, ScreenTask};
