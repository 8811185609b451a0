//! Full outputs of calls.

use super::for_every_store;
use super::support::TestStore;

for_every_store!(an_output_that_is_needed_has_a_name_of_its_own);

async fn an_output_that_is_needed_has_a_name_of_its_own(store: TestStore) {
    let state = store.open();
    let call = "../call 1".parse().unwrap();
    let mut names = Vec::new();
    for needed in [true, false, true] {
        let mut output = state.outputs.begin(&call);
        output.write("words").await;
        names.extend(output.close(needed).await);
    }
    assert_eq!(names.len(), 2);
    assert_ne!(names.first(), names.last());
    assert_eq!(state.outputs.begin(&call).close(true).await, None, "nothing was said");
    state.threads.close().await;
}
