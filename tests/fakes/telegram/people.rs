//! The actions of people in a chat, and which of them reach the bot.

use serde_json::{Map, Value, json};

use super::account::{Account, Privacy, User};
use super::methods::wire;
use super::post::{Author, Post};
use super::room::{AuthorRole, Kind, Room};
use super::world::{Environment, Press, Shared, now};

/// A chat, from the point of view of its people. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Chat {
    shared: Shared,
    id: i64,
}

impl Chat {
    pub(crate) fn new(shared: Shared, id: i64) -> Self {
        Self { shared, id }
    }

    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    #[must_use]
    pub(crate) fn with_topics(self) -> Self {
        self.shared.change(|world| world.room_mut(self.id).forum = true);
        self
    }

    /// Marks that the person never wrote to the bot.
    #[must_use]
    pub(crate) fn unstarted(self) -> Self {
        self.shared.change(|world| world.room_mut(self.id).role = AuthorRole::Stranger);
        self
    }

    #[must_use]
    pub(crate) fn with_admin(self, user: &User) -> Self {
        self.shared.change(|world| {
            let room = world.room_mut(self.id);
            room.members.insert(user.id, user.clone());
            room.admins.push(user.id);
        });
        self
    }

    pub(crate) fn topic(&self, name: &str) -> i64 {
        self.shared.change(|world| world.make_topic(self.id, name))
    }

    /// The next message has this id.
    pub(crate) fn count_from(&self, id: i64) {
        self.shared.change(|world| world.room_mut(self.id).last_id = id - 1);
    }

    /// Sends a message of any kind; returns its id.
    pub(crate) fn post(&self, author: impl Into<Author>, post: Post) -> i64 {
        self.shared.change(|world| world.people_post(self.id, author.into(), post))
    }

    pub(crate) fn say(&self, author: impl Into<Author>, text: &str) -> i64 {
        self.post(author, Post::text(text))
    }

    /// Sends a text to a topic.
    pub(crate) fn say_in_topic(&self, author: impl Into<Author>, topic: i64, text: &str) -> i64 {
        self.post(author, Post::text(text).in_topic(topic))
    }

    /// Replies to a message.
    pub(crate) fn reply_to(&self, author: impl Into<Author>, message: i64, text: &str) -> i64 {
        self.post(author, Post::text(text).replying(message))
    }

    pub(crate) fn album(&self, author: impl Into<Author>, posts: impl IntoIterator<Item = Post>) -> Vec<i64> {
        let author = author.into();
        self.shared.change(|world| {
            let group = format!("14{:09}", world.room(self.id).last_id);
            let posts = posts.into_iter().map(|post| post.with("media_group_id", json!(group)));
            posts.map(|post| world.people_post(self.id, author.clone(), post)).collect()
        })
    }

    /// Edits the text of a message.
    pub(crate) fn edit(&self, message: i64, text: &str) {
        self.shared.change(|world| {
            let room = world.room_mut(self.id);
            let kind = if room.kind == Kind::Channel { "edited_channel_post" } else { "edited_message" };
            let changed =
                room.messages.get_mut(&message).and_then(Value::as_object_mut).expect("it is there");
            let name = if changed.contains_key("text") { "text" } else { "caption" };
            super::methods::put(changed, name, &super::formatted::Formatted::typed(text));
            changed.insert("edit_date".to_owned(), json!(now()));
            let changed = Value::Object(changed.clone());
            world.reach_bot(kind, changed);
        });
    }

    /// Deletes a message; bots are not told.
    pub(crate) fn erase(&self, message: i64) {
        self.shared.change(|world| world.room_mut(self.id).messages.remove(&message));
    }

    /// Presses the button with this text, or this data, under a message; returns the id of the query.
    pub(crate) fn press(&self, user: &User, message: i64, button: &str) -> String {
        let data = self.shared.read(|world| {
            let seen = world.visible(self.id).into_iter().find(|seen| seen.id == message);
            let buttons: Vec<_> = seen.into_iter().flat_map(|seen| seen.buttons).flatten().collect();
            let found = buttons.iter().find(|b| b.text == button || b.data.as_deref() == Some(button));
            found.and_then(|button| button.data.clone()).unwrap_or_else(|| {
                panic!("no button {button:?} under {message}, only {buttons:?}\n{}", world.tell())
            })
        });
        self.press_data(user, message, &data)
    }

