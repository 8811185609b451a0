//! Who may come in. Pure: what a request says about itself goes in, a verdict comes out.
//!
//! Three questions, each of which must be answered well: is it us the client asked for (a foreign name that
//! resolves to this machine is how web pages reach local daemons), is it our own page that asks (or no page at
//! all), and does it know the token.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri, header};
use ring::{digest, hmac};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

/// The name of the console's cookie.
const COOKIE: &str = "shipagent";

/// Why a request may not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It asked for somebody else.
    Host,
    /// Another page sent it.
    Origin,
    /// It does not know the token.
    Token,
}

/// A host with its port, as far as one was given.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    fn parse(raw: &str) -> Option<Self> {
        let (host, port) = match raw.strip_prefix('[') {
            Some(rest) => {
                let (address, behind) = rest.split_once(']')?;
                address.parse::<std::net::Ipv6Addr>().ok()?;
                match behind {
                    "" => (address, None),
                    _ => (address, Some(behind.strip_prefix(':')?)),
                }
            }
            None => raw.split_once(':').map_or((raw, None), |(host, port)| (host, Some(port))),
        };
        let in_brackets = raw.starts_with('[');
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if host.is_empty() || !(in_brackets || host.chars().all(plain)) {
            return None;
        }
        let port = match port {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
            Some(_) => return None,
            None => None,
        };
        Some(Self { host: host.to_ascii_lowercase(), port })
    }
}

/// The names under which this daemon may be asked for.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    listen: SocketAddr,
    allowed: Vec<Authority>,
}

impl Hosts {
    /// `listen` is the address as it was bound, with its real port.
    pub(super) fn new(listen: SocketAddr, allowed: &[String]) -> Self {
        Self { listen, allowed: allowed.iter().filter_map(|host| Authority::parse(host)).collect() }
    }

    /// Whether the request is meant for us.
    pub(super) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok()).ok_or(Refusal::Host)?;
        let target = uri.authority().is_none_or(|authority| self.permits(authority.as_str(), 80));
        if named.next().is_none() && target && self.permits(host, 80) { Ok(()) } else { Err(Refusal::Host) }
    }

    /// Whether no foreign page is behind the request. A request without these headers comes from no page.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let own_origin = headers.get_all(header::ORIGIN).iter().all(|origin| {
            let origin = origin.to_str().unwrap_or_default();
            let http = origin.strip_prefix("http://").is_some_and(|host| self.permits(host, 80));
            http || origin.strip_prefix("https://").is_some_and(|host| self.permits(host, 443))
        });
        // A page on another port of the same machine is "same-site" and would be sent our cookie.
        let own_site = headers
            .get_all("sec-fetch-site")
            .iter()
            .all(|site| site.as_bytes() == b"same-origin" || site.as_bytes() == b"none");
        if own_origin && own_site { Ok(()) } else { Err(Refusal::Origin) }
    }

    fn permits(&self, raw: &str, default_port: u16) -> bool {
        let Some(asked) = Authority::parse(raw) else { return false };
        let port = asked.port.unwrap_or(default_port);
        let own_name = match asked.host.parse::<IpAddr>() {
            // Behind a bare address there is no name that could resolve to somewhere else tomorrow.
            Ok(address) if self.listen.ip().is_unspecified() => address.is_ipv4() || address.is_ipv6(),
            Ok(address) => address == self.listen.ip() || address.is_loopback(),
            Err(_) => asked.host == "localhost",
        };
        let allowed = |name: &Authority| {
            name.host == asked.host && name.port.is_none_or(|allowed_port| allowed_port == port)
        };
        (own_name && port == self.listen.port()) || self.allowed.iter().any(allowed)
    }
}

/// What opens the door: the token, and a cookie made of it.
///
/// The cookie is a keyed digest of the token. So it survives a restart, needs no table of sessions, dies with
/// the token, and whoever steals it from a browser does not have the token itself.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    token: Option<digest::Digest>,
    cookie: String,
}

impl Keys {
    pub(super) fn new(token: &SecretString) -> Self {
        let token = token.expose_secret().as_bytes();
        let key = hmac::Key::new(hmac::HMAC_SHA256, token);
        let cookie = hex(hmac::sign(&key, b"shipagent console cookie 1").as_ref());
        Self { token: (!token.is_empty()).then(|| sha256(token)), cookie }
    }

    /// Whether the request knows the token, one way or the other.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let known = match headers.get(header::AUTHORIZATION) {
            Some(value) => value.to_str().ok().and_then(bearer).is_some_and(|token| self.token_is(token)),
            None => cookies(headers).any(|cookie| self.cookie_is(cookie)),
        };
        if known { Ok(()) } else { Err(Refusal::Token) }
    }

    /// Whether this is the token. Takes the same time for every answer.
    pub(super) fn token_is(&self, given: &str) -> bool {
        // Digests are compared, so that not even the length can be measured.
        let given = sha256(given.as_bytes());
        self.token.is_some_and(|token| bool::from(token.as_ref().ct_eq(given.as_ref())))
    }

    fn cookie_is(&self, given: &str) -> bool {
        let same = sha256(self.cookie.as_bytes()).as_ref().ct_eq(sha256(given.as_bytes()).as_ref());
        self.token.is_some() && bool::from(same)
    }

    /// The header that gives a browser the cookie.
    pub(super) fn set_cookie(&self) -> String {
        format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie)
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })
}

/// A digest of these bytes.
pub(super) fn sha256(bytes: &[u8]) -> digest::Digest {
    digest::digest(&digest::SHA256, bytes)
}

