//! The tools of an agent.

use std::sync::Arc;

use super::Tool;
use crate::domain::{Capabilities, ToolSpec};

/// The tools of an agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolBox {
    /// The specs, in the order of `tools`.
    specs: Arc<[ToolSpec]>,
    tools: Arc<[Arc<dyn Tool>]>,
}

impl ToolBox {
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools: Arc<[Arc<dyn Tool>]> = tools.into_iter().collect();
        Self { specs: tools.iter().map(|tool| tool.spec()).collect(), tools }
    }

    /// The tools that are usable with these capabilities.
    pub fn suited(&self, capabilities: &Capabilities) -> Self {
        if self.tools.iter().all(|tool| tool.suits(capabilities)) {
            return self.clone();
        }
        Self::new(self.tools.iter().filter(|tool| tool.suits(capabilities)).cloned())
    }

    /// The specs for the model. Shared by all prompts.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    /// The tool of this name, with its spec.
    pub fn get(&self, name: &str) -> Option<(&ToolSpec, &Arc<dyn Tool>)> {
        self.specs.iter().zip(self.tools.iter()).find(|(spec, _)| spec.name == name)
    }
}
