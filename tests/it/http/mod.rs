//! The HTTP interface: authentication, and the AI SDK as a client.

mod credentials;
mod sdk;
