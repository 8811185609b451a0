//! The tools there are, and the box a turn takes them from.

use std::sync::Arc;

use super::{CurrentTime, ListFiles, ReadFile, SearchFiles};
use crate::domain::ToolSpec;
use crate::ports::Tool;

/// Every tool this binary has. A new one is one file and one line here.
pub const TOOLS: &[fn() -> Arc<dyn Tool>] =
    &[|| Arc::new(ReadFile), || Arc::new(ListFiles), || Arc::new(SearchFiles), || Arc::new(CurrentTime)];

/// The tools of an agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ToolBox {
    tools: Arc<[(ToolSpec, Arc<dyn Tool>)]>,
}

impl ToolBox {
    /// A box with every tool there is.
    pub fn all() -> Self {
        Self::new(TOOLS.iter().map(|make| make()))
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::Effects;

    #[test]
    fn every_tool_is_found_by_its_own_name() {
        let tools = ToolBox::all();
        let specs = tools.specs();
        let names: BTreeSet<_> = specs.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        for spec in &specs {
            assert_eq!(tools.get(spec.name).unwrap().0, spec);
            assert_eq!(spec.effects, Effects::ReadOnly, "{}", spec.name);
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            assert!(spec.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", spec.name);
        }
        assert!(tools.get("exec_shell").is_none());
    }

    #[test]
    fn every_argument_is_described_to_the_model() {
        for spec in ToolBox::all().specs() {
            for (name, property) in spec.parameters["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name}", spec.name);
                assert!(property["type"].is_string(), "{}: {name}", spec.name);
            }
        }
    }
}
