//! tm's own log: on stderr as far as `-v` or `TM_LOG` asks for it, and as JSON in the folder of a run.
//!
//! Values of variables that hold secrets never get into either.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt, registry};

/// Parts of the names of variables that hold secrets.
const SECRET_NAMES: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
/// A shorter value is more likely a word than a secret.
const LEAST_SECRET: usize = 8;

static RUN_LOG: OnceLock<File> = OnceLock::new();
static SECRETS: OnceLock<Vec<String>> = OnceLock::new();
static ON_STDERR: OnceLock<()> = OnceLock::new();

/// Begins to log; `verbosity` is how often `-v` was given, and `TM_LOG` has the last word.
pub(crate) fn begin(verbosity: u8) {
    let level = match verbosity {
        0 => "error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = |otherwise: &str| EnvFilter::try_from_env("TM_LOG").unwrap_or_else(|_| EnvFilter::new(otherwise));
    if verbosity > 0 || std::env::var_os("TM_LOG").is_some() {
        let _begun_once = ON_STDERR.set(());
    }
    let in_folder = if verbosity > 1 { level } else { "info" };
    let _secrets = SECRETS.get_or_init(|| secrets(std::env::vars()));
    registry()
        .with(fmt::layer().with_writer(|| Redacting(io::stderr())).with_filter(filter(level)))
        .with(fmt::layer().json().with_writer(RunLog).with_filter(filter(in_folder)))
        .init();
}

/// Tells whether the log was asked for on stderr, where nothing that moves can be drawn then.
pub(crate) fn is_on_stderr() -> bool {
    ON_STDERR.get().is_some()
}

/// From now on the log goes into this file too.
///
/// # Errors
/// The file can't be opened.
pub(crate) fn write_into(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    // A process carries out one run; a second one would go on in the first one's log.
    let _one_run = RUN_LOG.set(file);
    Ok(())
}

/// The file, once there is one.
struct RunLog;

impl MakeWriter<'_> for RunLog {
    type Writer = Box<dyn Write>;

    fn make_writer(&self) -> Self::Writer {
        match RUN_LOG.get() {
            Some(file) => Box::new(Redacting(file)),
            None => Box::new(io::sink()),
        }
    }
}

/// Leaves secrets out of what is written; an event comes as one piece.
struct Redacting<W>(W);

impl<W: Write> Write for Redacting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(redacted(&text, SECRETS.get().map_or(&[], Vec::as_slice)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn redacted(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"))
}

/// The values to leave out, as they are and as JSON and debug output spell them, the longest first.
fn secrets(variables: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let is_secret = |name: &str| SECRET_NAMES.iter().any(|part| name.to_ascii_uppercase().contains(part));
    let mut secrets = Vec::new();
    for (_, value) in variables.filter(|(name, value)| is_secret(name) && value.len() >= LEAST_SECRET) {
        let spelled = serde_json::Value::from(value.as_str()).to_string();
        secrets.push(spelled.trim_matches('"').to_owned());
        secrets.push(value.escape_debug().to_string());
        secrets.push(value);
    }
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_however_they_are_spelled() {
        let variables = [("MY_API_KEY", "sk-12\"34567"), ("PATH", "/usr/local/bin"), ("PIN_TOKEN", "1")];
        let secrets = secrets(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
        let text = "a sk-12\"34567 b sk-12\\\"34567 c /usr/local/bin 1";
        assert_eq!(redacted(text, &secrets), "a [redacted] b [redacted] c /usr/local/bin 1");
    }
}
