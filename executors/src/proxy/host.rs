//! Who is asked for: a host as its bytes say it, in one of the ways in which a host can be said.
//!
//! Whatever has a second meaning somewhere (a number that is an address, a dot at the end, an escape, a zone) is none.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
pub(super) enum Host {
    /// This machine: `localhost`, `127.0.0.1` or `::1`.
    Loopback,
    /// An address.
    Address(IpAddr),
    /// A name, in small letters.
    Name(String),
}

/// A host and a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Target {
    /// Reads `host:port`.
    pub(super) fn read(text: &[u8], default_port: Option<u16>) -> Option<Self> {
        let (host, port) = split(text)?;
        Some(Self {
            host,
            port: port.or(default_port)?,
        })
    }
}

/// Reads `host` or `host:port`; an address of IPv6 stands in brackets.
pub(super) fn split(text: &[u8]) -> Option<(Host, Option<u16>)> {
    let end = if text.first() == Some(&b'[') {
        1 + text.iter().position(|byte| *byte == b']')?
    } else {
        let is_colon = |byte: &u8| *byte == b':';
        text.iter().position(is_colon).unwrap_or(text.len())
    };
    let (host, port) = text.split_at(end);
    let port = match port {
        [] => None,
        [b':', digits @ ..] if digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit) => {
            let port = std::str::from_utf8(digits).ok()?.parse().ok()?;
            Some(port).filter(|port| *port != 0)
        }
        _ => return None,
    };
    // A port that can't be is no port that was left out.
    (port.is_some() == (end < text.len())).then_some(())?;
    Some((Host::read(host)?, port))
}

impl Host {
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let within = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let address = match within {
            Some(within) => Some(IpAddr::V6(within.parse().ok()?)),
            None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        };
        match address {
            Some(address) => Some(address.into()),
            None => Self::named(text.to_ascii_lowercase()),
        }
    }

    fn named(name: String) -> Option<Self> {
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        let hexadecimal = last.strip_prefix("0x");
        // What resolvers take for an address, in whatever base.
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
            || hexadecimal.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if name.len() > 253 || is_number || !name.split('.').all(is_label) {
            return None;
        }
        Some(match name.as_str() {
            "localhost" => Self::Loopback,
            _ => Self::Name(name),
        })
    }
}

impl From<IpAddr> for Host {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Self::Loopback,
            address => Self::Address(address),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => formatter.write_str("localhost"),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
            Self::Address(IpAddr::V4(address)) => address.fmt(formatter),
            Self::Name(name) => formatter.write_str(name),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_host_is_read_as_it_is_meant() {
        for (text, read) in [
            ("Example.ORG:443", "example.org:443"),
            ("a_b-c.example.org:80", "a_b-c.example.org:80"),
            ("127.0.0.1:8080", "localhost:8080"),
            ("LocalHost:8080", "localhost:8080"),
            ("[::1]:8080", "localhost:8080"),
            ("[::ffff:127.0.0.1]:8080", "localhost:8080"),
            ("[::ffff:169.254.169.254]:80", "169.254.169.254:80"),
            ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
            ("10.0.0.1:1", "10.0.0.1:1"),
            ("xn--bcher-kva.example:443", "xn--bcher-kva.example:443"),
        ] {
            let target = Target::read(text.as_bytes(), None).map(|target| target.to_string());
            assert_eq!(target.as_deref(), Some(read), "{text}");
        }
    }

    #[test]
    fn what_has_a_second_meaning_is_no_host() {
        let mut accepted = Vec::new();
        for text in [
            "",
            ":443",
            "example.org",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+443",
            "example.org: 443",
            "example.org:443:443",
            "example.org.:443",
            ".example.org:443",
            "example..org:443",
            "evil.org\0.example.org:443",
            "evil.org\r\n.example.org:443",
            "evil.org\t:443",
            " example.org:443",
            "example.org :443",
            "user@example.org:443",
            "user:pw@example.org:443",
            "evil.org#.example.org:443",
            "evil.org/.example.org:443",
            "evil.org\\.example.org:443",
            "evil.org?.example.org:443",
            "evil%2eorg:443",
            "%65vil.org:443",
            "0x7f.1:80",
            "0x7f000001:80",
            "2130706433:80",
            "017700000001:80",
            "0177.0.0.1:80",
            "127.1:80",
            "127.0.1:80",
            "1.2.3.4.5:80",
            "256.0.0.1:80",
            "127.0.0.1.:80",
            "0x:80",
            "example.0x1f:80",
            "[::1:80",
            "::1:80",
            "[::1]80",
            "[fe80::1%eth0]:80",
            "[fe80::1%25eth0]:80",
            "[127.0.0.1]:80",
            "[example.org]:80",
            "[]:80",
            "[[::1]]:80",
            "\u{ff11}27.0.0.1:80",
            "ex\u{e4}mple.org:443",
            "example\u{3002}org:443",
            "*.example.org:443",
            "localhost.:80",
        ] {
            if Target::read(text.as_bytes(), None).is_some() {
                accepted.push(text);
            }
        }
        assert_eq!(accepted, Vec::<&str>::new());
        assert_eq!(Target::read(b"\xff.org:443", None), None);
        assert_eq!(
            Target::read(format!("{}.org:1", "a".repeat(64)).as_bytes(), None),
            None
        );
        assert_eq!(
            Target::read(format!("{}org:1", "a.".repeat(130)).as_bytes(), None),
            None
        );
    }

    proptest! {
        #[test]
        fn what_is_read_is_said_in_one_way(text in prop::collection::vec(any::<u8>(), 0..24)) {
            if let Some(target) = Target::read(&text, Some(1)) {
                let said = target.to_string();
                prop_assert!(said.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert_eq!(Target::read(said.as_bytes(), None), Some(target));
            }
        }

        #[test]
        fn names_of_any_shape_are_names_or_nothing(text in "[a-z0-9.x:%@\\[\\]-]{1,20}:80") {
            if let Some(target) = Target::read(text.as_bytes(), None) {
                // No resolver takes for an address what is no address here.
                if let Host::Name(name) = target.host {
                    let last = name.rsplit('.').next().unwrap_or_default();
                    prop_assert!(last.parse::<u64>().is_err(), "{}", name);
                }
            }
        }
    }
}
