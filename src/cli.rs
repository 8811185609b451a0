//! The command line: types and help texts only. What a command does is in `commands`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::domain::Role;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Ok,
    /// It did not work.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// `Agent.md`, `ship.json` or `.env` is not as it should be.
    Configuration,
    /// Another daemon runs in this project.
    AnotherDaemon,
    /// The address is taken.
    PortInUse,
    /// State cannot be written.
    StateNotWritable,
}

impl Exit {
    /// The number the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::AnotherDaemon => 4,
            Self::PortInUse => 5,
            Self::StateNotWritable => 6,
        }
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0  all is well
  1  it did not work
  2  the command line makes no sense
  3  Agent.md, ship.json or .env is not as it should be
  4  another daemon runs in this project
  5  the address is already in use
  6  .ship cannot be written (permissions, read-only or full disk)";

/// Turns a project directory into an agent people talk to.
#[derive(Debug, Parser)]
#[command(name = "shipagent", version, after_help = EXIT_CODES, propagate_version = true)]
pub struct Cli {
    /// The project directory: where Agent.md is
    #[arg(short = 'C', long = "directory", value_name = "DIR", default_value = ".", global = true)]
    pub directory: PathBuf,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the agent: the web console and every adapter that ship.json turns on
    ///
    /// Stops gracefully on the first SIGINT or SIGTERM and at once on the second.
    Run,

    /// Make a project: write Agent.md and ship.json
    ///
    /// Asks on a terminal; files that exist are never overwritten without a yes.
    Init(InitArgs),

    /// Check everything the agent needs and say what to do
    ///
    /// Looks at Agent.md, the configuration, the model (with one real call of a single token), the state
    /// directory, disk, port, lock, sandbox and clock. Ends with 1 when something must be mended.
    Doctor(Output),

    /// Talk to the agent in this terminal
    ///
    /// Uses the running daemon; without one, the agent runs inside this process. Ctrl-C stops the turn.
    Chat(ChatArgs),

    /// Look at conversations
    #[command(subcommand)]
    Threads(ThreadsCommand),

    /// Decide what the agent asks for
    #[command(subcommand)]
    Approvals(ApprovalsCommand),

    /// Look at what was allowed for longer than once, and take it back
    #[command(subcommand)]
    Grants(GrantsCommand),

    /// Look at what is remembered between conversations
    #[command(subcommand)]
    Memory(MemoryCommand),

    /// Look at the project's tasks
    #[command(subcommand)]
    Tasks(TasksCommand),

    /// Let people in, and out
    #[command(subcommand)]
    Access(AccessCommand),

    /// Read who was allowed what, and what came of it
    Audit(AuditArgs),

    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Print a completion script for a shell
    ///
    /// For example: shipagent completions bash > ~/.local/share/bash-completion/completions/shipagent
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// In which form a command prints what it found.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Output {
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// What `init` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct InitArgs {
    /// Ask nothing: take the defaults, keep files that exist
    #[arg(short, long)]
    pub yes: bool,

    /// Ask nothing and overwrite files that exist
    #[arg(long)]
    pub force: bool,

    /// The agent's name [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// The address of the model's server, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,

    /// The model's name
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// The environment variable that holds the server's key
    #[arg(long, value_name = "VAR")]
    pub key_variable: Option<String>,

    /// An adapter to prepare, besides the web console; may be given several times
    #[arg(long = "adapter", value_name = "ADAPTER", value_enum)]
    pub adapters: Vec<InitAdapter>,
}

/// The adapters that `init` can prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InitAdapter {
    /// Telegram
    Telegram,
    /// Feishu or Lark
    Feishu,
    /// QQ
    Qq,
}

/// What `chat` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct ChatArgs {
    /// Say this, print the answer and end
    #[arg(value_name = "MESSAGE")]
    pub message: Option<String>,

    /// Which conversation to go on with; a new name begins a new one
    #[arg(short, long, value_name = "NAME", default_value = "terminal")]
    pub thread: String,

    /// How to print
    #[command(flatten)]
    pub output: Output,
}

/// What can be done with conversations.
#[derive(Debug, Subcommand)]
pub enum ThreadsCommand {
    /// List them, newest first
    List(Output),

