//! Commands with every judgement left out: whatever they try, the sandbox alone keeps them in, and they end. And
//! commands that are judged first: what runs unasked shows no secret and starts no program that a repository names.

mod bench;
mod end;
mod git_programs;
mod leaks;
mod reach;
mod unasked;
