//! What git answers, and how its answers are read.

use super::Git;
use super::doubted::Tried;
use crate::error::says_trouble_of_machine;
use crate::said::telling_line;
use crate::{Error, Result};
use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

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
    /// Returns the answer without trouble of the machine that tm does not meet where the call worked.
    pub(super) fn doubted(self, tried: impl FnOnce() -> Tried) -> Self {
        if !says_trouble_of_machine(&self.stderr) {
            return self;
        }
        Self {
            stderr: tried().doubt(self.stderr),
            ..self
        }
    }

    /// Turns a bad answer into an error that says what git said.
    fn into_error(self, words: &[String]) -> Error {
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

    /// Returns the line that says why a call was refused, and all that it wrote; `None` where it was not.
    pub(crate) fn refusal(&self) -> Option<(String, String)> {
        if self.code == 0 {
            return None;
        }
        let printed = String::from_utf8_lossy(&self.stdout);
        let output = format!("{printed}{}", self.stderr).trim().to_owned();
        Some((telling_line(&output), output))
    }
}

impl Git {
    /// Runs the call and returns its answer; an exit code above `most` is an error.
    pub(crate) fn answer_up_to(self, most: i32) -> Result<Answer> {
        let words = self.words.clone();
        let answer = self.answer()?;
        if (0..=most).contains(&answer.code) {
            Ok(answer)
        } else {
            Err(answer.into_error(&words))
        }
    }

    /// Runs the call and returns what it wrote; any exit code but 0 is an error.
    pub(crate) fn bytes(self) -> Result<Vec<u8>> {
        self.answer_up_to(0).map(|answer| answer.stdout)
    }

    /// Runs the call for its effect.
    pub(crate) fn done(self) -> Result<()> {
        self.bytes().map(drop)
    }

    /// Runs the call and returns what it wrote as text, without the last line feed.
    pub(crate) fn text(self) -> Result<String> {
        let bytes = self.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Runs the call and returns the lines that it wrote.
    pub(crate) fn lines(self) -> Result<Vec<String>> {
        Ok(self.text()?.lines().map(ToOwned::to_owned).collect())
    }

    /// Runs the call and returns the paths that it wrote, each ended by NUL.
    pub(crate) fn paths<T: FromIterator<PathBuf>>(self) -> Result<T> {
        Ok(fields(&self.bytes()?).map(path_of).collect())
    }

    /// Runs a call of `status`, and returns what differs from HEAD: the two letters and the path of each.
    pub(crate) fn statuses(self) -> Result<Vec<(Vec<u8>, PathBuf)>> {
        let listing = self.line("--porcelain=v1 -z --no-renames").bytes()?;
        Ok(fields(&listing)
            .filter_map(|entry| entry.split_at_checked(3))
            .map(|(letters, path)| (letters[..2].to_vec(), path_of(path)))
            .collect())
    }

    /// Runs the call and tells whether git had nothing against it.
    pub(crate) fn succeeds(self) -> Result<bool> {
        Ok(self.answer()?.code == 0)
    }

    /// Runs the call and returns the path that it wrote.
    pub(crate) fn path(self) -> Result<PathBuf> {
        let bytes = self.bytes()?;
        Ok(path_of(bytes.strip_suffix(b"\n").unwrap_or(&bytes)))
    }

    /// Runs the call and returns the object id that it wrote.
    pub(crate) fn object_id(self) -> Result<String> {
        let words = self.words.clone();
        let text = self.text()?;
        if is_object_id(&text) {
            Ok(text)
        } else {
            Err(unexpected(&words, text.as_bytes()))
        }
    }

    /// Runs the call and tells what its exit code says: 0 yes, 1 no, anything else is an error.
    pub(crate) fn yes_or_no(self) -> Result<bool> {
        self.answer_up_to(1).map(|answer| answer.code == 0)
    }

    /// Runs the call and returns what it wrote, `None` for exit code 1.
    pub(crate) fn text_if_any(self) -> Result<Option<String>> {
        let answer = self.answer_up_to(1)?;
        let text = String::from_utf8_lossy(&answer.stdout);
        Ok((answer.code == 0).then(|| text.trim_end_matches('\n').to_owned()))
    }
}

/// Returns an error that shows the beginning of an answer.
pub(crate) fn unexpected<T: Borrow<str>>(words: &[T], answer: &[u8]) -> Error {
    Error::Answer {
        command: words.join(" "),
        answer: String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned(),
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

/// Splits an answer of two fields each.
pub(crate) fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut fields = fields(bytes);
    std::iter::from_fn(move || Some((fields.next()?, fields.next()?)))
}

/// Splits an entry of a listing into the three words before its tab and the path behind.
pub(crate) fn entry(bytes: &[u8]) -> Option<([String; 3], &[u8])> {
    let tab = bytes.iter().position(|&byte| byte == b'\t')?;
    let words = String::from_utf8_lossy(&bytes[..tab]);
    let words: Vec<String> = words.split(' ').map(ToOwned::to_owned).collect();
    Some((words.try_into().ok()?, &bytes[tab + 1..]))
}

/// Puts paths into the form in which git reads many of them.
pub(crate) fn joined<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<u8> {
    paths
        .into_iter()
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
        let path = line
            .split_once("failed to read ")
            .and_then(|(_, rest)| rest.split(": ").next());
        path.is_some_and(|path| path.trim_matches('\'').ends_with("/commondir"))
    })
}

/// A program can be given so many bytes of paths everywhere.
const LONGEST_WORDS: usize = 96 * 1024;

/// Tells whether a program can be given all of these.
pub(crate) fn are_few_words(words: &[OsString]) -> bool {
    words.iter().map(|word| word.len() + 1).sum::<usize>() <= LONGEST_WORDS
}

/// Returns the words by which git passes over a path.
pub(crate) fn exclusion(path: &Path) -> OsString {
    let mut exclusion = OsString::from(":(top,exclude,literal)");
    exclusion.push(path);
    exclusion
}