    /// Presses a button that may have been removed.
    pub(crate) fn press_data(&self, user: &User, message: i64, data: &str) -> String {
        self.shared.change(|world| {
            let query = format!("4382{:012}", world.presses.len() + 1);
            let room = world.room(self.id);
            let gone = || json!({ "chat": room.wire(), "message_id": message, "date": 0 });
            let shown = room.messages.get(&message).cloned().unwrap_or_else(gone);
            let press = json!({ "id": query, "from": user.wire(), "message": shown,
                "chat_instance": format!("-77{}", self.id.unsigned_abs()), "data": data });
            world.presses.insert(query.clone(), Press::Waiting);
            world.updates.push("callback_query", press);
            query
        })
    }

    /// Stops the bot while it drafts.
    pub(crate) fn stop_draft(&self, draft: i64) {
        self.shared.change(|world| {
            let chat = world.room(self.id).wire();
            world.updates.push("stopped_message_generation", json!({ "chat": chat, "draft_id": draft }));
        });
    }

    /// Reacts to a message.
    pub(crate) fn react(&self, user: &User, message: i64, emoji: &str) {
        self.shared.change(|world| {
            let chat = world.room(self.id).wire();
            let reaction = json!({ "chat": chat, "message_id": message, "user": user.wire(), "date": now(),
                "old_reaction": [], "new_reaction": [{ "type": "emoji", "emoji": emoji }] });
            world.updates.push("message_reaction", reaction);
        });
    }

    /// Adds the bot to the group.
    pub(crate) fn add_bot(&self, by: &User) {
        self.shared.change(|world| {
            world.stand(self.id, by, AuthorRole::Member);
            let me = world.account.user.wire();
            world.service(self.id, by, "new_chat_members", json!([me]));
        });
    }

    /// Makes the bot an administrator.
    pub(crate) fn promote_bot(&self, by: &User) {
        self.shared.change(|world| world.stand(self.id, by, AuthorRole::Admin));
    }

    /// Removes the bot from the group, or blocks it in a private chat.
    pub(crate) fn remove_bot(&self, by: &User) {
        self.shared.change(|world| world.stand(self.id, by, AuthorRole::Kicked));
    }

    /// Unblocks the bot in a private chat.
    pub(crate) fn unblock(&self, by: &User) {
        self.shared.change(|world| world.stand(self.id, by, AuthorRole::Member));
    }

    /// The group becomes a supergroup with a new id.
    pub(crate) fn migrate(&self, to: i64) -> Self {
        self.shared.change(|world| {
            let old = world.room_mut(self.id);
            assert_eq!(old.kind, Kind::Group, "only a plain group becomes a supergroup");
            old.migrated_to = Some(to);
            let mut new = Room::new(to, Kind::Supergroup, &old.title);
            new.members.clone_from(&old.members);
            new.admins.clone_from(&old.admins);
            world.rooms.insert(to, new);
            let by = User::new(1_087_968_824, "Group").called("GroupAnonymousBot").bot();
            world.service(self.id, &by, "migrate_to_chat_id", json!(to));
            world.service(to, &by, "migrate_from_chat_id", json!(self.id));
        });
        Self::new(self.shared.clone(), to)
    }
}

impl Environment {
    /// Creates a topic: its id is that of its service message.
    pub(crate) fn make_topic(&mut self, chat: i64, name: &str) -> i64 {
        let room = self.room_mut(chat);
        // The first id is that of the General topic.
        room.last_id = room.last_id.max(1);
        let topic = room.last_id + 1;
        room.topics.insert(topic, name.to_owned());
        let mut fields = Map::new();
        fields.insert("forum_topic_created".to_owned(), json!({ "name": name, "icon_color": 7_322_096 }));
        self.post(chat, Some(topic), fields);
        topic
    }

    fn people_post(&mut self, chat: i64, author: Author, post: Post) -> i64 {
        let mut fields = post.fields;
        self.sign(chat, &author, &mut fields);
        if let Some((kind, file)) = post.file {
            let id = self.keep(&file.name, file.bytes, file.size);
            let mut sent = wire(kind, &id, &file.name, Some(&file.mime), file.size);
            if let Some(emoji) = fields.remove("emoji") {
                sent["emoji"] = emoji;
            }
            fields.insert(kind.to_owned(), sent);
            if let Some(words) = &post.words {
                super::methods::put(&mut fields, "caption", words);
            }
        } else if let Some(words) = &post.words {
            super::methods::put(&mut fields, "text", words);
        }
        let room = self.room(chat);
        // A message in a topic without a reply replies to the message that created the topic.
        let opened = post.topic.filter(|_| room.forum);
        if let Some(quoted) = post.reply_to.or(opened).and_then(|id| room.quoted(id)) {
            if let Some(words) = &post.quote {
                let said = quoted["text"].as_str().or(quoted["caption"].as_str()).unwrap_or_default();
                let before = said.split_once(words.as_str()).expect("the words are in the message").0;
                let position = super::formatted::units(before);
                fields.insert(
                    "quote".to_owned(),
                    json!({ "text": words, "position": position, "is_manual": true }),
                );
            }
            fields.insert("reply_to_message".to_owned(), quoted);
        }
        let channel = room.kind == Kind::Channel;
        let message = self.post(chat, post.topic, fields);
        let id = message["message_id"].as_i64().unwrap_or_default();
        self.reach_bot(if channel { "channel_post" } else { "message" }, message);
        id
    }

