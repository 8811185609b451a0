//! Several agents in one group: real daemons that share a directory.

mod agents;
mod basic_groups;
mod gate_costs;
mod golden;
mod history;
mod kills;
mod lapses;
mod native;
mod prompts;
mod relevance;
mod scene;
mod troubles;
