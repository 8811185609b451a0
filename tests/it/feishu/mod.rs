//! Feishu: the real binary against a fake platform.

mod api;
mod files;
mod kill;
mod messages;
mod rights;
