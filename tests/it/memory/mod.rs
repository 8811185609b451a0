//! Memory: who is shown what, and how it is changed.

mod control;
mod isolation;
