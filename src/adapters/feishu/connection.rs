//! The rules of the long connection: parsing the endpoint, the longest silence, and when to reconnect. Pure.

use std::time::Duration;

use serde::Deserialize;

use super::phrases::connection_refused;
use crate::adapters::Backoff;
use crate::domain::Language;

/// The client settings that the platform sends with the endpoint; a pong may change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientConfig {
    /// Interval between two pings.
    pub(super) ping: Duration,
    /// The longest wait before a reconnect.
    pub(super) reconnect: Duration,
    /// The time over which clients that lost their connections together spread their reconnects.
    pub(super) spread: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            ping: Duration::from_secs(120),
            reconnect: Duration::from_secs(120),
            spread: Duration::from_secs(30),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct ConfigWire {
    reconnect_interval: Option<i64>,
    reconnect_nonce: Option<i64>,
    ping_interval: Option<i64>,
}

impl ClientConfig {
    /// Applies the platform's settings; missing or invalid values stay unchanged.
    pub(super) fn updated(self, json: &[u8]) -> Self {
        serde_json::from_slice::<ConfigWire>(json).map_or(self, |wire| self.with(&wire))
    }

    fn with(self, wire: &ConfigWire) -> Self {
        let seconds = |given: Option<i64>, least: u64, earlier: Duration| {
            let given = given.and_then(|given| u64::try_from(given).ok()).filter(|given| *given >= least);
            given.map_or(earlier, |given| Duration::from_secs(given.min(3600)))
        };
        Self {
            ping: seconds(wire.ping_interval, 1, self.ping),
            reconnect: seconds(wire.reconnect_interval, 1, self.reconnect),
            spread: seconds(wire.reconnect_nonce, 0, self.spread),
        }
    }

    /// The silence after which a connection is dead: a ping was sent and no frame came back.
    pub(super) fn silence(self) -> Duration {
        self.ping + (self.ping / 2).clamp(Duration::from_secs(2), Duration::from_secs(30))
    }
}

/// The address of a new connection. It holds a ticket: it is used once and never logged.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ConnectionEndpoint {
    pub(super) url: String,
    pub(super) service: i32,
    pub(super) config: ClientConfig,
}

impl std::fmt::Debug for ConnectionEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Why no connection can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionRefused {
    /// A retry may succeed.
    Later(String),
    /// The settings or the app must change first.
    Never(FinalRefusal),
}

/// A refusal that no retry changes, with the platform's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinalRefusal {
    refusal: Refusal,
    detail: String,
}

impl FinalRefusal {
    pub(super) fn say(&self, language: Language) -> String {
        connection_refused(self.refusal, &self.detail, language)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    NoCredentials,
    WrongCredentials,
    TooManyConnections,
    /// Feishu instead of Lark, or the other way round.
    OtherPlatform,
    Refused,
}

#[derive(Debug, Deserialize)]
struct EndpointWire {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    data: Option<EndpointData>,
}

#[derive(Debug, Default, Deserialize)]
struct EndpointData {
    #[serde(default, rename = "URL")]
    url: Option<String>,
    #[serde(default, rename = "ClientConfig")]
    config: Option<ConfigWire>,
}

/// Parses the response of the endpoint call.
pub(super) fn read_endpoint(status: u16, body: &[u8]) -> Result<ConnectionEndpoint, ConnectionRefused> {
    let answer: EndpointWire = serde_json::from_slice(body)
        .map_err(|_| ConnectionRefused::Later(format!("http {status}, and no answer that can be read")))?;
    let words = || format!("code {}: {}", answer.code, answer.msg);
    if answer.code != 0 {
        return Err(refusal(answer.code, words()));
    }
    if status != 200 {
        return Err(ConnectionRefused::Later(format!("http {status}")));
    }
    let data = answer.data.unwrap_or_default();
    let url = data
        .url
        .filter(|url| !url.is_empty())
        .ok_or_else(|| ConnectionRefused::Later("no address".to_owned()))?;
    let parsed =
        reqwest::Url::parse(&url).map_err(|_| ConnectionRefused::Later("not an address".to_owned()))?;
    let service = parsed.query_pairs().find(|(key, _)| key == "service_id");
    let service = service.and_then(|(_, value)| value.parse().ok()).unwrap_or_default();
    let config = data.config.map_or_else(ClientConfig::default, |wire| ClientConfig::default().with(&wire));
    Ok(ConnectionEndpoint { url, service, config })
}

fn refusal(code: i64, detail: String) -> ConnectionRefused {
    let refusal = match code {
        1_000_040_344 => Refusal::NoCredentials,
        1_000_040_345 => Refusal::WrongCredentials,
        1_000_040_350 => Refusal::TooManyConnections,
        1_000_040_351 => Refusal::OtherPlatform,
        403 | 514 => Refusal::Refused,
        _ => return ConnectionRefused::Later(detail),
    };
    ConnectionRefused::Never(FinalRefusal { refusal, detail })
}

/// Parses the headers of a refused handshake.
pub(super) fn read_handshake(
    status: Option<&str>,
    message: Option<&str>,
    detail: Option<&str>,
) -> ConnectionRefused {
    let words = format!("{} {}", status.unwrap_or("?"), message.unwrap_or_default()).trim().to_owned();
    let never = |refusal, detail| ConnectionRefused::Never(FinalRefusal { refusal, detail });
    match (status, detail) {
        (Some("403"), _) => never(Refusal::Refused, words),
        (Some("514"), Some("1000040350")) => never(Refusal::TooManyConnections, words),
        _ => ConnectionRefused::Later(format!("the handshake failed ({words})")),
    }
}

#[derive(Debug, Default)]
pub(super) struct Reconnect {
    breaks: u32,
}

impl Reconnect {
    const PACE: Backoff = Backoff {
        first: Duration::from_secs(1),
        longest: Duration::from_secs(60),
        stable_after: Duration::from_secs(60),
    };
    /// Caps the spread that the platform asks for: people wait for answers.
    const MOST_SPREAD: Duration = Duration::from_secs(2);

