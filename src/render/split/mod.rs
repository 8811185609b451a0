//! Long CommonMark text to chunks that fit a platform. Nothing is lost but white space at the cuts; code that is
//! cut is closed in one chunk and opened again in the next, and a table that is cut has its header in both.

mod scan;
mod splitter;
#[cfg(test)]
mod tests;

pub use splitter::split;
