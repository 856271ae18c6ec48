//! Keeps a log within its limit: its head and its tail stay.
//!
//! A job writes into its log itself, so that it outlives tm. While it lives nothing in the file is moved: what lies
//! between head and tail is given back to the file system where the engine can do that, and reads as zeros. Once
//! everybody who writes is gone, head and tail are put together.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

/// Logs of jobs that print for somebody who waits are looked at so often.
const PAUSE: Duration = Duration::from_millis(100);
/// So much is kept of each.
const KEPT_BYTES: u64 = 64 * 1024 * 1024;
/// One that grows beyond this although its middle is to be given back is on a file system that has no means for it.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

/// A log that grows.
#[derive(Debug)]
pub(crate) struct BoundedLog<'a> {
    path: &'a Path,
    /// Half of what is kept, for the head and for the tail.
    half: u64,
    /// Up to where the log has been given back; no less than `half`.
    given_back: u64,
}

impl<'a> BoundedLog<'a> {
    /// Bounds a log to so many bytes.
    pub(crate) fn new(path: &'a Path, limit: u64) -> Self {
        let half = (limit / 2).max(1);
        Self {
            path,
            half,
            given_back: half,
        }
    }

    /// Returns how many bytes it has now.
    pub(crate) fn size(&self) -> u64 {
        tm_untrusted::size(self.path)
    }

    /// Gives back what lies between head and tail of a log of this size, once it is worth it.
    pub(crate) fn keep_within(
        &mut self,
        size: u64,
        give_back: impl Fn(&Path, Range<u64>) -> io::Result<()>,
    ) {
        let tail = size.saturating_sub(self.half);
        if tail.saturating_sub(self.given_back) > self.half / 4
            && give_back(self.path, self.given_back..tail).is_ok()
        {
            self.given_back = tail;
        }
    }

    /// Tells whether a log of this size takes more room than anything that is worth reading.
    const fn is_overflowing(&self, size: u64) -> bool {
        size.saturating_sub(self.given_back) > MOST_BYTES
    }

    /// Puts head and tail together when the log is longer than its limit; nobody writes into it any more. A log that
    /// can't be written anew stays as it is.
    pub(crate) fn close(self) -> io::Result<()> {
        let mut file = match tm_untrusted::open(self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        let left_out = length.saturating_sub(2 * self.half);
        if left_out == 0 {
            return Ok(());
        }
        let mut kept =
            tempfile::NamedTempFile::new_in(self.path.parent().unwrap_or(Path::new(".")))?;
        io::copy(&mut (&file).take(self.half), &mut kept)?;
        write!(kept, "\n[… {left_out} bytes are left out here …]\n")?;
        file.seek(SeekFrom::Start(length - self.half))?;
        io::copy(&mut file, &mut kept)?;
        kept.flush()?;
        kept.persist(self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Logs that a job writes while somebody waits for it.
#[derive(Debug)]
pub(crate) struct LogsOfJob<'a>(Vec<BoundedLog<'a>>);

impl<'a> LogsOfJob<'a> {
    /// Bounds these, which may be the same one.
    pub(crate) fn new(stdout: &'a Path, stderr: &'a Path) -> Self {
        let both = [stdout, stderr].into_iter();
        let different = both.take(1 + usize::from(stdout != stderr));
        Self(
            different
                .map(|path| BoundedLog::new(path, KEPT_BYTES))
                .collect(),
        )
    }

    /// Keeps them within their bounds until something has come; `None` when they could not be.
    pub(crate) async fn kept_until<T>(
        &mut self,
        awaited: impl Future<Output = T>,
        give_back: impl Fn(&Path, Range<u64>) -> io::Result<()>,
    ) -> Option<T> {
        let mut awaited = pin!(awaited);
        loop {
            tokio::select! {
                come = &mut awaited => return Some(come),
                () = tokio::time::sleep(PAUSE) => {}
            }
            for log in &mut self.0 {
                let size = log.size();
                log.keep_within(size, &give_back);
                if log.is_overflowing(size) {
                    return None;
                }
            }
        }
    }

    /// Puts head and tail of each together; nobody writes any more.
    pub(crate) fn close(self) {
        for log in self.0 {
            let path = log.path;
            if let Err(error) = log.close() {
                tracing::warn!(?error, ?path, "the middle of a log is still in it");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine as _, LocalEngine};
    use std::fs::File;

    fn give_back(log: &Path, part: Range<u64>) -> io::Result<()> {
        LocalEngine::default().give_back(log, part)
    }

    const LIMIT: u64 = 256 * 1024;

    #[test]
    fn a_log_within_its_limit_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        File::create(&path)
            .and_then(|mut file| file.write_all(b"one\ntwo\n"))
            .expect("a log");
        let mut log = BoundedLog::new(&path, LIMIT);
        log.keep_within(log.size(), give_back);
        log.close().expect("closed");
        assert_eq!(std::fs::read(&path).expect("a log"), b"one\ntwo\n");
        let nothing = folder.path().join("nothing");
        BoundedLog::new(&nothing, LIMIT)
            .close()
            .expect("nothing to do");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_log_that_grows_takes_no_more_room_than_its_limit_and_keeps_both_ends() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a log");
        let mut log = BoundedLog::new(&path, LIMIT);
        file.write_all(b"the head\n").expect("written");
        for _ in 0..40 {
            file.write_all(&vec![b'x'; 64 * 1024]).expect("written");
            log.keep_within(log.size(), give_back);
            let room = file.metadata().expect("metadata").blocks() * 512;
            assert!(room <= 2 * LIMIT, "{room}");
        }
        file.write_all(b"\nthe tail").expect("written");
        log.close().expect("closed");
        let kept = std::fs::read_to_string(&path).expect("a log");
        assert!(kept.starts_with("the head\n") && kept.ends_with("\nthe tail"));
        assert!(
            kept.contains("bytes are left out here") && kept.len() < 300 * 1024,
            "{}",
            kept.len()
        );
        assert!(!kept.contains('\0'));
    }
}
