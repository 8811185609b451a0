//! The web adapter from the outside: requests in, bytes out, with the threads and the store played by the test.

mod access;
mod all_events;
mod chat;
mod cors;
mod events;
mod execute;
mod fake_threads;
mod http_messages;
#[path = "../../../../tests/fakes/json_schema.rs"]
mod json_schema;
mod login;
mod memory;
mod openapi;
mod operator;
mod pages;
mod refusals;
mod sockets;
mod test_server;
mod threads;
