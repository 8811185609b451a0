//! Time and fresh ids, handed in so that tests can fix them.

use crate::domain::{CorrelationId, MessageId, Timestamp, ToolCallId};

/// Tells the time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}

/// Makes ids that nothing else has.
pub trait Ids: Send + Sync + std::fmt::Debug {
    /// A text that never comes twice and sorts by time.
    fn unique(&self) -> String;

    /// For an assistant message.
    fn message(&self) -> MessageId {
        prefixed("msg_", &self.unique())
    }

    /// For a run.
    fn correlation(&self) -> CorrelationId {
        prefixed("run_", &self.unique())
    }

    /// For a tool call whose model gave none.
    fn tool_call(&self) -> ToolCallId {
        prefixed("call_", &self.unique())
    }
}

/// Joins a prefix and a unique text; both are ours, so the result is always a good id.
fn prefixed<T: std::str::FromStr<Err = crate::domain::BadId>>(prefix: &str, unique: &str) -> T {
    let text: String = format!("{prefix}{unique}").chars().filter(|c| !c.is_control()).take(120).collect();
    match text.parse() {
        Ok(id) => id,
        Err(_) => prefixed(prefix, ""),
    }
}

/// Time-ordered random ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn unique(&self) -> String {
        uuid::Uuid::now_v7().simple().to_string()
    }
}
