//! `ship.json` as it is written: the one definition of its keys, their types, defaults and descriptions.
//!
//! The JSON Schema for editors and the checker both derive from these types. They know nothing of paths,
//! environment or what the program makes of them; that is `settings`.

mod budget;
mod groups;
mod llm;
mod memory;
mod permissions;
mod root;
mod voice;

pub use budget::{BudgetFile, PriceFile, TokenCapsFile};
pub use groups::{BotsChoice, GateFile, GroupsFile};
pub use llm::{DEFAULT_BASE_URL, FallbackFile, LlmFile, ProviderChoice};
pub use memory::{EmbeddingsFile, MemoryFile};
pub use permissions::{ExecShellFile, PermissionsFile, Sandbox, ToolFile};

pub use crate::policy::{Compound, Mode};
pub use root::{AdaptersFile, ApprovalsFile, LanguageChoice, LimitsFile, QueueFile, ShipFile, WebFile};
pub use voice::{SttFile, SttProvider, TtsFile, TtsFormat, TtsProvider, VoiceFile, WavFile};
