//! The command that runs the tests, and the format of what it says.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The format of results.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ResultFormat {
    /// Told by looking at the output.
    #[default]
    Auto,
    /// Test Anything Protocol.
    Tap,
    /// The text of `cargo test`.
    Cargo,
    /// Nothing is read but the exit status.
    ExitStatus,
}

/// A name that no format has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("read results in the format `{0}`; there are `auto`, `tap`, `cargo`, `exit-status`")]
pub struct UnknownFormat(String);

impl FromStr for ResultFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name {
            "auto" => Ok(Self::Auto),
            "tap" => Ok(Self::Tap),
            "cargo" => Ok(Self::Cargo),
            "exit-status" | "exit" => Ok(Self::ExitStatus),
            other => Err(UnknownFormat(other.to_owned())),
        }
    }
}

/// The command that runs the tests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TestCommand {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The format of its results.
    pub format: ResultFormat,
    /// The limit of one run.
    pub timeout: Duration,
}

impl TestCommand {
    /// The limit of one run when nothing says otherwise.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

    /// Returns a command that `sh` runs; format and limit are those of `like`.
    pub fn shell(text: &str, like: Option<&Self>) -> Self {
        Self {
            argv: vec!["sh".into(), "-c".into(), text.into()],
            format: like.map_or(ResultFormat::Auto, |like| like.format),
            timeout: like.map_or(Self::DEFAULT_TIMEOUT, |like| like.timeout),
        }
    }
}

impl fmt::Display for TestCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.argv.iter().map(|word| word.to_string_lossy()).collect();
        match words.as_slice() {
            [shell, flag, text] if shell == "sh" && flag == "-c" => formatter.write_str(text),
            words => formatter.write_str(&words.join(" ")),
        }
    }
}
