//! tm's own log: on stderr as far as `-v` or `TM_LOG` asks for it, and as JSON in the folder of a run.
//!
//! Secrets never get into either.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{fmt, registry};

static RUN_LOG: OnceLock<File> = OnceLock::new();
static ON_STDERR: OnceLock<()> = OnceLock::new();

/// Begins to log; `verbosity` is how often `-v` was given, and `TM_LOG` has the last word.
pub(crate) fn begin(verbosity: u8) {
    let level = match verbosity {
        0 => "error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let asked = std::env::var("TM_LOG").ok();
    let filter = |otherwise: &str| -> Targets {
        // What a cluster refuses tm itself says where it matters.
        let otherwise = format!("{otherwise},kube_client=off");
        asked
            .as_deref()
            .and_then(|asked| asked.parse().ok())
            .unwrap_or_else(|| otherwise.parse().expect("a level"))
    };
    if verbosity > 0 || asked.is_some() {
        let _begun_once = ON_STDERR.set(());
    }
    let in_folder = if verbosity > 1 { level } else { "info" };
    registry()
        .with(
            fmt::layer()
                .with_writer(|| Redacting(io::stderr()))
                .with_filter(filter(level)),
        )
        .with(
            fmt::layer()
                .json()
                .with_writer(RunLog)
                .with_filter(filter(in_folder)),
        )
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
    let file = tm_untrusted::append(path)?;
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
        self.0.write_all(tm_untrusted::redacted(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
