//! The common setup of these tests.

use serde_json::json;

use crate::fakes::daemon::Project;
use crate::fakes::fake_model::FakeModel;

pub(super) const EN: &str = "en-GB,en";

pub(super) const ZH: &str = "zh-CN,zh";

pub(super) fn offline() -> Project {
    Project::new(json!({ "name": "harbour", "llm": { "provider": "offline" } }))
}

pub(super) fn asking(model: &FakeModel) -> Project {
    Project::with_model(
        &model.url(),
        json!({ "name": "harbour", "queue": { "mergeMs": 0 }, "llm": { "timeoutSecs": 600 } }),
    )
}
