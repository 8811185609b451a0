//! shipagent turns a project directory into an agent that people talk to.

pub mod adapters;
pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
pub mod domain;
pub mod metrics;
pub mod model;
pub mod notify;
pub mod policy;
pub mod ports;
pub mod render;
pub mod sandbox;
pub mod signals;
pub mod store;
pub mod telemetry;
pub mod threads;
pub mod tools;
pub mod turn;
pub mod uimessage;
