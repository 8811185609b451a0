//! Which host names and page origins this daemon answers to. Pure: headers in, a verdict out.
//!
//! A host name that resolves to this machine is how a foreign web page reaches a local daemon (DNS rebinding), so only
//! known names are served. A request that a page of another origin sent is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, Uri, header};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The `Host` header names a host that this daemon does not serve.
    Host,
    /// A page of another origin sent the request.
    Origin,
}

/// A host with its port, if one was given.
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
                address.parse::<Ipv6Addr>().ok()?;
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

/// The names of this daemon.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    listen: SocketAddr,
    allowed: Vec<Authority>,
}

impl Hosts {
    /// `listen` is the bound address, with its real port.
    pub(super) fn new(listen: SocketAddr, allowed: &[String]) -> Self {
        Self { listen, allowed: allowed.iter().filter_map(|host| Authority::parse(host)).collect() }
    }

    /// Whether the `Host` names this daemon.
    pub(super) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok()).ok_or(Refusal::Host)?;
        let target = uri.authority().is_none_or(|authority| self.permits(authority.as_str(), 80));
        if named.next().is_none() && target && self.permits(host, 80) { Ok(()) } else { Err(Refusal::Host) }
    }

    /// Whether no foreign page sent the request. A request without these headers comes from no page.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let own_origin = headers.get_all(header::ORIGIN).iter().all(|origin| {
            let origin = origin.to_str().unwrap_or_default();
            let http = origin.strip_prefix("http://").is_some_and(|host| self.permits(host, 80));
            http || origin.strip_prefix("https://").is_some_and(|host| self.permits(host, 443))
        });
        // A page on another port of the same host is "same-site", and is refused like any other.
        let own_site = headers
            .get_all("sec-fetch-site")
            .iter()
            .all(|site| site.as_bytes() == b"same-origin" || site.as_bytes() == b"none");
        if own_origin && own_site { Ok(()) } else { Err(Refusal::Origin) }
    }

    /// The console's address with a bare IP, for a request that asks for `localhost`; `None` for every other request.
    ///
    /// Another program may listen on the same port of the other loopback address (`[::1]` beside `127.0.0.1`). To a
    /// browser both are the origin `http://localhost:PORT`, whose storage they share; the origin of the bound address
    /// is this daemon's alone.
    pub(super) fn instead_of_localhost(&self, headers: &HeaderMap) -> Option<String> {
        let asked = Authority::parse(headers.get(header::HOST)?.to_str().ok()?)?;
        let configured = self.allowed.iter().any(|name| name.host == asked.host);
        if asked.host != "localhost" || configured {
            return None;
        }
        let address = match self.listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        Some(format!("http://{}/", SocketAddr::new(address, self.listen.port())))
    }

    fn permits(&self, raw: &str, default_port: u16) -> bool {
        let Some(asked) = Authority::parse(raw) else { return false };
        let port = asked.port.unwrap_or(default_port);
        let own_name = match asked.host.parse::<IpAddr>() {
            // An IP address is no name that could resolve elsewhere later.
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
    fn a_request_for_localhost_is_sent_to_the_bound_address() {
        for (listen, host, address) in [
            ("127.0.0.1:7717", "localhost:7717", Some("http://127.0.0.1:7717/")),
            ("127.0.0.1:7717", "LOCALHOST:7717", Some("http://127.0.0.1:7717/")),
            ("[::1]:7717", "localhost:7717", Some("http://[::1]:7717/")),
            ("0.0.0.0:7717", "localhost:7717", Some("http://127.0.0.1:7717/")),
            ("127.0.0.1:7717", "127.0.0.1:7717", None),
            ("127.0.0.1:7717", "[::1]:7717", None),
            ("127.0.0.1:7717", "agent.example", None),
        ] {
            let found = hosts(listen).instead_of_localhost(&headers(&[("host", host)]));
            assert_eq!(found.as_deref(), address, "{listen} asked as {host}");
        }
        let configured = Hosts::new("127.0.0.1:7717".parse().unwrap(), &["localhost".to_owned()]);
        assert_eq!(configured.instead_of_localhost(&headers(&[("host", "localhost:7717")])), None);
    }
}
