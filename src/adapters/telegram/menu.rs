//! Registers the command menu behind `/`, per language.

use serde_json::{Value, json};
use teloxide_core::payloads::{SetMyCommands, SetMyCommandsSetters as _};
use teloxide_core::types::{BotCommand, BotCommandScope};

use super::api::{ApiError, BotApi};
use crate::domain::{Command, Language};
use crate::ports::{Durability, KeyValueStore};
use crate::render::Phrase;

/// What was last registered.
const NOTE: &str = "menu";
const LONGEST: usize = 256;

/// Registers the commands, unless the server has these already. Failure is logged only: the commands work without.
pub(super) async fn register(api: &BotApi, notes: &dyn KeyValueStore, language: Option<Language>) {
    let menus = menus(language.unwrap_or_default());
    let wanted = json!({ "bot": api.bot(), "menus": menus });
    let known = notes.get(NOTE).await.ok().flatten();
    if known.as_ref() == Some(&wanted) {
        return;
    }
    match set(api, &menus).await {
        Ok(()) => {
            if let Err(error) = notes.put(NOTE, wanted, Durability::Written).await {
                tracing::debug!(%error, "command menu not stored");
            }
        }
        Err(error) => tracing::warn!(%error, "command menu registration failed"),
    }
}

async fn set(api: &BotApi, menus: &[SetMyCommands]) -> Result<(), ApiError> {
    for menu in menus {
        let _done: Value = api.call(menu).await?;
    }
    Ok(())
}

/// One menu per chat kind and language; the default language comes first.
fn menus(default: Language) -> Vec<SetMyCommands> {
    let scopes = [BotCommandScope::AllPrivateChats, BotCommandScope::AllGroupChats];
    let languages = [(None, default), (Some("zh"), Language::Zh), (Some("en"), Language::En)];
    let menu = |scope: &BotCommandScope, code: Option<&str>, language: Language| {
        let menu = SetMyCommands::new(commands(language)).scope(scope.clone());
        match code {
            Some(code) => menu.language_code(code),
            None => menu,
        }
    };
    let of_scope = |scope: &BotCommandScope| {
        // The default menu serves its own language.
        let needed = languages.iter().filter(|(code, language)| code.is_none() || *language != default);
        needed.map(|(code, language)| menu(scope, *code, *language)).collect::<Vec<_>>()
    };
    scopes.iter().flat_map(of_scope).collect()
}

fn commands(language: Language) -> Vec<BotCommand> {
    let command = |command: Command| {
        let description: String = Phrase::of_command(command, language).chars().take(LONGEST).collect();
        BotCommand::new(command.name(), description)
    };
    Command::ALL.into_iter().map(command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_the_menu_of_each_language() {
        let menus = menus(Language::En);
        let codes: Vec<_> = menus.iter().map(|menu| menu.language_code.as_deref()).collect();
        assert_eq!(codes, [None, Some("zh"), None, Some("zh")]);
        for menu in &menus {
            let names: Vec<&str> = menu.commands.iter().map(|command| command.command.as_str()).collect();
            assert_eq!(names, Command::ALL.map(Command::name));
            assert!(menu.commands.iter().all(|command| (3..=LONGEST).contains(&command.description.len())));
        }
        assert_ne!(menus.first().map(|menu| &menu.commands), menus.get(1).map(|menu| &menu.commands));
    }
}
