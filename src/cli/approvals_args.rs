//! `shipagent approvals`.

use std::num::NonZeroU32;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use super::args::Output;
use crate::domain::Language;
use crate::phrases::cli as words;

/// Subcommands about requests for approval.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    List {
        #[arg(long, value_enum, default_value_t = ApprovalFilter::Pending)]
        state: ApprovalFilter,

        #[command(flatten)]
        output: Output,
    },

    Show {
        #[arg(value_name = "APPROVAL")]
        approval: String,

        #[command(flatten)]
        output: Output,
    },

    Approve {
        #[arg(value_name = "APPROVAL")]
        approval: String,

        #[arg(long, value_name = "SCOPE", default_value = "once")]
        scope: ScopeArg,

        #[command(flatten)]
        words: DecisionArgs,
    },

    Deny {
        #[arg(value_name = "APPROVAL")]
        approval: String,

        #[command(flatten)]
        words: DecisionArgs,
    },

    Done {
        #[arg(value_name = "APPROVAL")]
        approval: String,

        #[command(flatten)]
        words: DecisionArgs,
    },
}

/// Options of a decision.
#[derive(Clone, Debug, Default, Args)]
pub struct DecisionArgs {
    #[arg(long, value_name = "WORDS")]
    pub reason: Option<String>,

    #[command(flatten)]
    pub output: Output,
}

/// Which requests are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApprovalFilter {
    #[value(help = words::help("approvals list/state=pending", Language::En))]
    Pending,
    #[value(help = words::help("approvals list/state=all", Language::En))]
    All,
}

/// The scope of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeArg {
    /// This call.
    Once,
    /// Calls like it in its thread.
    Thread,
    /// Commands of its shape, everywhere.
    Shape,
    /// Calls like it, everywhere.
    Project,
    /// Calls like it in its thread, for this many minutes.
    Minutes(NonZeroU32),
    /// One more unit of a spend cap.
    PlusOne,
    /// Five more units of a spend cap.
    PlusFive,
    /// No spend cap until midnight.
    Midnight,
}

impl FromStr for ScopeArg {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        match raw {
            "once" => Ok(Self::Once),
            "thread" => Ok(Self::Thread),
            "shape" => Ok(Self::Shape),
            "project" => Ok(Self::Project),
            "+1" | "plus-one" => Ok(Self::PlusOne),
            "+5" | "plus-five" => Ok(Self::PlusFive),
            "midnight" => Ok(Self::Midnight),
            other => other
                .strip_prefix("minutes=")
                .and_then(|minutes| minutes.parse().ok())
                .map(Self::Minutes)
                .ok_or_else(|| {
                    "use once, thread, shape, project, minutes=N, or for a spend cap +1, +5 or midnight"
                        .to_owned()
                }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_from_its_name() {
        let ten = NonZeroU32::new(10).unwrap();
        for (text, expected) in [
            ("once", Some(ScopeArg::Once)),
            ("project", Some(ScopeArg::Project)),
            ("minutes=10", Some(ScopeArg::Minutes(ten))),
            ("+5", Some(ScopeArg::PlusFive)),
            ("midnight", Some(ScopeArg::Midnight)),
            ("+2", None),
            ("minutes=0", None),
            ("minutes", None),
            ("forever", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