    /// Show one
    Show {
        /// The thread's id, as `threads list` prints it
        #[arg(value_name = "THREAD")]
        thread: String,

        /// Only so many of the newest messages
        #[arg(short, long, value_name = "N", default_value_t = 50)]
        limit: usize,

        /// How to print
        #[command(flatten)]
        output: Output,
    },

    /// Write one to standard output or a file, whole
    Export {
        /// The thread's id, as `threads list` prints it
        #[arg(value_name = "THREAD")]
        thread: String,

        /// In which form
        #[arg(short, long, value_enum, default_value_t = ExportFormat::Jsonl)]
        format: ExportFormat,

        /// Where to; a file that exists is not overwritten
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// The forms a conversation can be exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One UIMessage per line, the newest version of each
    Jsonl,
    /// To read
    Markdown,
}

/// What can be done with the agent's questions.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List them, newest first
    List {
        /// Which of them
        #[arg(long, value_enum, default_value_t = ApprovalFilter::Pending)]
        state: ApprovalFilter,

        /// How to print
        #[command(flatten)]
        output: Output,
    },

    /// Show one, with everything that is known about the call
    Show {
        /// Its number (A1) or its id
        #[arg(value_name = "APPROVAL")]
        approval: String,

        /// How to print
        #[command(flatten)]
        output: Output,
    },

    /// Say yes; to a call that a restart cut off: run it again
    Approve {
        /// Its number (A1) or its id
        #[arg(value_name = "APPROVAL")]
        approval: String,

        /// How far it reaches: once, thread, shape, project, or minutes=N
        #[arg(long, value_name = "SCOPE", default_value = "once")]
        scope: ScopeArg,

        /// What else to say
        #[command(flatten)]
        words: DecisionArgs,
    },

    /// Say no; to a call that a restart cut off: leave it
    Deny {
        /// Its number (A1) or its id
        #[arg(value_name = "APPROVAL")]
        approval: String,

        /// What else to say
        #[command(flatten)]
        words: DecisionArgs,
    },

    /// Say that a call that a restart cut off was done
    Done {
        /// Its number (A1) or its id
        #[arg(value_name = "APPROVAL")]
        approval: String,

        /// What else to say
        #[command(flatten)]
        words: DecisionArgs,
    },
}

/// What a decision can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct DecisionArgs {
    /// Why, for the record and for the agent
    #[arg(long, value_name = "WORDS")]
    pub reason: Option<String>,

    /// How to print
    #[command(flatten)]
    pub output: Output,
}

/// Which questions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApprovalFilter {
    /// Those that wait
    Pending,
    /// All there ever were
    All,
}

/// How far a yes reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeArg {
    /// This call.
    Once,
    /// Calls like it in its conversation.
    Thread,
    /// Commands of its shape, everywhere.
    Shape,
    /// Calls like it, everywhere.
    Project,
    /// Calls like it in its conversation, for so many minutes.
    Minutes(NonZeroU32),
}

impl FromStr for ScopeArg {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        match raw {
            "once" => Ok(Self::Once),
            "thread" => Ok(Self::Thread),
            "shape" => Ok(Self::Shape),
            "project" => Ok(Self::Project),
            other => other
                .strip_prefix("minutes=")
                .and_then(|minutes| minutes.parse().ok())
                .map(Self::Minutes)
                .ok_or_else(|| "use once, thread, shape, project, or minutes=N".to_owned()),
        }
    }
}

/// What can be done with grants.
#[derive(Debug, Subcommand)]
pub enum GrantsCommand {
    /// List them, oldest first
    List(Output),

    /// Take one back: from the next call on the agent asks again
    Revoke {
        /// Its number, such as G1
        #[arg(value_name = "GRANT")]
        grant: String,
    },
}

/// What can be done with what is remembered.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Show it
    Show {
        /// For whom
        #[command(flatten)]
        of: MemoryOf,
        /// How
        #[command(flatten)]
        output: Output,
    },

    /// Print the path of the file it is in, which you may write yourself
    Path(MemoryOf),
}

/// For whom something is remembered.
#[derive(Clone, Debug, Args)]
pub struct MemoryOf {
    /// About this person, such as telegram:user:123456, instead of the project
    #[arg(long, value_name = "PERSON")]
    pub user: Option<String>,
}

