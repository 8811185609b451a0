//! Methods about the bot itself: identity, updates, commands of its menu.

use serde_json::{Value, json};

use super::super::answer::{Answer, Done, Refusal};
use super::super::log::Deed;
use super::super::request::Params;
use super::super::webhook::Webhook;
use super::super::world::Environment;

fn configured() -> Answer {
    Ok(Done { result: json!(true), deed: Deed::Configured })
}

/// `getMe`.
pub(crate) fn get_me(world: &Environment) -> Answer {
    Ok(Done { result: world.account.me(), deed: Deed::Asked })
}

/// `logOut`: nothing works afterwards.
pub(crate) fn log_out(world: &mut Environment) -> Answer {
    world.logged_out = true;
    configured()
}

/// `close`.
pub(crate) fn close() -> Answer {
    configured()
}

/// The kinds of updates in a call, if there are any.
pub(crate) fn kinds(params: &Params) -> Result<Option<Vec<String>>, Refusal> {
    let Some(list) = params.json("allowed_updates")? else { return Ok(None) };
    serde_json::from_value(list).map(Some).map_err(|_| Refusal::bad("can't parse allowed_updates"))
}

/// `setWebhook`. Plain HTTP is accepted on the loopback only, as by a local server.
pub(crate) fn set_webhook(world: &mut Environment, params: &Params) -> Answer {
    let url = params.text("url").unwrap_or_default();
    if url.is_empty() {
        return delete_webhook(world, params);
    }
    if !url.starts_with("https://") && !url.starts_with("http://127.0.0.1:") {
        return Err(Refusal::bad("bad webhook: An HTTPS URL must be provided for webhook"));
    }
    let secret = params.text("secret_token").filter(|secret| !secret.is_empty());
    if let Some(secret) = &secret {
        if secret.len() > 256 {
            return Err(Refusal::bad("secret token is too long"));
        }
        if !secret.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err(Refusal::bad("secret token contains unallowed characters"));
        }
    }
    if let Some(kinds) = kinds(params)? {
        world.updates.allow(kinds);
    }
    if params.flag("drop_pending_updates") {
        world.updates.drop_pending();
    }
    world.webhook = Some(Webhook { url, secret, failures: 0, last_error: None });
    configured()
}

/// `deleteWebhook`.
pub(crate) fn delete_webhook(world: &mut Environment, params: &Params) -> Answer {
    world.webhook = None;
    if params.flag("drop_pending_updates") {
        world.updates.drop_pending();
    }
    configured()
}

/// `getWebhookInfo`.
pub(crate) fn get_webhook_info(world: &Environment) -> Answer {
    let mut info = json!({ "url": "", "has_custom_certificate": false,
        "pending_update_count": world.updates.pending() });
    if let Some(webhook) = &world.webhook {
        info["url"] = json!(webhook.url);
        info["max_connections"] = json!(40);
        if let Some(error) = &webhook.last_error {
            info["last_error_message"] = json!(error);
        }
    }
    if !world.updates.allowed().is_empty() {
        info["allowed_updates"] = json!(world.updates.allowed());
    }
    Ok(Done { result: info, deed: Deed::Asked })
}

/// The scope and language of a list of commands.
fn menu(params: &Params) -> Result<(String, String), Refusal> {
    let scope = params.json("scope")?.unwrap_or_else(|| json!({ "type": "default" }));
    let name = scope["type"].as_str().unwrap_or_default();
    let chat = || scope["chat_id"].as_i64().map(|chat| format!("{name}:{chat}"));
    let scope = match name {
        "default" | "all_private_chats" | "all_group_chats" | "all_chat_administrators" => {
            Some(name.to_owned())
        }
        "chat" | "chat_administrators" | "chat_member" => chat(),
        _ => None,
    };
    let scope = scope.ok_or_else(|| Refusal::bad("can't parse BotCommandScope"))?;
    let language = params.text("language_code").unwrap_or_default();
    let fits =
        language.is_empty() || (language.len() == 2 && language.chars().all(|c| c.is_ascii_lowercase()));
    if fits { Ok((scope, language)) } else { Err(Refusal::bad("BOT_COMMANDS_LANG_CODE_INVALID")) }
}

fn check_command(command: &Value) -> Result<(), Refusal> {
    let name = command["command"].as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !(1..=32).contains(&name.len()) || !name.chars().all(plain) {
        return Err(Refusal::bad("BOT_COMMAND_INVALID"));
    }
    let words = command["description"].as_str().unwrap_or_default();
    match words.chars().count() {
        1..=256 => Ok(()),
        _ => Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID")),
    }
}

/// `setMyCommands`.
pub(crate) fn set_my_commands(world: &mut Environment, params: &Params) -> Answer {
    let menu = menu(params)?;
    let commands = params.json("commands")?.and_then(|list| list.as_array().cloned());
    let commands = commands.ok_or_else(|| Refusal::bad("commands are not specified"))?;
    if commands.len() > 100 {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    commands.iter().try_for_each(check_command)?;
    world.commands.insert(menu, Value::Array(commands));
    configured()
}

/// `getMyCommands`.
pub(crate) fn get_my_commands(world: &Environment, params: &Params) -> Answer {
    let commands = world.commands.get(&menu(params)?).cloned().unwrap_or_else(|| json!([]));
    Ok(Done { result: commands, deed: Deed::Asked })
}

/// `deleteMyCommands`.
pub(crate) fn delete_my_commands(world: &mut Environment, params: &Params) -> Answer {
    world.commands.remove(&menu(params)?);
    configured()
}
