//! The bot's checks for `shipagent doctor`, without starting the bot.

use serde_json::Value;

use super::api::Api;
use super::http::Method;
use super::options::QqOptions;
use super::trouble::{Kind, Trouble};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
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
    Trouble {
        /// The request and its error.
        what: String,
    },
}

/// Checks the bot's credentials, identity and gateway. Takes bounded time.
pub async fn check(options: &QqOptions, http: reqwest::Client) -> Vec<Finding> {
    let api = Api::new(http, options);
    if let Err(trouble) = api.tokens().get().await {
        return vec![found(trouble)];
    }
    let bot = match api.call(Method::GET, "/users/@me", None).await {
        Ok(me) => {
            let name = me.get("username").and_then(Value::as_str);
            Finding::Bot { name: name.unwrap_or_default().to_owned() }
        }
        Err(trouble) => found(trouble),
    };
    let gateway = match api.call(Method::GET, "/gateway/bot", None).await {
        Ok(answer) => Finding::Gateway {
            sessions_left: answer.pointer("/session_start_limit/remaining").and_then(Value::as_u64),
        },
        Err(trouble) => found(trouble),
    };
    vec![bot, gateway]
}

fn found(trouble: Trouble) -> Finding {
    let what = trouble.what;
    match trouble.kind {
        Kind::Credentials | Kind::Token => Finding::BadCredentials { what },
        _ if what.contains("11298") => Finding::AddressNotListed { what },
        _ => Finding::Trouble { what },
    }
}