/// Bytes as letters.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap());
        }
        map
    }

    fn hosts(listen: &str) -> Hosts {
        Hosts::new(listen.parse().unwrap(), &["agent.example".to_owned(), "Proxy.example:8443".to_owned()])
    }

    #[test]
    fn only_our_own_names_are_answered() {
        for (listen, host, ours) in [
            ("127.0.0.1:7717", "127.0.0.1:7717", true),
            ("127.0.0.1:7717", "localhost:7717", true),
            ("127.0.0.1:7717", "LocalHost:7717", true),
            ("127.0.0.1:7717", "[::1]:7717", true),
            ("127.0.0.1:80", "localhost", true),
            ("127.0.0.1:7717", "localhost", false),
            ("127.0.0.1:7717", "localhost:7718", false),
            ("127.0.0.1:7717", "evil.example:7717", false),
            ("127.0.0.1:7717", "localhost.evil.example:7717", false),
            ("127.0.0.1:7717", "192.168.0.7:7717", false),
            ("192.168.0.7:7717", "192.168.0.7:7717", true),
            ("0.0.0.0:7717", "192.168.0.7:7717", true),
            ("0.0.0.0:7717", "evil.example:7717", false),
            ("127.0.0.1:7717", "agent.example", true),
            ("127.0.0.1:7717", "agent.example:444", true),
            ("127.0.0.1:7717", "proxy.example:8443", true),
            ("127.0.0.1:7717", "proxy.example", false),
            ("127.0.0.1:7717", "", false),
            ("127.0.0.1:7717", "user@localhost:7717", false),
            ("127.0.0.1:7717", "localhost:7717/x", false),
            ("127.0.0.1:7717", "localhost:+7717", false),
            ("127.0.0.1:7717", "[::1]7717", false),
            ("127.0.0.1:7717", "[localhost]:7717", false),
        ] {
            let verdict = hosts(listen).check_host(&Uri::from_static("/"), &headers(&[("host", host)]));
            assert_eq!(verdict.is_ok(), ours, "{listen} asked as {host:?}");
        }
    }

    #[test]
    fn a_request_names_exactly_one_host() {
        let hosts = hosts("127.0.0.1:7717");
        let (path, good) = (Uri::from_static("/"), ("host", "localhost:7717"));
        assert_eq!(hosts.check_host(&path, &headers(&[])), Err(Refusal::Host));
        assert_eq!(hosts.check_host(&path, &headers(&[good, ("host", "evil")])), Err(Refusal::Host));
        let foreign = Uri::from_static("http://evil.example/");
        assert_eq!(hosts.check_host(&foreign, &headers(&[good])), Err(Refusal::Host));
    }

    #[test]
    fn only_our_own_page_may_ask() {
        for (pairs, ours) in [
            (vec![], true),
            (vec![("origin", "http://localhost:7717")], true),
            (vec![("origin", "http://127.0.0.1:7717"), ("sec-fetch-site", "same-origin")], true),
            (vec![("sec-fetch-site", "none")], true),
            (vec![("origin", "https://agent.example")], true),
            (vec![("origin", "https://proxy.example:8443")], true),
            (vec![("origin", "https://proxy.example")], false),
            (vec![("origin", "http://localhost:3000")], false),
            (vec![("origin", "http://evil.example")], false),
            (vec![("origin", "null")], false),
            (vec![("origin", "")], false),
            (vec![("origin", "ftp://localhost:7717")], false),
            (vec![("origin", "http://localhost:7717"), ("origin", "http://evil.example")], false),
            (vec![("sec-fetch-site", "cross-site")], false),
            (vec![("sec-fetch-site", "same-site")], false),
        ] {
            let verdict = hosts("127.0.0.1:7717").check_origin(&headers(&pairs));
            assert_eq!(verdict.is_ok(), ours, "{pairs:?}");
        }
    }

    #[test]
    fn the_token_or_its_cookie_opens_the_door() {
        let keys = Keys::new(&SecretString::from("s3cret"));
        let cookie = keys.set_cookie();
        let cookie = cookie.split(';').next().unwrap();
        let stale = Keys::new(&SecretString::from("other")).set_cookie();
        let in_bag = format!("theme=dark; {cookie}; x=1");
        for (pairs, open) in [
            (vec![], false),
            (vec![("authorization", "Bearer s3cret")], true),
            (vec![("authorization", "bearer s3cret")], true),
            (vec![("authorization", "Bearer s3cre")], false),
            (vec![("authorization", "Bearer ")], false),
            (vec![("authorization", "Basic s3cret")], false),
            (vec![("cookie", cookie)], true),
            (vec![("cookie", in_bag.as_str())], true),
            (vec![("cookie", "shipagent=s3cret")], false),
            (vec![("cookie", "shipagent=")], false),
            (vec![("cookie", stale.as_str())], false),
            (vec![("authorization", "Bearer wrong"), ("cookie", cookie)], false),
        ] {
            assert_eq!(keys.check(&headers(&pairs)).is_ok(), open, "{pairs:?}");
        }
    }

    #[test]
    fn an_empty_token_lets_nobody_in() {
        let keys = Keys::new(&SecretString::from(""));
        let cookie = keys.set_cookie();
        assert!(!keys.token_is(""));
        assert!(keys.check(&headers(&[("authorization", "Bearer ")])).is_err());
        assert!(keys.check(&headers(&[("cookie", cookie.split(';').next().unwrap())])).is_err());
    }

    #[test]
    fn the_cookie_does_not_carry_the_token() {
        let keys = Keys::new(&SecretString::from("s3cret"));
        assert!(!keys.set_cookie().contains("s3cret"));
        assert!(keys.set_cookie().ends_with("; HttpOnly; SameSite=Strict; Path=/"));
        assert!(!format!("{keys:?}").contains("s3cret"));
    }
}
