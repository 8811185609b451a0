//! HTTP and the console. Requests are submitted to the threads; responses come from the threads' subscriptions and from
//! the store. No agent logic, and no state beside open sockets.

mod access;
mod adapter;
mod agents;
mod all_events;
mod approvals;
mod backup;
mod body;
mod branch;
#[cfg(test)]
mod bundle;
mod chat;
mod configuration;
mod cors;
mod credentials;
mod enrichment;
mod events;
mod execute;
mod files;
mod grants;
mod health;
mod hooks;
mod hosts;
mod ingress;
mod instructions;
mod limiter;
mod listen;
mod login;
mod logs;
mod memory;
mod models;
mod onboarding;
mod openapi;
mod operation;
mod options;
mod page;
mod problem;
mod request_checks;
mod routes;
mod run_stream;
mod server;
mod speech;
mod sse;
mod tasks;
#[cfg(test)]
mod tests;
mod thread_changes;
mod threads;
mod usage;

pub use adapter::WebAdapter;
pub use execute::{ExecuteResponse, answer};
pub use ingress::OPERATOR;
pub use listen::BindError;
pub use options::{WebOptions, WebParts};
