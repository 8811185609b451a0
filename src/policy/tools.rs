//! The verdict on tools other than the shell: from the operator's mode, the tool's effects, and the file it names.

use serde_json::Value;

use super::paths::{PathClass, ResolvedPath};
use super::{Mode, Reason, Verdict};
use crate::domain::{Class, Effects, Risk};

/// The tool whose mode applies to other conversations only.
const CHAT_SEND: &str = "chat_send";

/// The tool that changes memory.
const MEMORY: &str = "memory_upsert";

/// The tools that change scheduled tasks.
const TASKS: [&str; 2] = ["task_upsert", "task_remove"];

/// What a call is about, where it names neither a file nor a thread: the id of a task.
pub fn subject<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    input.get("id").and_then(Value::as_str).filter(|_| TASKS.contains(&tool))
}

/// Whether only an owner may allow a call: what everybody's conversations are shown is not for one member to decide.
pub fn needs_owner(tool: &str, input: &Value) -> bool {
    let scope = input.get("scope").and_then(Value::as_str).map(str::trim);
    tool == MEMORY && !matches!(scope, Some("user" | "group"))
}

/// Whether a yes to a call may hold for later ones. What is said, remembered or scheduled is looked at each time.
pub fn may_be_granted(tool: &str, effects: Option<Effects>) -> bool {
    effects != Some(Effects::Speaks) && tool != MEMORY && !TASKS.contains(&tool)
}

/// A call of a tool that is not the shell.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts<'a> {
    pub tool: &'a str,
    /// The effects of a call; `None` for an unknown tool.
    pub effects: Option<Effects>,
    /// Whether it posts a message to another thread than its own.
    pub elsewhere: bool,
    /// The file it names, as the tool will resolve it.
    pub path: Option<&'a ResolvedPath>,
}

/// Judges a call. `mode` is the operator's setting for this tool, if there is one.
pub fn judge(mode: Option<Mode>, call: &ToolFacts<'_>) -> Verdict {
    if mode == Some(Mode::Deny) {
        return Verdict::Deny { reason: Reason::DeniedByMode };
    }
    let by_mode = match (mode, call.effects) {
        // The requester reads the answer in the same thread, so posting there needs no approval.
        (_, Some(Effects::Speaks))
            if !call.elsewhere && (mode != Some(Mode::Ask) || call.tool == CHAT_SEND) =>
        {
            Verdict::Allow(Class::ReadOnly)
        }
        (Some(Mode::Allow), _) => Verdict::Allow(class(call.effects)),
        (Some(Mode::Ask), _) => Verdict::ask(risk(call.effects), Reason::AskedByMode(call.tool.into())),
        (_, Some(Effects::ReadOnly)) => Verdict::Allow(Class::ReadOnly),
        (_, Some(Effects::SideEffects)) => Verdict::ask(Risk::Medium, Reason::Changes(call.tool.into())),
        (_, Some(Effects::Speaks)) => Verdict::ask(Risk::Medium, Reason::Elsewhere),
        (_, None) => Verdict::ask(Risk::High, Reason::UnknownTool(call.tool.into())),
    };
    match call.path {
        Some(path) => by_mode.and(by_path(call, path)),
        None => by_mode,
    }
}

/// Applies in every mode: an inaccessible path is denied; one that may contain secrets or start programs needs
/// approval.
fn by_path(call: &ToolFacts<'_>, path: &ResolvedPath) -> Verdict {
    let name = || path.written.clone();
    let writes = !matches!(call.effects, Some(Effects::ReadOnly | Effects::Speaks));
    let by_class = match path.class {
        PathClass::Reserved => return Verdict::Deny { reason: Reason::Secret(name()) },
        PathClass::Outside => return Verdict::Deny { reason: Reason::Outside(name()) },
        PathClass::Secret => Verdict::ask(Risk::High, Reason::Secret(name())),
        PathClass::Sensitive if writes => Verdict::ask(Risk::High, Reason::Sensitive(name())),
        PathClass::Sensitive | PathClass::Ordinary => Verdict::Allow(class(call.effects)),
    };
    match &path.unchecked {
        Some(_) => by_class.and(Verdict::ask(Risk::High, Reason::Unchecked(name()))),
        None => by_class,
    }
}

