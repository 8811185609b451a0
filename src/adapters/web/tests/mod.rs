//! The web adapter from the outside: requests in, bytes out, with the threads and the store played by the test.

mod access;
mod chat;
mod events;
mod execute;
mod login;
mod pages;
mod sockets;
mod test_server;
mod threads;
