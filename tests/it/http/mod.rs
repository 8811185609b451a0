//! The HTTP interface: who may come in, and the AI SDK as a client.

mod credentials;
mod sdk;
