//! README, the manual, the examples and the release files, against the program.

mod commands;
mod pages;
mod release;
mod scratch;
