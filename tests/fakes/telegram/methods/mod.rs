//! The effects and errors of each method.

mod bot;
mod chats;
mod keyboard;
mod media;
mod target;
mod text;

pub(crate) use bot::{
    close, delete_my_commands, delete_webhook, get_me, get_my_commands, get_webhook_info, kinds, log_out,
    set_my_commands, set_webhook,
};
pub(crate) use chats::{
    create_forum_topic, get_chat, get_chat_administrators, get_chat_member, leave_chat, send_chat_action,
    set_message_reaction,
};
pub(crate) use keyboard::answer_callback_query;
pub(crate) use media::{get_file, send_media, send_media_group, wire};
pub(crate) use target::put;
pub(crate) use text::{
    delete_message, edit_message_caption, edit_message_reply_markup, edit_message_text, send_message,
    send_message_draft,
};
