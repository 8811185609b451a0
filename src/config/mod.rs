//! `ship.json`: as it is written, as it is checked, as the program knows it.
