//! Tables over schedules, task files and what runs at a time, and over the scheduler on a virtual clock.

mod bench;
mod clock_changes;
mod definitions;
mod faults;
mod plans;
mod scheduler;
mod schedules;
