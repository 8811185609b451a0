//! The tools there are.

use std::sync::Arc;

use super::{CurrentTime, ListFiles, ReadFile, SearchFiles};
use crate::ports::{Tool, ToolBox};

/// Every tool this binary has. A new one is one file and one line here.
pub const TOOLS: &[fn() -> Arc<dyn Tool>] =
    &[|| Arc::new(ReadFile), || Arc::new(ListFiles), || Arc::new(SearchFiles), || Arc::new(CurrentTime)];

/// A box with every tool there is.
pub fn all_tools() -> ToolBox {
    ToolBox::new(TOOLS.iter().map(|make| make()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::Effects;

    #[test]
    fn every_tool_is_found_by_its_own_name() {
        let tools = all_tools();
        let specs = tools.specs();
        let names: BTreeSet<_> = specs.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        for spec in specs.iter() {
            assert_eq!(tools.get(spec.name).unwrap().0, spec);
            assert_eq!(spec.effects, Effects::ReadOnly, "{}", spec.name);
            assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
            assert!(spec.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", spec.name);
        }
        assert!(tools.get("exec_shell").is_none());
    }

    #[test]
    fn every_argument_is_described_to_the_model() {
        for spec in all_tools().specs().iter() {
            for (name, property) in spec.parameters["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name}", spec.name);
                assert!(property["type"].is_string(), "{}: {name}", spec.name);
            }
        }
    }
}
