//! README, the manual, the examples and the release files, against the program.

mod commands;
mod inline;
mod pages;
mod release;
mod scratch;
