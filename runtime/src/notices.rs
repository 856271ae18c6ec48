//! Tells somebody who is not looking that something is over: the desktop where there is one, or a web server.
//!
//! The one place that speaks HTTP. Trouble with a notice never changes what it is about.

use serde::Serialize;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};

/// How long a notice may take.
const LIMIT: Duration = Duration::from_secs(15);

/// Whom to tell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Channel {
    /// Whoever sits at this machine.
    Desktop,
    /// The server at this URL, which gets JSON.
    Webhook(String),
    /// The chat service at this URL, which gets JSON of its own shape.
    Chat(ChatService, String),
}

/// Chat services.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChatService {
    /// Reads `text`.
    Slack,
    /// Reads `content`, of at most 2,000 characters.
    Discord,
}

/// A text that names no channel of this tm.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnknownChannel {
    /// It names none.
    #[error(
        "tell `{0}`: there are `desktop`, URLs that begin with `http://` or `https://`, and `slack+URL`, `discord+URL`"
    )]
    Unknown(String),
    /// It is a server, of which this tm knows nothing.
    #[error("tell a server: this tm was built without the feature `webhooks`")]
    NotBuilt,
}

impl FromStr for Channel {
    type Err = UnknownChannel;

    fn from_str(text: &str) -> Result<Self, UnknownChannel> {
        let is_url = |url: &str| {
            ["http://", "https://"]
                .iter()
                .any(|scheme| url.len() > scheme.len() && url.starts_with(scheme))
        };
        let channel = match text.split_once('+') {
            _ if text == "desktop" => return Ok(Self::Desktop),
            _ if is_url(text) => Self::Webhook(text.to_owned()),
            Some(("slack", url)) if is_url(url) => Self::Chat(ChatService::Slack, url.to_owned()),
            Some(("discord", url)) if is_url(url) => {
                Self::Chat(ChatService::Discord, url.to_owned())
            }
            _ => return Err(UnknownChannel::Unknown(text.to_owned())),
        };
        if cfg!(feature = "webhooks") {
            Ok(channel)
        } else {
            Err(UnknownChannel::NotBuilt)
        }
    }
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice<T> {
    /// One line; chat services show it.
    pub text: String,
    /// Everything, for programs.
    pub summary: T,
}

impl Channel {
    /// Delivers a notice.
    ///
    /// # Errors
    /// Says why it was not delivered, in words that follow "failed to".
    pub async fn deliver<T: Serialize + Sync>(
        &self,
        notice: &Notice<T>,
        scratch: &Path,
    ) -> Result<(), String> {
        match self {
            Self::Desktop => show(&notice.text, scratch).await,
            Self::Webhook(url) => {
                let body = serde_json::to_string(notice)
                    .map_err(|error| format!("write a notice: {error}"))?;
                post_aside(url, body).await
            }
            Self::Chat(service, url) => post_aside(url, service.body(&notice.text)).await,
        }
    }
}

impl ChatService {
    fn body(self, text: &str) -> String {
        match self {
            Self::Slack => serde_json::json!({"text": text}),
            Self::Discord => {
                let end = text
                    .char_indices()
                    .nth(2_000)
                    .map_or(text.len(), |(end, _)| end);
                serde_json::json!({"content": text[..end]})
            }
        }
        .to_string()
    }
}

async fn post_aside(url: &str, body: String) -> Result<(), String> {
    let url = url.to_owned();
    let posted = tokio::task::spawn_blocking(move || post_json(&url, &[], body)).await;
    posted.map_err(|error| format!("post a notice: {error}"))?
}

/// Says that this tm posts nothing.
///
/// # Errors
/// Always.
#[cfg(not(feature = "webhooks"))]
pub fn post_json(_: &str, _: &[(String, String)], _: String) -> Result<(), String> {
    Err(UnknownChannel::NotBuilt.to_string())
}

/// Posts JSON to a server, with headers besides, and waits for its answer.
///
/// # Errors
/// Says why it was not taken, in words that follow "failed to". The URL may hold a secret, so they name its host alone.
#[cfg(feature = "webhooks")]
pub fn post_json(url: &str, headers: &[(String, String)], body: String) -> Result<(), String> {
    let host = url
        .split('/')
        .nth(2)
        .unwrap_or_default()
        .rsplit('@')
        .next()
        .unwrap_or_default();
    let is_here = ["127.", "localhost", "[::1]"]
        .iter()
        .any(|loopback| host.starts_with(loopback));
    let config = ureq::Agent::config_builder().timeout_global(Some(LIMIT));
    // A proxy of the environment can't reach this machine.
    let agent: ureq::Agent = if is_here {
        config.proxy(None).build()
    } else {
        config.build()
    }
    .into();
    let request = agent.post(url).header("Content-Type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let sent = request.send(body);
    sent.map(drop)
        .map_err(|error| format!("post a notice to `{host}`: {error}"))
}

async fn show(text: &str, scratch: &Path) -> Result<(), String> {
    let (program, arguments) = if which::which("notify-send").is_ok() {
        (
            "notify-send",
            vec![
                "--app-name=tm".to_owned(),
                "--".to_owned(),
                "tm".to_owned(),
                text.to_owned(),
            ],
        )
    } else if which::which("osascript").is_ok() {
        // The text is an argument of the script, never a part of it.
        let script =
            "on run words\ndisplay notification (item 1 of words) with title \"tm\"\nend run";
        (
            "osascript",
            vec!["-e".to_owned(), script.to_owned(), text.to_owned()],
        )
    } else {
        return Err("show a notice: there is neither `notify-send` nor `osascript`".to_owned());
    };
    let command = TreeCommand {
        program: program.into(),
        arguments: arguments.into_iter().map(Into::into).collect(),
        working_folder: scratch.to_owned(),
        ..TreeCommand::default()
    };
    match run_captured(command, LIMIT).await {
        Ok(answer) if answer.has_succeeded() => Ok(()),
        Ok(_) => Err(format!("show a notice: `{program}` failed")),
        Err(error) => Err(error.with_causes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "webhooks")]
    use std::io::{Read as _, Write as _};
    #[cfg(feature = "webhooks")]
    use std::net::TcpListener;

    #[test]
    fn channels_are_the_desktop_and_urls() {
        assert_eq!("desktop".parse(), Ok(Channel::Desktop));
        let built = |channel| {
            if cfg!(feature = "webhooks") {
                Ok(channel)
            } else {
                Err(UnknownChannel::NotBuilt)
            }
        };
        assert_eq!(
            "http://a/b".parse(),
            built(Channel::Webhook("http://a/b".to_owned()))
        );
        assert_eq!(
            "slack+http://a".parse(),
            built(Channel::Chat(ChatService::Slack, "http://a".to_owned()))
        );
        for text in [
            "",
            "http://",
            "slack",
            "slack+",
            "irc+http://a",
            "ftp://a",
            "file:///etc/passwd",
        ] {
            let error = text.parse::<Channel>().expect_err("no channel");
            assert!(error.to_string().contains("`desktop`"));
        }
    }

    /// Answers one request with a status and returns what was asked.
    #[cfg(feature = "webhooks")]
    fn answer_one(listener: &TcpListener, status: &str) -> String {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        let is_whole = |request: &[u8]| {
            let text = String::from_utf8_lossy(request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                return false;
            };
            let length = head.lines().find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            length.is_none_or(|length: usize| body.len() >= length)
        };
        while !is_whole(&request) {
            let read = stream.read(&mut buffer).expect("bytes");
            request.extend_from_slice(&buffer[..read]);
        }
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .expect("an answer");
        String::from_utf8_lossy(&request).into_owned()
    }

    #[cfg(feature = "webhooks")]
    #[tokio::test]
    async fn a_webhook_gets_the_summary_and_a_refusal_is_told_without_the_secret() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = std::thread::spawn(move || {
            ["200 OK", "500 No"].map(|status| answer_one(&listener, status))
        });
        let channel: Channel = format!("http://{address}/hook?secret")
            .parse()
            .expect("a channel");
        let notice = Notice {
            text: "over \"now\"".to_owned(),
            summary: serde_json::json!({"exit_code": 0}),
        };
        channel
            .deliver(&notice, Path::new("/"))
            .await
            .expect("delivered");
        let refused = channel
            .deliver(&notice, Path::new("/"))
            .await
            .expect_err("refused");
        assert!(
            refused.contains(&address.to_string()) && !refused.contains("secret"),
            "{refused}"
        );
        let [request, _] = server.join().expect("served");
        assert!(
            request.starts_with("POST /hook?secret HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.ends_with("{\"text\":\"over \\\"now\\\"\",\"summary\":{\"exit_code\":0}}"),
            "{request}"
        );
    }

    #[test]
    fn chat_services_get_the_shape_that_they_read() {
        assert_eq!(
            ChatService::Slack.body("a \"b\""),
            "{\"text\":\"a \\\"b\\\"\"}"
        );
        assert_eq!(
            ChatService::Discord.body(&"x".repeat(3_000)).len(),
            2_000 + "{\"content\":\"\"}".len()
        );
    }
}
