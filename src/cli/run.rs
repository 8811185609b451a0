//! The options of `shipagent run`.

use std::net::{Ipv4Addr, SocketAddr};

use clap::Args;

/// Options of `run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct RunArgs {
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse().map_err(|_| "give an address and a port, such as 127.0.0.1:7718, or a port alone".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_and_without_its_host() {
        for (text, expected) in [
            ("7718", Some("127.0.0.1:7718")),
            ("0", Some("127.0.0.1:0")),
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("localhost:7718", Some("127.0.0.1:7718")),
            ("[::1]:7718", Some("[::1]:7718")),
            ("0.0.0.0:7717", Some("0.0.0.0:7717")),
            ("127.0.0.1", None),
            ("70000", None),
            ("example.com:1", None),
            ("", None),
        ] {
            let read = listen_address(text).ok().map(|address| address.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
