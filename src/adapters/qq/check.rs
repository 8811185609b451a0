//! The bot's checks for `shipagent doctor`, without starting the bot.

use reqwest::Method;
use serde_json::Value;

use super::api::QqApi;
use super::call_failure::{CallFailure, FailureKind};
use super::options::QqOptions;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QqFinding {
    /// The credentials are valid; the bot's name.
    Bot {
        name: String,
    },
    /// The gateway is reachable.
    Gateway {
        /// How many sessions may still be started today, if the platform reports it.
        sessions_left: Option<u64>,
    },
    BadCredentials {
        what: String,
    },
    /// This machine's IP address is not on the bot's allow-list.
    AddressNotListed {
        what: String,
    },
    /// A request failed or got no response.
    CallFailed {
        /// The request and its error.
        what: String,
    },
}

/// Checks the bot's credentials, identity and gateway. Takes bounded time.
pub async fn check(options: &QqOptions, http: reqwest::Client) -> Vec<QqFinding> {
    let api = QqApi::new(http, options);
    if let Err(trouble) = api.tokens().get().await {
        return vec![found(trouble)];
    }
    let bot = match api.call(Method::GET, "/users/@me", None).await {
        Ok(me) => {
            let name = me.get("username").and_then(Value::as_str);
            QqFinding::Bot { name: name.unwrap_or_default().to_owned() }
        }
        Err(trouble) => found(trouble),
    };
    let gateway = match api.call(Method::GET, "/gateway/bot", None).await {
        Ok(answer) => QqFinding::Gateway {
            sessions_left: answer.pointer("/session_start_limit/remaining").and_then(Value::as_u64),
        },
        Err(trouble) => found(trouble),
    };
    vec![bot, gateway]
}

fn found(trouble: CallFailure) -> QqFinding {
    let what = trouble.what;
    match trouble.kind {
        FailureKind::Credentials | FailureKind::Token => QqFinding::BadCredentials { what },
        _ if what.contains("11298") => QqFinding::AddressNotListed { what },
        _ => QqFinding::CallFailed { what },
    }
}
