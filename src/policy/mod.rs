//! May this run? What did this reply mean? Who may answer? Pure: domain only.

pub mod reply;
