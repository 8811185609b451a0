//! Limits failed logins per client address.
//!
//! Failures are counted in windows of a minute. Behind a reverse proxy every connection comes from the loopback
//! address, so there the address that the proxy appended to `X-Forwarded-For` names the client. A local process can
//! write anything into that header; what comes from the loopback address is therefore limited as a whole as well.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Extensions, HeaderMap};
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);
const MAX_PER_CLIENT: u32 = 10;
const MAX_FROM_LOOPBACK: u32 = 100;

/// How many clients are tracked; beyond that the one with the oldest last failure is dropped.
const MAX_CLIENTS: usize = 4096;

/// The remote address of a connection; an extension of every request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// The unit of counting: an IPv4 address, an IPv6 network of 64 bits, or the whole loopback network, and behind a local
/// proxy the same of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientAddress {
    peer: IpAddr,
    forwarded: Option<IpAddr>,
}

impl ClientAddress {
    pub(super) fn of(extensions: &Extensions, headers: &HeaderMap) -> Self {
        let peer = network(extensions.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Peer(peer)| *peer));
        let forwarded = peer.is_loopback().then(|| forwarded(headers)).flatten().map(network);
        Self { peer, forwarded }
    }
}

/// The last address of `X-Forwarded-For`: the only one that the nearest proxy wrote.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let line = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    let last = line.rsplit(',').next()?.trim();
    let bare = last.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok().or_else(|| last.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        // A local process may connect from any address of 127.0.0.0/8.
        address if address.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        address @ IpAddr::V4(_) => address,
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    began: Instant,
    last: Instant,
    failures: u32,
}

impl Window {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.began) >= WINDOW
    }

    fn blocked_for(&self, limit: u32, now: Instant) -> Option<Duration> {
        (self.failures >= limit && !self.is_over(now))
            .then(|| WINDOW.saturating_sub(now.duration_since(self.began)))
    }

    fn add(window: Option<Self>, now: Instant) -> Self {
        match window {
            Some(window) if !window.is_over(now) => {
                Self { failures: window.failures + 1, last: now, ..window }
            }
            _ => Self { began: now, last: now, failures: 1 },
        }
    }
}

#[derive(Debug, Default)]
struct Failures {
    clients: HashMap<ClientAddress, Window>,
    loopback: Option<Window>,
}

impl Failures {
    fn blocked_for(&self, client: &ClientAddress, now: Instant) -> Option<Duration> {
        let own = self.clients.get(client).and_then(|window| window.blocked_for(MAX_PER_CLIENT, now));
        let whole = self.loopback.filter(|_| client.peer.is_loopback());
        own.max(whole.and_then(|window| window.blocked_for(MAX_FROM_LOOPBACK, now)))
    }

    fn add(&mut self, client: ClientAddress, now: Instant) {
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(&client) {
            self.make_room(now);
        }
        let window = Window::add(self.clients.get(&client).copied(), now);
        self.clients.insert(client, window);
        if client.peer.is_loopback() {
            self.loopback = Some(Window::add(self.loopback, now));
        }
    }

