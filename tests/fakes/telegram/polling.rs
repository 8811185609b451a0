//! `getUpdates`: the long poll, and its conflicts.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout_at;

use super::answer::{Answer, Done, Refusal};
use super::log::Deed;
use super::methods::kinds;
use super::request::Params;
use super::world::{Environment, Shared};

/// The error of a poll that was ended by a later one.
pub(crate) const OTHER_POLL: &str =
    "terminated by other getUpdates request; make sure that only one bot instance is running";

const WEBHOOK_SET: &str =
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";

/// Waits for updates as long as the bot requested.
pub(crate) async fn get_updates(shared: &Shared, params: &Params) -> Answer {
    let offset = params.int("offset").unwrap_or_default();
    let limit = params.int("limit").filter(|limit| (1..=100).contains(limit)).unwrap_or(100);
    let limit = usize::try_from(limit).unwrap_or(100);
    let seconds = params.int("timeout").unwrap_or_default().clamp(0, 50);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds.unsigned_abs());
    let mut bell = shared.listen();
    let mine = shared.change(|world| begin(world, params, offset))?;
    loop {
        bell.borrow_and_update();
        let given = shared.read(|world| check(world, mine))?;
        let given =
            if given { shared.change_quietly(|world| world.updates.give(offset, limit)) } else { Vec::new() };
        if !given.is_empty() || timeout_at(deadline, bell.changed()).await.is_err() {
            let (ids, updates): (Vec<i64>, Vec<Value>) = given.into_iter().unzip();
            let deed = Deed::Polled { offset: params.int("offset"), given: ids };
            return Ok(Done { result: Value::Array(updates), deed });
        }
    }
}

/// Ends the previous poll, confirms updates, and stores the wanted kinds.
fn begin(world: &mut Environment, params: &Params, offset: i64) -> Result<u64, Refusal> {
    if world.webhook.is_some() {
        return Err(Refusal::conflict(WEBHOOK_SET));
    }
    if let Some(kinds) = kinds(params)? {
        world.updates.allow(kinds);
    }
    world.updates.poll += 1;
    if offset != 0 {
        world.updates.confirm(offset);
    }
    Ok(world.updates.poll)
}

/// Whether this poll is still the current one, and whether there are updates.
fn check(world: &Environment, mine: u64) -> Result<bool, Refusal> {
    if world.webhook.is_some() {
        return Err(Refusal::conflict("terminated by setWebhook request"));
    }
    if world.updates.poll != mine {
        return Err(Refusal::conflict(OTHER_POLL));
    }
    Ok(world.updates.any())
}
