//! A grant: an approval that holds for longer than one call. Whether it covers a call is decided in `policy`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{AuthorId, ThreadId, Timestamp};

/// The number people see: `G1`, `G2`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GrantNumber(pub u32);

/// Grants that raise spend caps are numbered from here, so that they have numbers of their own: `B1`, `B2`, …
const BUDGET_GRANTS: u32 = 1 << 31;

impl GrantNumber {
    /// The number of a grant that raises a spend cap.
    pub const fn of_budget(number: u32) -> Self {
        Self(number | BUDGET_GRANTS)
    }

    /// The number among the grants that raise spend caps; `None` for any other grant.
    pub const fn budget(self) -> Option<u32> {
        if self.0 >= BUDGET_GRANTS { Some(self.0 & !BUDGET_GRANTS) } else { None }
    }
}

/// The text is not a grant number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a grant: expected a name such as G1")]
pub struct BadGrantNumber;

impl fmt::Display for GrantNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.budget() {
            Some(number) => write!(f, "B{number}"),
            None => write!(f, "G{}", self.0),
        }
    }
}

impl FromStr for GrantNumber {
    type Err = BadGrantNumber;

    fn from_str(raw: &str) -> Result<Self, BadGrantNumber> {
        let raw = raw.trim();
        let of_budget = raw.starts_with(['B', 'b']);
        let digits = raw.strip_prefix(['G', 'g', 'B', 'b']).unwrap_or(raw);
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number =
            plain.then(|| digits.parse::<u32>().ok()).flatten().filter(|number| *number < BUDGET_GRANTS);
        let number = number.ok_or(BadGrantNumber)?;
        Ok(if of_budget { Self::of_budget(number) } else { Self(number) })
    }
}

impl TryFrom<String> for GrantNumber {
    type Error = BadGrantNumber;

    fn try_from(raw: String) -> Result<Self, BadGrantNumber> {
        raw.parse()
    }
}

impl From<GrantNumber> for String {
    fn from(number: GrantNumber) -> Self {
        number.to_string()
    }
}

/// Where and how long a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    Thread(ThreadId),
    /// In one thread, until a time.
    Until {
        thread: ThreadId,
        /// The first moment at which it no longer holds.
        until: Timestamp,
    },
    /// In the whole project, for commands of a shape.
    Shape,
    /// In the whole project, as a rule.
    Project,
    /// A raised spend cap, until a time.
    Cap {
        until: Timestamp,
    },
}

impl Reach {
    /// The thread it is limited to.
    pub const fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::Thread(thread) | Self::Until { thread, .. } => Some(thread),
            Self::Shape | Self::Project | Self::Cap { .. } => None,
        }
    }

    /// The first moment at which it no longer holds.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Until { until, .. } | Self::Cap { until } => Some(*until),
            Self::Thread(_) | Self::Shape | Self::Project => None,
        }
    }

    /// Its name in files and answers: that of the scope it came from.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Thread(_) => "thread",
            Self::Until { .. } => "minutes",
            Self::Shape => "shape",
            Self::Project => "project",
            Self::Cap { .. } => "cap",
        }
    }
}

/// A grant in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantSummary {
    pub number: GrantNumber,
    pub tool: String,
    /// The command shapes; empty means every call of the tool.
    pub commands: Vec<String>,
    /// Where and how long it holds.
    pub reach: Reach,
    /// The author of the message that led to the approval.
    pub requested_by: Option<AuthorId>,
    pub by: Option<AuthorId>,
    /// When it was given, RFC 3339.
    pub at: String,
    /// The summary that the approver was shown.
    pub summary: String,
}

/// A grant as clients get it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Flat<'a> {
    id: GrantNumber,
    tool: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    commands: &'a [String],
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<&'a ThreadId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    granted_by: Option<&'a AuthorId>,
    granted_at: &'a str,
    summary: &'a str,
}

impl Serialize for GrantSummary {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        Flat {
            id: self.number,
            tool: &self.tool,
            commands: &self.commands,
            scope: self.reach.name(),
            thread_id: self.reach.thread(),
            expires_at: self.reach.until().map(Timestamp::rfc3339),
            granted_by: self.by.as_ref(),
            granted_at: &self.at,
            summary: &self.summary,
        }
        .serialize(out)
    }
}

impl JsonSchema for GrantSummary {
    fn schema_name() -> Cow<'static, str> {
        "Grant".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Flat::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_named_with_or_without_its_letter() {
        for (text, expected) in [
            ("G1", Some(1)),
            ("g12", Some(12)),
            (" 7 ", Some(7)),
            ("", None),
            ("G", None),
            ("A1", None),
            ("G+1", None),
        ] {
            assert_eq!(text.parse::<GrantNumber>().ok(), expected.map(GrantNumber), "{text:?}");
        }
    }
}
