//! Whom a program may reach.

use super::address::is_of_world;
use super::host::{Host, Target, split};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Hosts that a program may reach.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
pub struct AllowList(Vec<Entry>);

/// An entry that is no host.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnreadableHost {
    /// It can't be read.
    #[error(
        "`{0}` is no host; one is `example.org`, `*.example.org`, `example.org:8443` or `localhost:8080`"
    )]
    NoHost(String),
    /// This machine as a whole.
    #[error("`{0}` needs a port: all that this machine serves is more than a program should reach")]
    NoPort(String),
}

#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
struct Entry {
    pattern: Pattern,
    /// None for those of the web.
    port: Option<u16>,
}

#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
enum Pattern {
    /// This one.
    Literal(Host),
    /// Every name that ends so; with the dot before it.
    Below(String),
}

const OF_WEB: [u16; 2] = [80, 443];

impl AllowList {
    /// Reads entries: `host` (at the ports of the web) or `host:port`, and `*.host` for all below it.
    ///
    /// # Errors
    /// One of them is no host.
    pub fn read<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, UnreadableHost> {
        let read = entries.into_iter().map(Entry::read);
        Ok(Self(read.collect::<Result<_, _>>()?))
    }

    /// Tells whether it has an entry for this.
    pub(super) fn has(&self, target: &Target) -> bool {
        self.at(target.port).any(|pattern| match pattern {
            Pattern::Literal(host) => *host == target.host,
            Pattern::Below(end) => {
                matches!(&target.host, Host::Name(name) if name.ends_with(end.as_str()))
            }
        })
    }

    /// Tells whether an address of a target that it has may be dialled: one that is not the world's only where an entry
    /// says the address itself, or whoever answers for a name would choose among the machine's neighbours.
    pub(super) fn may_dial(&self, address: SocketAddr) -> bool {
        let host = address.ip().into();
        is_of_world(address.ip())
            || self.has(&Target {
                host,
                port: address.port(),
            })
    }

    /// Returns the ports of this machine's servers that it has.
    pub(super) fn servers(&self) -> Vec<u16> {
        let is_here = |entry: &&Entry| entry.pattern == Pattern::Literal(Host::Loopback);
        let here = self.0.iter().filter(is_here);
        let mut ports: Vec<u16> = here.filter_map(|entry| entry.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    fn at(&self, port: u16) -> impl Iterator<Item = &Pattern> {
        self.0
            .iter()
            .filter(move |entry| match entry.port {
                Some(only) => only == port,
                None => OF_WEB.contains(&port),
            })
            .map(|entry| &entry.pattern)
    }
}

impl Entry {
    fn read(text: &str) -> Result<Self, UnreadableHost> {
        let below = text.strip_prefix("*.");
        let unreadable = || UnreadableHost::NoHost(tm_untrusted::line(text, 100));
        let (host, port) = split(below.unwrap_or(text).as_bytes()).ok_or_else(unreadable)?;
        let pattern = match (below, host) {
            (Some(_), Host::Name(name)) => Pattern::Below(format!(".{name}")),
            (Some(_), Host::Loopback | Host::Address(_)) => return Err(unreadable()),
            (None, Host::Loopback) if port.is_none() => {
                return Err(UnreadableHost::NoPort(text.to_owned()));
            }
            (None, host) => Pattern::Literal(host),
        };
        Ok(Self { pattern, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &str) -> AllowList {
        AllowList::read(entries.split_whitespace()).expect("hosts")
    }

    #[test]
    fn a_list_has_what_it_names() {
        for (entries, target, is_there) in [
            ("example.org", "example.org:443", true),
            ("example.org", "example.org:80", true),
            ("example.org", "example.org:22", false),
            ("example.org", "www.example.org:443", false),
            ("example.org", "evilexample.org:443", false),
            ("example.org:8443", "EXAMPLE.org:8443", true),
            ("example.org:8443", "example.org:443", false),
            ("*.example.org", "a.b.example.org:443", true),
            ("*.example.org", "example.org:443", false),
            ("*.example.org", "evilexample.org:443", false),
            ("*.example.org", "example.org.evil.com:443", false),
            ("localhost:8080", "127.0.0.1:8080", true),
            ("[::1]:8080", "localhost:8080", true),
            ("localhost:8080", "localhost:8081", false),
            ("10.0.0.7:80", "10.0.0.7:80", true),
            ("*.0.0.example", "10.0.0.7:80", false),
            ("", "example.org:443", false),
        ] {
            let target = Target::read(target.as_bytes(), None).expect("a target");
            assert_eq!(list(entries).has(&target), is_there, "{entries}: {target}");
        }
    }

    #[test]
    fn addresses_around_the_machine_are_dialled_where_the_list_says_so_only() {
        for (entries, address, may) in [
            ("a.example.org", "93.184.215.14:443", true),
            ("a.example.org", "127.0.0.1:443", false),
            ("a.example.org", "10.0.0.7:443", false),
            ("a.example.org", "[::ffff:10.0.0.7]:443", false),
            ("a.example.org", "169.254.169.254:443", false),
            ("a.example.org", "[fd00:ec2::254]:443", false),
            ("10.0.0.7", "10.0.0.7:443", true),
            ("10.0.0.7", "[::ffff:10.0.0.7]:443", true),
            ("10.0.0.7:1", "10.0.0.7:443", false),
            ("169.254.169.254", "169.254.169.254:80", true),
            ("localhost:80", "127.0.0.1:80", true),
            ("localhost:80", "[::1]:80", true),
            ("localhost:80", "127.0.0.1:443", false),
            ("localhost:80", "127.0.0.2:80", false),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(list(entries).may_dial(address), may, "{entries}: {address}");
        }
    }

    #[test]
    fn an_entry_that_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "*.*.org",
            "**.org",
            "https://example.org",
            "example.org/",
            "a b",
            "ex*mple.org",
            "*.127.0.0.1",
            "*.localhost",
            "0x7f.1",
            "2130706433",
            "example.org.",
            "example.org:https",
        ] {
            let refused = UnreadableHost::NoHost(text.to_owned());
            assert_eq!(AllowList::read([text]), Err(refused), "{text}");
        }
        let refused = AllowList::read(["127.0.0.1"])
            .expect_err("no port")
            .to_string();
        assert!(refused.starts_with("`127.0.0.1` needs a port"), "{refused}");
        assert_eq!(
            list("localhost:9 example.org 127.0.0.1:9 [::1]:7").servers(),
            [7, 9]
        );
    }
}
