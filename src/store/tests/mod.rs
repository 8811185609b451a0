//! The contract suite: what every store keeps to. Each test runs against the file store and against the one in memory. A further store is one
//! more `TestStore`.

mod access;
mod approvals;
mod files;
mod grants;
mod memory;
mod notes;
pub(in crate::store) mod support;
mod threads;

/// Makes a test of each case for each store.
macro_rules! for_every_store {
    ($($case:ident),* $(,)?) => {
        mod on_files {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::store::tests::support::TestStore::files()).await;
            })*
        }

        mod in_memory {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::store::tests::support::TestStore::in_memory()).await;
            })*
        }
    };
}
use for_every_store;
