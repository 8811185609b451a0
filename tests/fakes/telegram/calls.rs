//! The processing of one call: the planned failure, the limits, the method itself, and the log entry.

use serde_json::{Value, json};

use super::answer::{Answer, Refusal};
use super::fault::Fault;
use super::flood;
use super::log::{Deed, ResponseSent};
use super::methods as m;
use super::polling;
use super::request::Params;
use super::world::{Environment, Shared};

/// The response on the wire.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A status and a document.
    Json(u16, Value),
    /// A status and half of a document.
    Half(u16, Value),
    /// The response of a proxy that cannot reach the server.
    BadGateway,
}

/// The connection breaks without a response.
#[derive(Debug)]
pub(crate) struct Reset;

/// Performs a call, method in lower case.
pub(crate) async fn perform(shared: &Shared, method: &str, params: &Params) -> Result<Reply, Reset> {
    let chat = params.int("chat_id");
    let trouble = shared.change_quietly(|world| world.troubles.meet(method, chat));
    if let Some(instead) = before(shared, method, chat, trouble.as_ref()).await {
        return instead;
    }
    let told = if matches!(trouble, Some(Fault::ResetAfter | Fault::Truncated)) {
        ResponseSent::Lost
    } else {
        ResponseSent::Yes
    };
    let reply = if method == "getupdates" {
        let answer = polling::get_updates(shared, params).await;
        shared.change(|world| settle(world, method, chat, answer, told))
    } else {
        shared.change(|world| {
            let answer = limited(world, method, chat).and_then(|()| run(world, method, params));
            settle(world, method, chat, answer, told)
        })
    };
    let (status, body) = reply;
    match trouble {
        Some(Fault::ResetAfter) => Err(Reset),
        Some(Fault::Truncated) => Ok(Reply::Half(status, body)),
        _ => Ok(Reply::Json(status, body)),
    }
}

/// Applies a failure before the call; returns a response if the call is not performed.
pub(crate) async fn before(
    shared: &Shared,
    method: &str,
    chat: Option<i64>,
    trouble: Option<&Fault>,
) -> Option<Result<Reply, Reset>> {
    let (deed, reply) = match trouble? {
        Fault::Refuse(refusal) => {
            (Deed::Refused(refusal.clone()), Ok(Reply::Json(refusal.code, refusal.body())))
        }
        Fault::BadGateway => (Deed::Broken("502"), Ok(Reply::BadGateway)),
        Fault::ResetBefore => (Deed::Broken("reset"), Err(Reset)),
        Fault::Stall(wait) => {
            tokio::time::sleep(*wait).await;
            return None;
        }
        Fault::Held(gate) => {
            gate.pass().await;
            return None;
        }
        Fault::ResetAfter | Fault::Truncated | Fault::Slow { .. } => return None,
    };
    shared.change(|world| world.note(method, chat, deed, ResponseSent::Yes));
    Some(reply)
}

fn limited(world: &mut Environment, method: &str, chat: Option<i64>) -> Result<(), Refusal> {
    let Some((flood, chat)) = world.flood.as_mut().zip(chat).filter(|_| flood::counts(method)) else {
        return Ok(());
    };
    flood.pass(chat, method, std::time::Instant::now()).map_err(Refusal::too_many)
}

/// Logs the outcome of a call and makes the response.
fn settle(
    world: &mut Environment,
    method: &str,
    chat: Option<i64>,
    answer: Answer,
    told: ResponseSent,
) -> (u16, Value) {
    match answer {
        Ok(done) => {
            world.note(method, chat, done.deed, told);
            (200, json!({ "ok": true, "result": done.result }))
        }
        Err(refusal) => {
            let reply = (refusal.code, refusal.body());
            world.note(method, chat, Deed::Refused(refusal), told);
            reply
        }
    }
}

fn run(world: &mut Environment, method: &str, params: &Params) -> Answer {
    if world.logged_out {
        return Err(Refusal::new(400, "Logged out"));
    }
    match method {
        "getme" => m::get_me(world),
        "logout" => m::log_out(world),
        "close" => m::close(),
        "setwebhook" => m::set_webhook(world, params),
        "deletewebhook" => m::delete_webhook(world, params),
        "getwebhookinfo" => m::get_webhook_info(world),
        "setmycommands" => m::set_my_commands(world, params),
        "getmycommands" => m::get_my_commands(world, params),
        "deletemycommands" => m::delete_my_commands(world, params),
        "sendmessage" => m::send_message(world, params),
        "sendmessagedraft" => m::send_message_draft(world, params),
        "editmessagetext" => m::edit_message_text(world, params),
        "editmessagecaption" => m::edit_message_caption(world, params),
        "editmessagereplymarkup" => m::edit_message_reply_markup(world, params),
        "deletemessage" => m::delete_message(world, params),
        "senddocument" => m::send_media(world, params, "document"),
        "sendphoto" => m::send_media(world, params, "photo"),
        "sendvoice" => m::send_media(world, params, "voice"),
        "sendaudio" => m::send_media(world, params, "audio"),
        "sendvideo" => m::send_media(world, params, "video"),
        "sendmediagroup" => m::send_media_group(world, params),
        "getfile" => m::get_file(world, params),
        "sendchataction" => m::send_chat_action(world, params),
        "setmessagereaction" => m::set_message_reaction(world, params),
        "answercallbackquery" => m::answer_callback_query(world, params),
        "getchat" => m::get_chat(world, params),
        "getchatmember" => m::get_chat_member(world, params),
        "getchatadministrators" => m::get_chat_administrators(world, params),
        "leavechat" => m::leave_chat(world, params),
        "createforumtopic" => m::create_forum_topic(world, params),
        _ => Err(Refusal::not_found()),
    }
}
