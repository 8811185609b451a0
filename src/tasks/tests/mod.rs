//! Tables over schedules, task files and what runs at a time, and over the scheduler on a virtual clock.

mod definitions;
mod plans;
mod scheduler;
mod schedules;
