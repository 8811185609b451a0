//! Commands with every judgement left out: whatever they try, the sandbox alone keeps them in, and they end.

mod as_user;
mod bench;
mod end;
mod everyday;
mod memory;
mod reach;
mod sockets;
