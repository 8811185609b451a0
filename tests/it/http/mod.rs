//! The HTTP interface: authentication, the health probe, and the AI SDK as a client.

mod backup;
mod credentials;
mod health;
mod messages;
mod openapi;
mod sdk;
mod threads;
