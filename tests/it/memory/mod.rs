//! Memory: who is shown what, and how it is changed.

mod bad_input;
mod control;
mod forget;
mod isolation;
mod matrix;
