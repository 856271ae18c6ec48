//! Tells somebody who is not looking that something is over: the desktop where there is one, or a web server.
//!
//! The one place that speaks HTTP. Trouble with a notice never changes what it is about.

use serde::Serialize;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};
use tm_worktrees::leads_into;

/// How long a notice may take.
const LIMIT: Duration = Duration::from_secs(15);

/// Whom to tell.
#[derive(Debug, Eq, PartialEq)]
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
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnknownChannel {
    /// It names none.
    #[error(
        "`{0}` is no channel: there are `desktop`, URLs that begin with `http://` or `https://`, and `slack+URL`, `discord+URL`"
    )]
    Unknown(String),
    /// It is a server, of which this tm knows nothing.
    #[error("this tm was built without the feature `webhooks`")]
    NotBuilt,
}

impl FromStr for Channel {
    type Err = UnknownChannel;

    fn from_str(text: &str) -> Result<Self, UnknownChannel> {
        let is_url = |url: &str| {
            let rest = url
                .strip_prefix("http://")
                .or_else(|| url.strip_prefix("https://"));
            rest.is_some_and(|rest| !rest.is_empty())
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
#[derive(Debug, Serialize)]
pub struct Notice<T> {
    /// One line; chat services show it.
    pub text: String,
    /// Everything, for programs.
    pub summary: T,
}

/// Why a notice was not delivered, in words that follow "failed to". A URL may hold a secret, so its host alone is named.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotDelivered {
    /// It can't be written as JSON.
    #[error("write a notice: {0}")]
    Unwritten(#[from] serde_json::Error),
    /// This tm posts nothing.
    #[error("post a notice: {0}")]
    NotBuilt(#[from] UnknownChannel),
    /// The server did not take it.
    #[error("post a notice to `{host}`: {why}")]
    NotTaken {
        /// The server.
        host: String,
        /// What it answered, or why it could not.
        why: String,
    },
    /// tm itself broke off.
    #[error("post a notice: {0}")]
    BrokenOff(#[from] tokio::task::JoinError),
    /// This machine has no program that shows it.
    #[error("show a notice: there is neither `notify-send` nor `osascript`")]
    NoProgram,
    /// The program did not show it.
    #[error("show a notice: `{0}` failed")]
    NotShown(&'static str),
    /// The program could not be run.
    #[error("{}", .0.with_causes())]
    NotRun(tm_executors::Error),
}

impl Channel {
    /// Delivers a notice; agents may have written what lies in the checkout, so nothing there is started.
    ///
    /// # Errors
    /// Says why it was not delivered.
    pub async fn deliver<T: Serialize + Sync>(
        &self,
        notice: &Notice<T>,
        scratch: &Path,
        checkout: &Path,
    ) -> Result<(), NotDelivered> {
        let (url, body) = match self {
            Self::Desktop => return show(&notice.text, scratch, checkout).await,
            Self::Webhook(url) => (url.clone(), serde_json::to_string(notice)?),
            Self::Chat(service, url) => (url.clone(), service.body(&notice.text)),
        };
        tokio::task::spawn_blocking(move || post_json(&url, &[], body)).await?
    }
}

impl ChatService {
    fn body(self, text: &str) -> String {
        let body = match self {
            Self::Slack => serde_json::json!({"text": text}),
            Self::Discord => {
                let shown: String = text.chars().take(2_000).collect();
                serde_json::json!({"content": shown})
            }
        };
        body.to_string()
    }
}

/// Says that this tm posts nothing.
///
/// # Errors
/// Always.
#[cfg(not(feature = "webhooks"))]
pub fn post_json(_: &str, _: &[(String, String)], _: String) -> Result<(), NotDelivered> {
    Err(UnknownChannel::NotBuilt.into())
}

/// Posts JSON to a server, with headers besides, and waits for its answer.
///
/// # Errors
/// Says why it was not taken.
#[cfg(feature = "webhooks")]
pub fn post_json(
    url: &str,
    headers: &[(String, String)],
    body: String,
) -> Result<(), NotDelivered> {
    let host = url.split('/').nth(2).unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let is_here = ["127.", "localhost", "[::1]"]
        .iter()
        .any(|loopback| host.starts_with(loopback));
    let mut config = ureq::Agent::config_builder().timeout_global(Some(LIMIT));
    if is_here {
        // A proxy of the environment can't reach this machine.
        config = config.proxy(None);
    }
    let agent: ureq::Agent = config.build().into();
    let mut request = agent.post(url).header("Content-Type", "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match request.send(body) {
        Ok(_taken) => Ok(()),
        Err(error) => Err(NotDelivered::NotTaken {
            host: host.to_owned(),
            why: error.to_string(),
        }),
    }
}

/// The programs that show a notice, with the arguments before its text.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("notify-send", &["--app-name=tm", "--", "tm"]),
    (
        "osascript",
        // The text is an argument of the script, never a part of it.
        &[
            "-e",
            "on run words\ndisplay notification (item 1 of words) with title \"tm\"\nend run",
        ],
    ),
];

async fn show(text: &str, scratch: &Path, checkout: &Path) -> Result<(), NotDelivered> {
    let checkout = &checkout
        .canonicalize()
        .unwrap_or_else(|_| checkout.to_owned());
    let outside = |(name, arguments): &(&'static str, &'static [&'static str])| {
        let mut found = which::which_all(name).ok()?;
        let found = found.find(|path| !leads_into(path, checkout))?;
        Some((*name, found, *arguments))
    };
    let (name, program, arguments) = PROGRAMS
        .iter()
        .find_map(outside)
        .ok_or(NotDelivered::NoProgram)?;
    let command = TreeCommand {
        program: program.into(),
        arguments: arguments.iter().chain([&text]).map(Into::into).collect(),
        working_folder: scratch.to_owned(),
        ..TreeCommand::default()
    };
    match run_captured(command, LIMIT).await {
        Ok(answer) if answer.has_succeeded() => Ok(()),
        Ok(_) => Err(NotDelivered::NotShown(name)),
        Err(error) => Err(NotDelivered::NotRun(error)),
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
            .deliver(&notice, Path::new("/"), Path::new("/nowhere"))
            .await
            .expect("delivered");
        let refused = channel
            .deliver(&notice, Path::new("/"), Path::new("/nowhere"))
            .await
            .expect_err("refused")
            .to_string();
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
