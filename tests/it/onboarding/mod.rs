//! The onboarding: in a pseudo-terminal and over HTTP. In the browser it is tested with the console.

mod interface;
mod killed;
pub(crate) mod provider;
mod terminal;
