//! Scheduled tasks: `.ship/tasks/*.md`.
//!
//! - [`schedule`] says when a task is due, [`definition`] is what a task file says, [`frontmatter`] reads it, `compose`
//!   changes it, `clock_changes` says what summer time does to it, [`planner`] decides which slots run, are made up for, or are given up: all pure.
//! - [`state`] is what is kept beside the file; [`book`] joins both.
//! - `known_tasks` reads files and states; [`scheduler`] owns all tasks of the daemon; [`run`] takes one slot from the event to the delivered result.
//!
//! A slot is an event with an id of its own, `task_<id>@<time>`. It is accepted like any message, so it runs once
//! however often it is submitted, and its result is posted once to each target.

pub mod book;
mod chat_command;
mod clock_changes;
mod compose;
pub mod definition;
mod delivery;
pub mod frontmatter;
mod known_tasks;
mod notices;
pub mod planner;
pub mod run;
pub mod schedule;
pub mod scheduler;
pub mod state;
mod task_states;
mod tasks_handle;
mod words;

pub use chat_command::ChatTasks;
pub use tasks_handle::{TaskBook, TaskRequests};

#[cfg(test)]
mod tests;
