//! Commands with every judgement left out: whatever they try, the sandbox alone keeps them in, and they end. And
//! commands that are judged first: what runs unasked shows no secret and starts no program that a repository names.

mod as_user;
mod bench;
#[cfg(target_arch = "x86_64")]
mod control_groups;
mod end;
mod everyday;
mod git_programs;
mod judging_files;
mod leaks;
mod memory;
mod reach;
mod sockets;
mod unasked;
