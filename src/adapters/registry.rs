//! The platforms of this daemon, by name. The core looks up a thread's platform and its capabilities here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PullSurface;
use crate::domain::{Capabilities, Platform};
use crate::ports::Adapter;

#[derive(Clone, Debug, Default)]
pub struct AdapterSet {
    adapters: BTreeMap<Platform, Arc<dyn Adapter>>,
    surfaces: BTreeMap<Platform, Arc<dyn Adapter>>,
}

impl AdapterSet {
    /// Adds an adapter for the supervisor to run.
    #[must_use]
    pub fn with_adapter(mut self, adapter: Arc<dyn Adapter>) -> Self {
        self.adapters.insert(adapter.platform(), adapter);
        self
    }

    /// Adds a platform without sockets of its own.
    #[must_use]
    pub fn with_surface(mut self, platform: Platform) -> Self {
        self.surfaces.insert(platform.clone(), Arc::new(PullSurface::new(platform)));
        self
    }

    /// Adds the platform of runs that may have no people in their threads.
    #[must_use]
    pub fn with_unattended(mut self, platform: Platform) -> Self {
        self.surfaces.insert(platform.clone(), Arc::new(PullSurface::unattended(platform)));
        self
    }

    /// The adapter of a platform; `None` where it is not served.
    pub fn get(&self, platform: &Platform) -> Option<&Arc<dyn Adapter>> {
        self.adapters.get(platform).or_else(|| self.surfaces.get(platform))
    }

    /// The capabilities of a platform; `None` where it is not served.
    pub fn capabilities(&self, platform: &Platform) -> Option<Capabilities> {
        self.get(platform).map(|adapter| adapter.capabilities())
    }

    /// One adapter for each platform that is served.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Adapter>> {
        let surfaces = self
            .surfaces
            .iter()
            .filter(|(name, _)| !self.adapters.contains_key(*name))
            .map(|(_, surface)| surface);
        self.adapters.values().chain(surfaces)
    }

    /// The adapters to run, ordered by name.
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
