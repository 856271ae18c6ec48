//! What somebody asks the proxy for.

use super::host::Target;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A request.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Request {
    /// A connection to a target.
    Pass {
        /// Whom to.
        target: Target,
        /// What the client hears when there is one.
        greeting: &'static [u8],
        /// What the target hears first.
        sent: Vec<u8>,
    },
    /// What names nobody that could be asked; with what it named.
    Unreadable(String),
    /// From somebody who does not know the password.
    Stranger,
}

/// So many bytes a head may have.
const HEAD: usize = 32 << 10;
const HEADERS: usize = 100;
/// What a client hears whose connection there is.
const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const AUTHORIZATION: &str = "proxy-authorization";
/// Headers that are between the client and the proxy, or that the proxy gives anew.
const OF_HOP: [&str; 5] = [
    AUTHORIZATION,
    "connection",
    "host",
    "keep-alive",
    "proxy-connection",
];

impl Request {
    /// Reads the head of a request, with the end of a header that only those know who may ask; none where it does not
    /// come, or is too long.
    pub(super) async fn read(
        stream: &mut (impl AsyncRead + Unpin),
        credentials: &str,
    ) -> Option<Self> {
        let mut text = Vec::new();
        while text.len() < HEAD {
            if stream.read_buf(&mut text).await.ok()? == 0 {
                return None;
            }
            if let Some(request) = Self::parsed(&text, credentials) {
                return Some(request);
            }
        }
        None
    }

    /// Reads what came so far; none where more is needed.
    fn parsed(text: &[u8], credentials: &str) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(text) {
            Ok(httparse::Status::Partial) => return None,
            Ok(httparse::Status::Complete(length)) => length,
            Err(_) => return Some(Self::unreadable(b"(unreadable)")),
        };
        let (method, uri) = (request.method?, request.path?.as_bytes());
        let knows = |header: &httparse::Header<'_>| {
            header.name.eq_ignore_ascii_case(AUTHORIZATION)
                && header.value.ends_with(credentials.as_bytes())
        };
        if !credentials.is_empty() && !request.headers.iter().any(knows) {
            return Some(Self::Stranger);
        }
        let rest = &text[length..];
        let read = match method {
            "CONNECT" => Target::read(uri, None).map(|target| Self::Pass {
                target,
                greeting: CONNECTED,
                sent: rest.to_vec(),
            }),
            _ => Self::resource(method, uri, request.headers, rest),
        };
        Some(read.unwrap_or_else(|| Self::unreadable(uri)))
    }

    /// A resource of a target (`GET http://…`), asked for in the words of its server.
    fn resource(
        method: &str,
        uri: &[u8],
        headers: &[httparse::Header<'_>],
        rest: &[u8],
    ) -> Option<Self> {
        const SCHEME: &[u8] = b"http://";
        let (scheme, after) = uri.split_at_checked(SCHEME.len())?;
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let end = after.iter().position(is_end).unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        let target =
            Target::read(authority, Some(80)).filter(|_| scheme.eq_ignore_ascii_case(SCHEME))?;
        let slash: &[u8] = if path.starts_with(b"/") { b"" } else { b"/" };
        let mut head = [method.as_bytes(), b" ", slash, path, b" HTTP/1.1\r\n"].concat();
        let host = target.to_string();
        let host = host.strip_suffix(":80").unwrap_or(&host);
        head.extend(format!("Host: {host}\r\nConnection: close\r\n").bytes());
        for header in headers {
            if !OF_HOP
                .iter()
                .any(|name| header.name.eq_ignore_ascii_case(name))
            {
                head.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
            }
        }
        Some(Self::Pass {
            target,
            greeting: b"",
            sent: [&head, b"\r\n".as_slice(), rest].concat(),
        })
    }

    fn unreadable(named: &[u8]) -> Self {
        Self::Unreadable(tm_untrusted::line(&String::from_utf8_lossy(named), 100))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(text: &str) -> Target {
        Target::read(text.as_bytes(), None).expect("a target")
    }

    fn resource(text: &str, sent: &[u8]) -> Request {
        Request::Pass {
            target: target(text),
            greeting: b"",
            sent: sent.to_vec(),
        }
    }

    #[test]
    fn a_resource_is_asked_for_in_the_words_of_its_server() {
        let text = b"POST http://Example.org:8080?a=b HTTP/1.1\r\nHost: evil.org\r\nProxy-Authorization: x\r\n\
            Connection: keep-alive\r\nX-Own: 1\r\nContent-Length: 4\r\n\r\nbody";
        let sent =
            b"POST /?a=b HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\nX-Own: 1\r\n\
            Content-Length: 4\r\n\r\nbody";
        assert_eq!(
            Request::parsed(text, ""),
            Some(resource("example.org:8080", sent))
        );
        assert_eq!(
            Request::parsed(b"GET HTTP://example.org/x HTTP/1.0\r\n\r\n", ""),
            Some(resource(
                "example.org:80",
                b"GET /x HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n"
            ))
        );
    }

    #[test]
    fn a_connection_is_asked_for_by_name_and_port() {
        let text = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\nearly";
        let asked = Request::Pass {
            target: target("example.org:443"),
            greeting: CONNECTED,
            sent: b"early".to_vec(),
        };
        assert_eq!(Request::parsed(text, ""), Some(asked));
        for end in 0..text.len() - b"\r\nearly".len() {
            assert_eq!(Request::parsed(&text[..end], ""), None, "{end}");
        }
        let named = |text: &str| Some(Request::Unreadable(text.to_owned()));
        for (line, asked) in [
            ("CONNECT example.org", named("example.org")),
            ("GET /", named("/")),
            ("GET http:/", named("http:/")),
            ("GET https://example.org/", named("https://example.org/")),
            ("GET http://a@example.org/", named("http://a@example.org/")),
            ("CONNECT a\0.example.org:443", named("(unreadable)")),
        ] {
            let text = format!("{line} HTTP/1.1\r\n\r\n");
            assert_eq!(Request::parsed(text.as_bytes(), ""), asked, "{line}");
        }
    }

    #[test]
    fn who_does_not_know_the_password_is_a_stranger() {
        for (header, is_stranger) in [
            ("Proxy-Authorization: Basic a2V5", false),
            ("proxy-authorization: basic a2V5", false),
            ("Proxy-Authorization: Basic a2V", true),
            ("Authorization: Basic a2V5", true),
            ("Accept: */*", true),
        ] {
            let text = format!("CONNECT example.org:443 HTTP/1.1\r\n{header}\r\n\r\n");
            let request = Request::parsed(text.as_bytes(), "a2V5");
            assert_eq!(request == Some(Request::Stranger), is_stranger, "{header}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_breaks_it(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _read = Request::parsed(&text, "");
            let text = [b"GET http://", text.as_slice(), b" HTTP/1.1\r\n\r\n"].concat();
            if let Some(Request::Pass { target, sent, .. }) = Request::parsed(&text, "") {
                let host = format!("\r\nHost: {target}\r\n").replace(":80\r", "\r");
                prop_assert!(sent.windows(host.len()).any(|part| part == host.as_bytes()));
            }
        }
    }
}
