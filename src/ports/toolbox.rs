//! The box a turn takes its tools from.

use std::sync::Arc;

use super::Tool;
use crate::domain::ToolSpec;

/// The tools of an agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolBox {
    tools: Arc<[(ToolSpec, Arc<dyn Tool>)]>,
}

impl ToolBox {
    /// A box with these tools.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool.spec(), tool)).collect() }
    }

    /// What the model is told of each.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// The tool of a name, and what is known of it.
    pub fn get(&self, name: &str) -> Option<(&ToolSpec, &Arc<dyn Tool>)> {
        self.tools.iter().find(|(spec, _)| spec.name == name).map(|(spec, tool)| (spec, tool))
    }
}
