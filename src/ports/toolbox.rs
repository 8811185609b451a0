//! The box a turn takes its tools from.

use std::sync::Arc;

use super::Tool;
use crate::domain::{Capabilities, ToolSpec};

/// The tools of an agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolBox {
    /// Of each tool, in the same order.
    specs: Arc<[ToolSpec]>,
    tools: Arc<[Arc<dyn Tool>]>,
}

impl ToolBox {
    /// A box with these tools.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let tools: Arc<[Arc<dyn Tool>]> = tools.into_iter().collect();
        Self { specs: tools.iter().map(|tool| tool.spec()).collect(), tools }
    }

    /// The tools that suit a platform that can do this much.
    pub fn suited(&self, capabilities: &Capabilities) -> Self {
        if self.tools.iter().all(|tool| tool.suits(capabilities)) {
            return self.clone();
        }
        Self::new(self.tools.iter().filter(|tool| tool.suits(capabilities)).cloned())
    }

    /// What the model is told of each. Shared: every prompt has them.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    /// The tool of a name, and what is known of it.
    pub fn get(&self, name: &str) -> Option<(&ToolSpec, &Arc<dyn Tool>)> {
        self.specs.iter().zip(self.tools.iter()).find(|(spec, _)| spec.name == name)
    }
}
