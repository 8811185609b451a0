//! Every platform this daemon serves, by name. Core asks here what a thread's platform can do.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PullSurface;
use crate::domain::{Capabilities, Platform};
use crate::ports::Adapter;

/// The platforms of this daemon.
#[derive(Clone, Debug, Default)]
pub struct AdapterSet {
    adapters: BTreeMap<Platform, Arc<dyn Adapter>>,
    surfaces: BTreeMap<Platform, Arc<dyn Adapter>>,
}

impl AdapterSet {
    /// With one more adapter, which the supervisor is to run.
    #[must_use]
    pub fn with_adapter(mut self, adapter: Arc<dyn Adapter>) -> Self {
        self.adapters.insert(adapter.platform(), adapter);
        self
    }

    /// With one more platform that needs no sockets of its own.
    #[must_use]
    pub fn with_surface(mut self, platform: Platform) -> Self {
        self.surfaces.insert(platform.clone(), Arc::new(PullSurface::new(platform)));
        self
    }

    /// The adapter of a platform; nothing where it is not served.
    pub fn get(&self, platform: &Platform) -> Option<&Arc<dyn Adapter>> {
        self.adapters.get(platform).or_else(|| self.surfaces.get(platform))
    }

    /// What a platform can do; nothing where it is not served.
    pub fn capabilities(&self, platform: &Platform) -> Option<Capabilities> {
        self.get(platform).map(|adapter| adapter.capabilities())
    }

    /// The adapters that have to be run, by name.
    pub fn to_run(&self) -> impl Iterator<Item = &Arc<dyn Adapter>> {
        self.adapters.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Delivery;

    #[test]
    fn surfaces_have_capabilities_but_nothing_to_run() {
        let set = AdapterSet::default().with_surface("api".parse().unwrap());
        let delivery = |name: &str| set.capabilities(&name.parse().unwrap()).map(|can| can.delivery);
        assert_eq!(delivery("api"), Some(Delivery::Pull));
        assert_eq!(delivery("telegram"), None);
        assert_eq!(set.to_run().count(), 0);
    }
}
