//! Whole configurations: every kind of mistake with its exact words, what good ones become, and that types,
//! schema, checker and example agree.

mod agreement;
mod mistakes;
mod project;
mod settings;
