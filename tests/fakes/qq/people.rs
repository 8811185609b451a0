//! Simulated people: they write, send files, press buttons.

use serde_json::{Value, json};

use super::QqFake;

/// The author and the chat of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In private.
    C2c(&'static str),
    /// In a group: the group and the member.
    Group(&'static str, &'static str),
    /// In a channel: the channel and the user.
    Channel(&'static str, &'static str),
    /// In private through a guild: the guild and the user.
    Dm(&'static str, &'static str),
}

impl Place {
    pub(crate) fn chat(self) -> &'static str {
        match self {
            Self::C2c(chat) | Self::Group(chat, _) | Self::Channel(chat, _) | Self::Dm(chat, _) => chat,
        }
    }

    fn event(self, id: &str, content: &str, at: &str) -> (&'static str, Value) {
        let mut body = json!({ "id": id, "content": content, "timestamp": at });
        let (name, facts) = match self {
            Self::C2c(user) => {
                ("C2C_MESSAGE_CREATE", json!({ "author": { "user_openid": user, "id": user } }))
            }
            Self::Group(group, member) => (
                "GROUP_AT_MESSAGE_CREATE",
                json!({ "group_openid": group, "content": format!(" {content}"),
                    "author": { "member_openid": member } }),
            ),
            Self::Channel(channel, user) => (
                "AT_MESSAGE_CREATE",
                json!({ "channel_id": channel, "guild_id": "S1", "content": format!("<@!900> {content}"),
                    "mentions": [{ "id": "900", "bot": true }],
                    "author": { "id": user, "username": "Ann", "bot": false } }),
            ),
            Self::Dm(guild, user) => (
                "DIRECT_MESSAGE_CREATE",
                json!({ "channel_id": "DC", "guild_id": guild, "author": { "id": user, "username": "Ann" } }),
            ),
        };
        super::super::daemon::merge(&mut body, facts);
        (name, body)
    }
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

impl QqFake {
    /// A person writes. Returns the id of the message.
    pub(crate) fn says(&self, place: Place, content: &str) -> String {
        self.says_with(place, content, json!({}))
    }

    /// A person writes, with further fields in the event.
    pub(crate) fn says_with(&self, place: Place, content: &str, extra: Value) -> String {
        self.shared.with(|rules| {
            let id = format!("ROBOT1.0_m{}", rules.number());
            let (name, mut body) = place.event(&id, content, &now());
            super::super::daemon::merge(&mut body, extra);
            rules.repliable(&id, place.chat());
            rules.emit(name, &format!("{name}:{id}"), body);
            id
        })
    }

    /// The platform sends the event of a message again.
    pub(crate) fn says_again(&self, place: Place, id: &str, content: &str) {
        self.shared.with(|rules| {
            let (name, body) = place.event(id, content, &now());
            rules.emit(name, &format!("{name}:{id}"), body);
        });
    }

    /// A file that can be downloaded; returns its URL.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        self.shared.with(|rules| {
            rules.files.insert(name.to_owned(), bytes.to_vec());
            format!("{}/files/{name}", rules.base)
        })
    }

    /// A person presses a button. Returns the id of the interaction.
    pub(crate) fn presses(&self, place: Place, data: &str) -> String {
        self.shared.with(|rules| {
            let id = format!("interaction-{}", rules.number());
            let event_id = format!("INTERACTION_CREATE:{id}");
            let facts = match place {
                Place::C2c(user) => json!({ "chat_type": 2, "scene": "c2c", "user_openid": user }),
                Place::Group(group, member) => {
                    json!({ "chat_type": 1, "scene": "group", "group_openid": group,
                    "group_member_openid": member })
                }
                Place::Channel(channel, _) => {
                    json!({ "chat_type": 0, "scene": "guild", "guild_id": "S1", "channel_id": channel })
                }
                Place::Dm(guild, _) => {
                    json!({ "chat_type": 0, "scene": "guild", "guild_id": guild, "channel_id": "DC" })
                }
            };
            let user = match place {
                Place::Channel(_, user) | Place::Dm(_, user) => json!({ "user_id": user }),
                Place::C2c(_) | Place::Group(..) => json!({}),
            };
            let mut body = json!({ "id": id, "type": 11, "version": 1, "timestamp": now(),
                "data": { "type": 11, "resolved": { "button_data": data, "button_id": "1" } } });
            super::super::daemon::merge(&mut body["data"]["resolved"], user);
            super::super::daemon::merge(&mut body, facts);
            rules.repliable(&event_id, place.chat());
            rules.emit("INTERACTION_CREATE", &event_id, body);
            id
        })
    }
}
