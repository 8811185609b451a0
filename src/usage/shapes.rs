//! The `usage` object of a response in all spellings of OpenAI-compatible servers, to one normal form. Pure.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::Value;

use crate::domain::Usage;

/// How a server counts, where its numbers alone do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Usual,
    /// `completion_tokens` does not contain reasoning (xAI, Perplexity).
    ReasoningApart,
}

impl Dialect {
    /// The dialect of the server at this address.
    pub fn of(base_url: &str) -> Self {
        let host = host_of(base_url);
        let is = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        if is("x.ai") || is("perplexity.ai") { Self::ReasoningApart } else { Self::Usual }
    }
}

/// The host of an address, in lower case, without the port.
pub fn host_of(base_url: &str) -> String {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((inner, _)) => inner,
        None => host.split(':').next().unwrap_or_default(),
    };
    host.to_ascii_lowercase()
}

/// Whether a host is this machine or in a private network, where calls cost nothing.
pub fn is_local(host: &str) -> bool {
    const PRIVATE_DOMAINS: [&str; 5] = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
    let v4 = |address: Ipv4Addr| address.is_loopback() || address.is_private() || address.is_link_local();
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => v4(address),
        Ok(IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(address) => v4(address),
            None => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
        },
        // No name without a dot is on the internet: it is a container or a machine of this network.
        Err(_) => {
            let name = host.trim_end_matches('.');
            !name.is_empty() && (!name.contains('.') || PRIVATE_DOMAINS.iter().any(|end| name.ends_with(end)))
        }
    }
}

/// The counts in normal form; `None` where there are none.
pub fn usage_of(usage: &Value, dialect: Dialect) -> Option<Usage> {
    let first = |paths: &[&str]| paths.iter().find_map(|path| usage.pointer(path).and_then(Value::as_u64));
    let (hit, miss) = (first(&["/prompt_cache_hit_tokens"]), first(&["/prompt_cache_miss_tokens"]));
    let cached = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cache_read_input_tokens",
    ])
    .unwrap_or(0);
    let cache_write = first(&[
        "/prompt_tokens_details/cache_write_tokens",
        "/input_tokens_details/cache_write_tokens",
        "/cache_creation_input_tokens",
        "/prompt_tokens_details/cache_creation_input_tokens",
        "/cache_write_tokens",
    ])
    .unwrap_or(0);
    let prompt = first(&["/prompt_tokens"]);
    let input = match (prompt, first(&["/input_tokens"])) {
        (Some(prompt), _) => Some(prompt),
        // Anthropic's own count leaves out what was read from the cache and written to it.
        (None, Some(input)) if is_anthropic(usage) => {
            Some(input.saturating_add(cached).saturating_add(cache_write))
        }
        (None, Some(input)) => Some(input),
        (None, None) => hit.zip(miss).map(|(hit, miss)| hit.saturating_add(miss)),
    };
    let output = first(&["/completion_tokens", "/output_tokens"]);
    // A call without a single token counted nothing.
    if input.unwrap_or(0) == 0 && output.unwrap_or(0) == 0 {
        return None;
    }
    let input = input.unwrap_or(0);
    let cached = cached.min(input);
    let reasoning = first(&[
        "/completion_tokens_details/reasoning_tokens",
        "/output_tokens_details/reasoning_tokens",
        "/reasoning_tokens",
    ]);
    let (output, reasoning) =
        with_reasoning(input, output.unwrap_or(0), reasoning, first(&["/total_tokens"]), dialect, usage);
    Some(Usage {
        input,
        output,
        cached,
        cache_write: cache_write.min(input.saturating_sub(cached)),
        reasoning,
        audio_in: first(&["/prompt_tokens_details/audio_tokens", "/input_tokens_details/audio_tokens"])
            .unwrap_or(0)
            .min(input),
        audio_out: first(&["/completion_tokens_details/audio_tokens", "/output_tokens_details/audio_tokens"])
            .unwrap_or(0)
            .min(output),
        cost: usage.get("cost").and_then(Value::as_f64).and_then(micros),
        estimated: false,
    })
}

