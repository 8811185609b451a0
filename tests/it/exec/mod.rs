//! Commands without the judge: the sandbox alone isolates them, and they end. And judged commands: those without
//! approval show no secret and start no program that a repository names.

mod as_user;
mod bench;
#[cfg(target_arch = "x86_64")]
mod control_groups;
mod end;
mod everyday;
mod git_programs;
mod judging_files;
mod leaks;
mod memory_limit;
mod reach;
mod sockets;
mod unasked;
