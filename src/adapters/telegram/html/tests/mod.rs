//! That what is rendered is what Telegram takes, whole and short enough.

mod corpus;
mod golden;
mod properties;
mod validator;
mod words;