/// Whether these are the fields of Anthropic's own interface.
fn is_anthropic(usage: &Value) -> bool {
    usage.get("input_tokens_details").is_none()
        && (usage.get("cache_read_input_tokens").is_some()
            || usage.get("cache_creation_input_tokens").is_some())
}

/// All output and the reasoning in it. Servers that leave reasoning out of the output show it by their total, or are known.
fn with_reasoning(
    input: u64,
    output: u64,
    reasoning: Option<u64>,
    total: Option<u64>,
    dialect: Dialect,
    usage: &Value,
) -> (u64, u64) {
    // A total below its parts is not believed.
    let extra = total.and_then(|total| total.checked_sub(input.saturating_add(output))).unwrap_or(0);
    match reasoning {
        // Some count it in the total only.
        None | Some(0) => (output.saturating_add(extra), extra),
        // xAI's interface for responses contains it, as everywhere else.
        Some(reasoning) if usage.get("output_tokens").is_some() => (output.max(reasoning), reasoning),
        Some(reasoning) => {
            let apart = dialect == Dialect::ReasoningApart || extra >= reasoning || reasoning > output;
            let output = if apart { output.saturating_add(reasoning) } else { output };
            (output, reasoning)
        }
    }
}

/// A sum of money in millionths, rounded up; `None` where it is none.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
pub fn micros(amount: f64) -> Option<u64> {
    let micros = (amount * 1e6).ceil();
    (micros.is_finite() && (0.0..1e15).contains(&micros)).then_some(micros as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_counted_is_no_usage() {
        for sent in [
            json!(null),
            json!({}),
            json!({"cost": 1}),
            json!({"prompt_tokens": -5}),
            json!([]),
            json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        ] {
            assert_eq!(usage_of(&sent, Dialect::Usual), None, "{sent}");
        }
    }

    #[test]
    fn hosts_and_private_addresses_are_recognised() {
        for (url, host, local) in [
            ("https://api.openai.com/v1", "api.openai.com", false),
            ("http://user:pass@LOCALHOST:8080/v1", "localhost", true),
            ("http://[::1]:11434", "::1", true),
            ("http://192.168.1.5:8000/v1", "192.168.1.5", true),
            ("http://gpu.local/v1", "gpu.local", true),
            ("http://10.0.0.7:4000/v1", "10.0.0.7", true),
            ("http://172.31.255.1/v1", "172.31.255.1", true),
            ("http://172.32.0.1/v1", "172.32.0.1", false),
            ("http://[::ffff:10.0.0.7]:4000/v1", "::ffff:10.0.0.7", true),
            ("http://[fd00::7]/v1", "fd00::7", true),
            ("http://[2606:4700::1]/v1", "2606:4700::1", false),
            ("http://litellm:4000/v1", "litellm", true),
            ("http://host.docker.internal:11434/v1", "host.docker.internal", true),
            ("http://gateway.home.arpa", "gateway.home.arpa", true),
            ("https://internal.example.com", "internal.example.com", false),
            ("https://11.1.1.1", "11.1.1.1", false),
            ("https://x.ai.example.com", "x.ai.example.com", false),
        ] {
            assert_eq!((host_of(url).as_str(), is_local(&host_of(url))), (host, local), "{url}");
        }
        assert_eq!(Dialect::of("https://x.ai.example.com"), Dialect::Usual);
    }

    proptest! {
        #[test]
        fn parts_never_exceed_the_whole(
            prompt: Option<u64>, input: Option<u64>, completion: Option<u64>, total: Option<u64>,
            cached: Option<u64>, write: Option<u64>, reasoning: Option<u64>, apart: bool,
        ) {
            let sent = json!({"prompt_tokens": prompt, "input_tokens": input, "completion_tokens": completion,
                "total_tokens": total, "cached_tokens": cached, "cache_creation_input_tokens": write,
                "reasoning_tokens": reasoning});
            let dialect = if apart { Dialect::ReasoningApart } else { Dialect::Usual };
            if let Some(usage) = usage_of(&sent, dialect) {
                prop_assert!(usage.cached.saturating_add(usage.cache_write) <= usage.input);
                prop_assert!(usage.reasoning <= usage.output);
            }
        }
    }
}