    /// Adds the sender to a message: an account may represent a whole chat.
    fn sign(&mut self, chat: i64, author: &Author, fields: &mut Map<String, Value>) {
        let stand_in = |id, name, username| User::new(id, name).called(username).bot().wire();
        let (from, sender_chat) = match author {
            Author::User(user) => {
                self.room_mut(chat).members.insert(user.id, user.clone());
                (Some(user.wire()), None)
            }
            Author::Anonymous if self.room(chat).kind == Kind::Channel => {
                (None, Some(self.room(chat).wire()))
            }
            Author::Anonymous => {
                let group = self.room(chat).wire();
                (Some(stand_in(1_087_968_824, "Group", "GroupAnonymousBot")), Some(group))
            }
            Author::Channel { id, title } => {
                let channel = json!({ "id": id, "type": "channel", "title": title });
                (Some(stand_in(136_817_688, "Channel", "Channel_Bot")), Some(channel))
            }
        };
        fields.extend(from.map(|from| ("from".to_owned(), from)));
        fields.extend(sender_chat.map(|chat| ("sender_chat".to_owned(), chat)));
    }

    /// Sends a message to the bot, if it is in the chat and may receive it.
    fn reach_bot(&mut self, kind: &str, message: Value) {
        let room = self.room(message["chat"]["id"].as_i64().unwrap_or_default());
        let private = room.kind == Kind::Private;
        let from_bot = message["from"]["is_bot"] == true && message.get("sender_chat").is_none();
        let there = matches!(room.role, AuthorRole::Member | AuthorRole::Admin)
            || room.role == AuthorRole::Stranger && private;
        let open = private || room.kind == Kind::Channel || room.role == AuthorRole::Admin;
        let heard = open || self.account.privacy == Privacy::Off || concerns_bot(&self.account, &message);
        if !there || !heard || (from_bot && !self.account.hears_bots) {
            return;
        }
        if private {
            // A person who writes has started the bot.
            let id = room.id;
            self.room_mut(id).role = AuthorRole::Member;
        }
        self.updates.push(kind, message);
    }

    fn service(&mut self, chat: i64, by: &User, field: &str, value: Value) {
        let mut fields = Map::new();
        fields.insert("from".to_owned(), by.wire());
        fields.insert(field.to_owned(), value);
        let message = self.post(chat, None, fields);
        self.updates.push("message", message);
    }

    /// Changes the bot's role and sends it the update.
    fn stand(&mut self, chat: i64, by: &User, role: AuthorRole) {
        let me = self.account.user.wire();
        let room = self.room_mut(chat);
        let member = |role: AuthorRole| json!({ "status": role.status(), "user": me });
        let update = json!({ "chat": room.wire(), "from": by.wire(), "date": now(),
            "old_chat_member": member(room.role), "new_chat_member": member(role) });
        room.role = role;
        self.updates.push("my_chat_member", update);
    }
}

/// What a bot in privacy mode receives: commands for it, replies to it, and optionally mentions.
fn concerns_bot(account: &Account, message: &Value) -> bool {
    let me = account.user.id;
    if message["reply_to_message"]["from"]["id"] == me || message["via_bot"]["id"] == me {
        return true;
    }
    let words = message["text"].as_str().or(message["caption"].as_str()).unwrap_or_default();
    let words: Vec<u16> = words.encode_utf16().collect();
    let entities = message["entities"].as_array().or(message["caption_entities"].as_array());
    entities.into_iter().flatten().any(|entity| {
        let bound =
            |name: &str| entity[name].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        let said = words.iter().skip(bound("offset")).take(bound("length")).copied();
        let said = char::decode_utf16(said).map(|c| c.unwrap_or('?')).collect::<String>().to_lowercase();
        let mentions = account.privacy == Privacy::OnButMentions;
        match entity["type"].as_str() {
            Some("bot_command") => !said.contains('@') || said.ends_with(&format!("@{}", Account::NAME)),
            Some("mention") => mentions && said == format!("@{}", Account::NAME),
            Some("text_mention") => mentions && entity["user"]["id"] == me,
            _ => false,
        }
    })
}
