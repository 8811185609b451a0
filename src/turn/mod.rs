//! The turn: what happens next, decided without doing it. Pure.