/// What can be done with tasks.
#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    /// List them; this version does not start them by itself yet
    List(Output),
}

/// What can be done about who may talk to the agent.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// List who was let in, which groups are open, and who asks
    List(Output),

    /// Let in whoever was given this code
    Approve {
        /// The code
        #[arg(value_name = "CODE")]
        code: String,
        /// What they may do: owner (like those in ship.json), member (talk, and approve what they asked for), or guest
        /// (talk; what needs approval needs somebody else's)
        #[arg(long, default_value_t, value_name = "ROLE")]
        role: Role,
    },

    /// Make a code that lets in one person, whoever brings it first
    Invite {
        /// What they may do: owner, member or guest
        #[arg(long, default_value_t, value_name = "ROLE")]
        role: Role,
    },

    /// Change what somebody may do who was let in
    Role {
        /// Such as telegram:user:123
        #[arg(value_name = "WHO")]
        who: String,
        /// owner, member or guest
        #[arg(value_name = "ROLE")]
        role: Role,
    },

    /// Take access back from a person or a group
    Revoke {
        /// Such as telegram:user:123 or telegram:chat:-100123
        #[arg(value_name = "WHO")]
        who: String,
    },
}

/// What `audit` can be told.
#[derive(Clone, Debug, Default, Args)]
pub struct AuditArgs {
    /// Only what happened since: 30m, 2h, 7d, or a date such as 2026-11-16
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Only what happened in this conversation
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,

    /// Only this kind of event, such as decision, execution, or grant (for all of grant-*)
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,

    /// Only so many of the newest lines
    #[arg(short, long, value_name = "N", default_value_t = 100)]
    pub limit: usize,

    /// Print the lines as they are, one JSON object each
    #[arg(long)]
    pub json: bool,
}

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check ship.json and .env, and name every mistake at once
    Check(Output),

    /// Print the JSON Schema of ship.json, for editors
    Schema,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_exit_code_is_explained() {
        let all = [
            Exit::Ok,
            Exit::Failed,
            Exit::Usage,
            Exit::Configuration,
            Exit::AnotherDaemon,
            Exit::PortInUse,
            Exit::StateNotWritable,
        ];
        let help = Cli::command().render_help().to_string();
        for exit in all {
            assert!(help.contains(&format!("\n  {}  ", exit.code())), "{exit:?} in {help}");
        }
    }

    #[test]
    fn the_directory_may_stand_before_or_behind_the_command() {
        for line in [&["shipagent", "-C", "x", "run"][..], &["shipagent", "run", "-C", "x"]] {
            assert_eq!(Cli::try_parse_from(line).unwrap().directory, PathBuf::from("x"));
        }
    }

    #[test]
    fn every_command_of_the_manual_is_understood() {
        for line in [
            "run",
            "init",
            "init --yes",
            "init --force --name a --adapter telegram --adapter qq",
            "doctor --json",
            "chat",
            "chat --thread t hello",
            "threads list --json",
            "threads show web:chat:1 --limit 5 --json",
            "threads export web:chat:1 -f markdown -o a.md",
            "approvals list",
            "approvals list --state all --json",
            "approvals show A1 --json",
            "approvals approve A1 --scope minutes=10 --reason fine",
            "approvals deny A1",
            "approvals done A1 --json",
            "grants list --json",
            "grants revoke G1",
            "access list --json",
            "access approve ABCD2345",
            "access approve ABCD2345 --role guest",
            "access role telegram:user:7 owner",
            "access invite --role guest",
            "access revoke telegram:chat:-100",
            "audit --since 2h --thread web:chat:1 --event decision --limit 5 --json",
            "config check --json",
            "config schema",
            "completions zsh",
        ] {
            let words = std::iter::once("shipagent").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(["shipagent", "runn"]).is_err());
    }

    #[test]
    fn a_scope_is_one_of_five() {
        let ten = NonZeroU32::new(10).unwrap();
        for (text, expected) in [
            ("once", Some(ScopeArg::Once)),
            ("project", Some(ScopeArg::Project)),
            ("minutes=10", Some(ScopeArg::Minutes(ten))),
            ("minutes=0", None),
            ("minutes", None),
            ("forever", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
