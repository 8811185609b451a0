//! Scheduled tasks: from a file to a delivered result, by the real daemon.

mod kill;
mod runs;
