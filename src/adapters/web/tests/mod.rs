//! The web adapter from the outside: requests in, bytes out, with the threads and the store played by the test.

mod access;
mod all_events;
mod chat;
mod events;
mod execute;
mod login;
mod memory;
mod pages;
mod refusals;
mod sockets;
mod test_server;
mod threads;
