//! Time and unique ids, injected so that tests can fix them.

use crate::domain::{ApprovalId, CorrelationId, MessageId, Timestamp, ToolCallId};

pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now(&self) -> Timestamp;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}

pub trait Ids: Send + Sync + std::fmt::Debug {
    /// A unique text that sorts by time.
    fn unique(&self) -> String;

    /// A random number from 0 to 1, for jitter.
    fn chance(&self) -> f64 {
        0.5
    }

    /// For an assistant message.
    fn message(&self) -> MessageId {
        MessageId::made("msg_", &self.unique())
    }

    fn correlation(&self) -> CorrelationId {
        CorrelationId::made("run_", &self.unique())
    }

    /// For an approval: unguessable.
    fn approval(&self) -> ApprovalId {
        ApprovalId::made(&self.unguessable())
    }

    /// A text of at least 128 random bits.
    fn unguessable(&self) -> String {
        self.unique()
    }

    /// For a tool call without an id from the model.
    fn tool_call(&self) -> ToolCallId {
        ToolCallId::made("call_", &self.unique())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn unique(&self) -> String {
        uuid::Uuid::now_v7().simple().to_string()
    }

    fn unguessable(&self) -> String {
        // A random UUID has 122 random bits; two of them exceed the 128.
        let (first, second) =
            (uuid::Uuid::new_v4().simple().to_string(), uuid::Uuid::new_v4().simple().to_string());
        first.chars().chain(second.chars().take(8)).collect()
    }

    fn chance(&self) -> f64 {
        f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
    }
}
