//! What commits say of themselves, in the trailers of their messages.

use crate::git::fields;
use crate::{Error, Repository};
use tm_scheduler::CommitId;

impl Repository {
    /// Returns the trailers of a commit's message.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn trailers(&self, commit: &CommitId) -> Result<Vec<(String, String)>, Error> {
        let format = "--format=%(trailers:only,unfold,separator=%x00,key_value_separator=%x1f)";
        let text = self
            .git()
            .line("log -1 -z")
            .arg(format)
            .commit(commit)
            .bytes()?;
        let trailer = |entry: &[u8]| {
            let entry = String::from_utf8_lossy(entry).into_owned();
            entry
                .split_once('\u{1f}')
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        Ok(fields(&text).filter_map(trailer).collect())
    }

    /// Returns the newest commit from `head` back, along first parents, whose message has this trailer.
    ///
    /// # Errors
    /// git refused.
    pub fn last_with_trailer(
        &self,
        head: &CommitId,
        name: &str,
        value: &str,
    ) -> Result<Option<CommitId>, Error> {
        let format = format!("--format=%H %(trailers:key={name},valueonly,unfold,separator=%x1f)");
        let holds = format!("--grep={name}: {value}");
        let call = self
            .git()
            .args([
                "log",
                "--first-parent",
                "-z",
                "--fixed-strings",
                &holds,
                &format,
            ])
            .commit(head);
        let listing = call.bytes()?;
        let mut entries = fields(&listing).map(String::from_utf8_lossy);
        let is_wanted = |entry: &str| {
            let (id, values) = entry.split_once(' ')?;
            values
                .split('\u{1f}')
                .any(|found| found.trim() == value)
                .then(|| CommitId::new(id))
        };
        Ok(entries.find_map(|entry| is_wanted(&entry)))
    }

    /// Returns the values of a trailer in the commits that `to` has and `from` has not, those that touch `files` only
    /// when there are any.
    ///
    /// # Errors
    /// git refused.
    pub fn trailers_between(
        &self,
        from: &CommitId,
        to: &CommitId,
        files: &[String],
        name: &str,
    ) -> Result<Vec<String>, Error> {
        let format = format!("--format=%(trailers:key={name},valueonly,separator=%x00)%x00");
        let text = self
            .git()
            .args(["log", &format, &format!("{from}..{to}"), "--"])
            .args(files)
            .bytes()?;
        let values = fields(&text).map(|value| String::from_utf8_lossy(value).trim().to_owned());
        Ok(values.filter(|value| !value.is_empty()).collect())
    }
}
