//! Scheduled tasks: from a file to a delivered result, by the real daemon.

mod asked_in_chats;
mod chats;
mod commands;
mod costs;
mod deliveries;
mod in_conversations;
mod kill;
mod runs;
