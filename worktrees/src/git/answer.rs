//! What git answers, and how its answers are read.

use crate::Error;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// What a call answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit code.
    pub(crate) code: i32,
    /// What it wrote to stdout.
    pub(crate) stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

impl Answer {
    /// Turns a bad answer into an error that says what git said.
    pub(crate) fn into_error(self, words: &[String]) -> Error {
        let message = match (self.stderr.is_empty(), self.code) {
            (false, _) => self.stderr,
            (true, -1) => "it was killed by a signal".to_owned(),
            (true, code) => format!("it exited with code {code} and said nothing"),
        };
        Error::Git {
            command: words.join(" "),
            message,
        }
    }
}

/// Returns an error that shows the beginning of an answer.
pub(crate) fn unexpected<T: AsRef<str>>(words: &[T], answer: &[u8]) -> Error {
    let answer = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
    Error::Answer {
        command: words
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<_>>()
            .join(" "),
        answer,
    }
}

/// Tells whether a text is a full object id, SHA-1 or SHA-256.
pub(crate) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Splits an answer at NUL, without the empty end.
pub(crate) fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .strip_suffix(b"\0")
        .unwrap_or(bytes)
        .split(|&byte| byte == 0)
        .filter(move |_| !bytes.is_empty())
}

/// Puts paths into the form in which git reads many of them.
pub(crate) fn joined(paths: &[PathBuf]) -> Vec<u8> {
    paths
        .iter()
        .flat_map(|path| path.as_os_str().as_bytes().iter().copied().chain([0]))
        .collect()
}

/// Returns the path that git wrote as bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from(OsStr::from_bytes(bytes)))
}

/// Tells whether a call met a worktree entry between its creation and the writing of its `commondir` file.
///
/// git dies of that with this message and no other (seen with 2.39 and 2.47, at five parallel `worktree add` and more).
pub(super) fn stumbled(stderr: &str) -> bool {
    stderr.lines().any(|line| {
        line.split_once("failed to read ")
            .is_some_and(|(_, rest)| rest.split(": ").next().is_some_and(is_commondir))
    })
}

fn is_commondir(path: &str) -> bool {
    path.trim_matches('\'').ends_with("/commondir")
}
