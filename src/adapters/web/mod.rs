//! HTTP and the console. Requests are submitted to the threads; responses come from the threads' subscriptions and from
//! the store. No agent logic, and no state beside open sockets.

mod access;
mod adapter;
mod all_events;
mod approvals;
mod body;
#[cfg(test)]
mod bundle;
mod chat;
mod credentials;
mod events;
mod execute;
mod files;
mod grants;
mod health;
mod hooks;
mod hosts;
mod ingress;
mod limiter;
mod listen;
mod login;
mod memory;
mod options;
mod page;
mod problem;
mod request_checks;
mod run_stream;
mod server;
mod sse;
mod tasks;
#[cfg(test)]
mod tests;
mod threads;

pub use adapter::WebAdapter;
pub use execute::{ExecuteResponse, answer};
pub use ingress::OPERATOR;
pub use listen::BindError;
pub use options::{WebOptions, WebParts};
