//! Tables over the pure parts: schedules, task files, and what runs at a time.

mod definitions;
mod plans;
mod schedules;