    /// The wait after a connection that lasted for `lived`. `dice` from 0 to 1 spreads many clients.
    pub(super) fn wait(&mut self, lived: Duration, config: ClientConfig, dice: f64) -> Duration {
        self.breaks = Self::PACE.breaks_after(self.breaks, lived);
        match self.breaks {
            1 => config.spread.min(Self::MOST_SPREAD).mul_f64(dice.clamp(0.0, 1.0)),
            breaks => Self::PACE.delay(breaks - 1, dice).min(config.reconnect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_tells_where_or_why_not() {
        let good = br#"{"code":0,"msg":"ok","data":{"URL":"wss://h/ws?device_id=1&service_id=42&ticket=s",
            "ClientConfig":{"ReconnectCount":-1,"ReconnectInterval":60,"ReconnectNonce":10,"PingInterval":30}}}"#;
        let endpoint = read_endpoint(200, good).unwrap();
        let config = ClientConfig {
            ping: Duration::from_secs(30),
            reconnect: Duration::from_secs(60),
            spread: Duration::from_secs(10),
        };
        assert_eq!((endpoint.service, endpoint.config), (42, config));
        assert!(!format!("{endpoint:?}").contains("ticket"), "the ticket is a secret");

        let read = |status, body: &str| read_endpoint(status, body.as_bytes()).unwrap_err();
        for body in [
            r#"{"code":1,"msg":"busy","data":{}}"#,
            r#"{"code":1000040343}"#,
            r#"{"code":0,"data":{}}"#,
            "<html>",
        ] {
            assert!(matches!(read(200, body), ConnectionRefused::Later(_)), "{body}");
        }
        assert!(matches!(read(502, r#"{"code":0}"#), ConnectionRefused::Later(_)));
        for code in [403, 514, 1_000_040_344, 1_000_040_345, 1_000_040_350, 1_000_040_351_i64] {
            assert!(
                matches!(read(200, &format!(r#"{{"code":{code},"msg":"no"}}"#)), ConnectionRefused::Never(_)),
                "{code}"
            );
        }
    }

    #[test]
    fn a_refused_handshake_is_final_only_when_it_says_so() {
        for (status, detail, never) in [
            (Some("403"), None, true),
            (Some("514"), Some("1000040350"), true),
            (Some("514"), Some("1"), false),
            (None, None, false),
        ] {
            let refusal = read_handshake(status, Some("why"), detail);
            assert_eq!(matches!(refusal, ConnectionRefused::Never(_)), never, "{status:?} {detail:?}");
        }
    }

    #[test]
    fn a_pong_changes_what_it_names_and_nothing_else() {
        let config = ClientConfig::default();
        assert_eq!(config.updated(br#"{"PingInterval":5}"#).ping, Duration::from_secs(5));
        assert_eq!(config.updated(br#"{"PingInterval":0,"ReconnectInterval":-1}"#), config);
        assert_eq!(config.updated(b"not json"), config);
        assert_eq!(config.silence(), Duration::from_secs(150));
        assert_eq!(config.updated(br#"{"PingInterval":1}"#).silence(), Duration::from_secs(3));
    }

    #[test]
    fn a_lost_connection_is_opened_soon_and_then_ever_later() {
        let config = ClientConfig { reconnect: Duration::from_secs(10), ..ClientConfig::default() };
        let mut reconnect = Reconnect::default();
        let mut wait = |lived| reconnect.wait(Duration::from_secs(lived), config, 0.0).as_millis();
        let waits = [wait(600), wait(0), wait(0), wait(0), wait(0), wait(0), wait(600)];
        assert_eq!(waits, [0, 1000, 2000, 4000, 8000, 10_000, 0]);
        let spread = Reconnect::default().wait(Duration::ZERO, config, 1.0);
        assert_eq!(spread, Duration::from_secs(2));
    }
}
