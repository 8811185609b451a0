//! stub
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class { ReadOnly, ProjectWritable }
