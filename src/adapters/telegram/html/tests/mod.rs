//! The rendered HTML is valid for Telegram, complete, and within the limits.

mod corpus;
mod golden;
mod properties;
mod validator;
mod words;
