//! `POST /api/chat` and its response, byte for byte.

mod connection;
mod golden;
mod requests;
mod stream;
