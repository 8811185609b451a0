//! The table of all tools.

use std::sync::Arc;

use super::{
    ChatLoadHistory, ChatSend, CurrentTime, EditFile, ExecSettings, ExecShell, ListFiles, MemorySearch,
    MemoryUpsert, ReadFile, Redact, SearchFiles, SendFile, TaskDone, TaskList, TaskRemove, TaskUpsert,
    WriteFile,
};
use crate::domain::Effects;
use crate::ports::{Tool, ToolBox};

/// A tool of this binary.
#[derive(Clone, Copy, Debug)]
pub struct ToolDef {
    /// What a call does: the description of the tool's key in the `permissions` section of `ship.json`.
    pub permits: &'static str,
    pub make: fn(&Redact) -> Arc<dyn Tool>,
}

/// Every tool that needs no settings. A new one is one file and one line here.
pub const TOOLS: &[ToolDef] = &[
    ToolDef { permits: "Reading files of the project.", make: |_| Arc::new(ReadFile) },
    ToolDef { permits: "Listing files of the project.", make: |_| Arc::new(ListFiles) },
    ToolDef { permits: "Searching in files of the project.", make: |_| Arc::new(SearchFiles) },
    ToolDef { permits: "Telling the time.", make: |_| Arc::new(CurrentTime) },
    ToolDef { permits: "Writing files of the project.", make: |_| Arc::new(WriteFile) },
    ToolDef { permits: "Changing parts of files of the project.", make: |_| Arc::new(EditFile) },
    ToolDef { permits: "Remembering something for later conversations.", make: |_| Arc::new(MemoryUpsert) },
    ToolDef { permits: "Searching what was said and what is remembered.", make: |_| Arc::new(MemorySearch) },
    ToolDef {
        permits: "Reading what was said earlier in this conversation.",
        make: |_| Arc::new(ChatLoadHistory),
    },
    ToolDef { permits: "Say something in another thread.", make: |_| Arc::new(ChatSend) },
    ToolDef {
        permits: "Handing over a file of the project.",
        make: |redact| Arc::new(SendFile::new(redact.clone())),
    },
    ToolDef { permits: "Ending a scheduled run.", make: |_| Arc::new(TaskDone) },
    ToolDef { permits: "Creating and changing scheduled tasks.", make: |_| Arc::new(TaskUpsert) },
    ToolDef { permits: "Listing scheduled tasks.", make: |_| Arc::new(TaskList) },
    ToolDef { permits: "Removing scheduled tasks.", make: |_| Arc::new(TaskRemove) },
];

/// All tools; the shell is the one that needs settings.
pub fn all_tools(exec: ExecSettings) -> ToolBox {
    let redact = exec.redact.clone();
    let shell: Arc<dyn Tool> = Arc::new(ExecShell::new(exec));
    ToolBox::new(TOOLS.iter().map(|def| (def.make)(&redact)).chain([shell]))
}

/// A key of the `permissions` section of `ship.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PermissionKey {
    /// The name of the tool.
    pub name: &'static str,
    pub about: &'static str,
}

/// The keys of these tools, those with side effects first.
pub fn permission_keys(tools: &[ToolDef]) -> Vec<PermissionKey> {
    let spec = |def: &ToolDef| (def.make)(&Redact::new(str::to_owned)).spec();
    let mut keys: Vec<_> = tools.iter().map(|def| (spec(def), def.permits)).collect();
    keys.sort_by_key(|(spec, _)| spec.effects == Effects::ReadOnly);
    keys.into_iter().map(|(spec, about)| PermissionKey { name: spec.name, about }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write as _;

    use super::*;
    use crate::config::{Env, Mode, Settings};
    use crate::domain::{Capabilities, ToolSpec};

    fn nothing() -> Redact {
        Redact::new(str::to_owned)
    }

    fn specs() -> Vec<ToolSpec> {
        TOOLS.iter().map(|def| (def.make)(&nothing()).spec()).collect()
    }

    #[test]
    fn every_tool_has_a_name_of_its_own_and_takes_an_object() {
        let names: BTreeSet<_> = specs().iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        for spec in specs() {
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            assert!(spec.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", spec.name);
        }
    }

    #[test]
    fn every_argument_is_described_to_the_model() {
        for spec in specs() {
            for (name, property) in spec.parameters["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name}", spec.name);
                assert!(property["type"].is_string(), "{}: {name}", spec.name);
            }
        }
    }

    #[test]
    fn every_tool_has_a_mode_of_its_own_in_the_settings() {
        let names = || specs().into_iter().map(|spec| spec.name.to_owned()).chain(["exec_shell".to_owned()]);
        let dir = tempfile::tempdir().unwrap();
        let modes: serde_json::Map<_, _> =
            names().map(|name| (name, serde_json::json!({ "mode": "deny" }))).collect();
        let ship = serde_json::json!({ "permissions": modes });
        for (name, text) in [("Agent.md", "x".to_owned()), ("ship.json", ship.to_string())] {
            let mut file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        let settings = Settings::load(dir.path(), &Env::default(), &crate::adapters::builtin()).unwrap();
        assert_eq!(settings.warnings, [], "a tool is taken for somebody else's");
        assert_eq!(settings.permissions.exec_shell.mode, Mode::Deny);
        for name in names().filter(|name| name != "exec_shell") {
            assert_eq!(settings.permissions.tools.get(&name), Some(&Mode::Deny), "{name}");
        }
    }

    #[test]
    fn a_platform_without_files_is_offered_no_tool_that_sends_them() {
        let tools = ToolBox::new(TOOLS.iter().map(|def| (def.make)(&nothing())));
        let bare = Capabilities { files: false, ..Capabilities::pull() };
        assert!(tools.suited(&Capabilities::pull()).get("send_file").is_some());
        assert!(tools.suited(&bare).get("send_file").is_none(), "neither told of nor callable");
        assert_eq!(tools.suited(&bare).specs().len(), TOOLS.len() - 2, "nor the one of scheduled runs");
    }
}