fn class(effects: Option<Effects>) -> Class {
    match effects {
        Some(Effects::ReadOnly | Effects::Speaks) => Class::ReadOnly,
        Some(Effects::SideEffects) | None => Class::ProjectWritable,
    }
}

fn risk(effects: Option<Effects>) -> Risk {
    match effects {
        Some(Effects::ReadOnly) => Risk::Low,
        Some(Effects::SideEffects | Effects::Speaks) => Risk::Medium,
        None => Risk::High,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::paths::classify;

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Allow(Class::ReadOnly) => "look",
            Verdict::Allow(Class::ProjectWritable) => "write",
            Verdict::Ask { .. } => "ask",
            Verdict::Deny { .. } => "deny",
        }
    }

    #[test]
    fn a_tool_is_judged_by_its_mode_then_by_what_it_does_and_names() {
        use Effects::{ReadOnly, SideEffects};
        for (tool, mode, effects, path, want) in [
            ("read_file", None, Some(ReadOnly), Some("src/a.rs"), "look"),
            ("read_file", None, Some(ReadOnly), Some(".git/HEAD"), "look"),
            ("read_file", None, Some(ReadOnly), Some(".git/config"), "ask"),
            ("read_file", None, Some(ReadOnly), Some(".github/workflows/ci.yml"), "look"),
            ("read_file", None, Some(ReadOnly), Some(".env"), "deny"),
            ("read_file", Some(Mode::Allow), Some(ReadOnly), Some(".ship/run/token"), "deny"),
            ("read_file", Some(Mode::Ask), Some(ReadOnly), Some("a"), "ask"),
            ("read_file", None, Some(ReadOnly), Some("deploy/id_rsa"), "ask"),
            ("read_file", None, Some(ReadOnly), Some("../a"), "deny"),
            ("read_file", None, Some(ReadOnly), Some(".ship/files/t1/a.png"), "look"),
            ("read_file", None, Some(ReadOnly), Some(".ship/files/t10/a.png"), "deny"),
            ("read_file", None, Some(ReadOnly), Some(".ship/files/t1/../../run/token"), "deny"),
            ("current_time", None, Some(ReadOnly), None, "look"),
            ("current_time", Some(Mode::Deny), Some(ReadOnly), None, "deny"),
            ("write_file", None, Some(SideEffects), Some("a"), "ask"),
            ("write_file", Some(Mode::Allow), Some(SideEffects), Some("a"), "write"),
            ("write_file", Some(Mode::Allow), Some(SideEffects), Some(".git/hooks/post-commit"), "ask"),
            ("write_file", Some(Mode::Allow), Some(SideEffects), Some("ship.json"), "deny"),
            ("write_file", Some(Mode::Allow), Some(SideEffects), Some("/etc/passwd"), "deny"),
            ("write_file", Some(Mode::Deny), Some(SideEffects), Some("a"), "deny"),
            ("write_note", None, Some(SideEffects), None, "ask"),
            ("memory_upsert", None, Some(SideEffects), None, "ask"),
            ("some_server_tool", None, None, None, "ask"),
            ("some_server_tool", Some(Mode::Allow), None, None, "write"),
            ("some_server_tool", Some(Mode::Deny), None, None, "deny"),
        ] {
            let path = path.map(|path: &str| ResolvedPath {
                written: path.into(),
                relative: path.into(),
                class: match path {
                    "../a" | "/etc/passwd" => PathClass::Outside,
                    inside => classify(inside, ".ship/files/t1"),
                },
                unchecked: None,
            });
            let verdict = judge(mode, &ToolFacts { tool, effects, elsewhere: false, path: path.as_ref() });
            assert_eq!(word(&verdict), want, "{tool} {mode:?} {path:?}");
        }
    }
}
