//! `POST /api/chat` and what comes back, byte for byte.

mod connection;
mod golden;
mod requests;
mod stream;