    fn make_room(&mut self, now: Instant) {
        self.clients.retain(|_, window| !window.is_over(now));
        if self.clients.len() < MAX_CLIENTS {
            return;
        }
        let oldest = self.clients.iter().min_by_key(|(_, window)| window.last).map(|(client, _)| *client);
        if let Some(oldest) = oldest {
            self.clients.remove(&oldest);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct FailureLimiter {
    failures: Mutex<Failures>,
}

impl FailureLimiter {
    /// The remaining wait of a client that failed too often.
    pub(super) fn blocked_for(&self, client: &ClientAddress, now: Instant) -> Option<Duration> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).blocked_for(client, now)
    }

    /// Counts a failure, unless the client is blocked: then returns the remaining wait.
    pub(super) fn count(&self, client: &ClientAddress, now: Instant) -> Option<Duration> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let blocked = failures.blocked_for(client, now);
        if blocked.is_none() {
            failures.add(*client, now);
        }
        blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str]) -> ClientAddress {
        let (mut extensions, mut headers) = (Extensions::new(), HeaderMap::new());
        extensions.insert(Peer(peer.parse().unwrap()));
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        ClientAddress::of(&extensions, &headers)
    }

    /// Counts failures until the client is blocked; returns their number.
    fn exhaust(limiter: &FailureLimiter, client: &ClientAddress, now: Instant) -> u32 {
        (0..1000).take_while(|_| limiter.count(client, now).is_none()).count().try_into().unwrap()
    }

    #[test]
    fn after_ten_failures_a_client_waits_for_the_rest_of_the_minute() {
        let (limiter, start) = (FailureLimiter::default(), Instant::now());
        let one = client("192.0.2.1", &[]);
        assert_eq!(exhaust(&limiter, &one, start), 10);
        let later = start + Duration::from_secs(20);
        assert_eq!(limiter.blocked_for(&one, later), Some(Duration::from_secs(40)));
        assert_eq!(limiter.count(&one, later), Some(Duration::from_secs(40)), "waiting is not made longer");
        assert_eq!(limiter.blocked_for(&client("192.0.2.2", &[]), later), None, "others do not wait");
        assert_eq!(limiter.blocked_for(&one, start + WINDOW), None);
        assert_eq!(exhaust(&limiter, &one, start + WINDOW), 10);
    }

    #[test]
    fn clients_are_told_apart_by_address_and_ipv6_network() {
        for (one, other, same) in [
            (client("192.0.2.1", &[]), client("192.0.2.1", &[]), true),
            (client("192.0.2.1", &[]), client("192.0.2.2", &[]), false),
            (client("192.0.2.1", &[]), client("::ffff:192.0.2.1", &[]), true),
            (client("2001:db8::1", &[]), client("2001:db8::ffff:1", &[]), true),
            (client("2001:db8:0:1::1", &[]), client("2001:db8:0:2::1", &[]), false),
            (client("127.0.0.1", &[]), client("127.9.9.9", &[]), true),
            (client("127.0.0.1", &[]), client("::1", &[]), true),
            // Only a proxy on this machine is trusted, and of its list only the entry it appended.
            (client("192.0.2.1", &["198.51.100.1"]), client("192.0.2.1", &[]), true),
            (client("127.0.0.1", &["198.51.100.1"]), client("127.0.0.1", &["198.51.100.2"]), false),
            (client("127.0.0.1", &["10.0.0.1, 198.51.100.1"]), client("127.0.0.1", &["198.51.100.1"]), true),
            (
                client("127.0.0.1", &["10.0.0.1", "198.51.100.1"]),
                client("127.0.0.1", &["198.51.100.1"]),
                true,
            ),
            (client("127.0.0.1", &["198.51.100.1:4711"]), client("127.0.0.1", &["198.51.100.1"]), true),
            (client("127.0.0.1", &["[2001:db8::1]:80"]), client("127.0.0.1", &["2001:db8::2"]), true),
            (client("127.0.0.1", &["[2001:db8::1]"]), client("127.0.0.1", &["2001:db8::2"]), true),
            (client("127.0.0.1", &["unknown"]), client("127.0.0.1", &[]), true),
        ] {
            assert_eq!(one == other, same, "{one:?} {other:?}");
        }
    }

    #[test]
    fn one_client_behind_a_proxy_does_not_make_the_others_wait() {
        let (limiter, now) = (FailureLimiter::default(), Instant::now());
        assert_eq!(exhaust(&limiter, &client("127.0.0.1", &["198.51.100.1"]), now), 10);
        assert_eq!(limiter.blocked_for(&client("127.0.0.1", &["198.51.100.2"]), now), None);
        assert_eq!(limiter.blocked_for(&client("127.0.0.1", &[]), now), None);
    }

    #[test]
    fn a_forged_header_evades_the_limit_of_a_client_but_not_that_of_the_loopback_address() {
        let (limiter, now) = (FailureLimiter::default(), Instant::now());
        let counted: u32 = (0..250)
            .map(|at| exhaust(&limiter, &client("127.0.0.1", &[format!("198.51.100.{at}").as_str()]), now))
            .sum();
        assert_eq!(counted, MAX_FROM_LOOPBACK);
        assert!(limiter.blocked_for(&client("127.0.0.1", &[]), now).is_some());
        assert_eq!(limiter.blocked_for(&client("192.0.2.1", &[]), now), None, "other peers do not wait");
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest_failure_first() {
        let (limiter, start) = (FailureLimiter::default(), Instant::now());
        let nth = |at: u32| client(&Ipv4Addr::from_bits(0x0a00_0000 + at).to_string(), &[]);
        let at = |n: u32| start + Duration::from_millis(n.into());
        for n in 0..6000 {
            assert_eq!(exhaust(&limiter, &nth(n), at(n)), 10);
        }
        let known = limiter.failures.lock().unwrap().clients.len();
        assert_eq!(known, MAX_CLIENTS);
        assert_eq!(limiter.blocked_for(&nth(0), at(6000)), None);
        assert!(limiter.blocked_for(&nth(5999), at(6000)).is_some());
        // Expired windows are dropped.
        limiter.count(&nth(7000), start + WINDOW * 2);
        assert_eq!(limiter.failures.lock().unwrap().clients.len(), 1);
    }
}
