//! Reads files that the code under test could have written, or put something else in the place of.
//!
//! The one place where such a file is opened: no link is followed, nothing but a regular file is read, nothing waits
//! for somebody at the other end, and no more is read than a bound allows.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Seek as _, SeekFrom};
use std::path::Path;

/// Opens a file for reading; an error when it is none, or a link to one.
pub(super) fn open(path: &Path) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"))
    }
}

/// Reads a file as text; an error when it is longer than `limit` bytes.
pub(super) fn whole(path: &Path, limit: u64) -> Result<String> {
    let (text, is_cut) = beginning(path, limit)?;
    if is_cut { Err(Error::new(ErrorKind::FileTooLarge, "it is too large")) } else { Ok(text) }
}

/// Reads at most `limit` bytes from a file's beginning; tells whether there was more.
pub(super) fn beginning(path: &Path, limit: u64) -> Result<(String, bool)> {
    let mut bytes = Vec::new();
    open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_cut = bytes.len() > limit;
    bytes.truncate(limit);
    Ok((text(&bytes), is_cut))
}

/// Reads at most `limit` bytes at a file's end.
pub(super) fn end(path: &Path, limit: u64) -> Result<String> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(text(&bytes))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::io::Write as _;

    #[test]
    fn links_pipes_folders_and_long_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        File::create(at("file")).and_then(|mut file| file.write_all(b"12345")).expect("a file");
        std::os::unix::fs::symlink(at("file"), at("link")).expect("a link");
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
        for name in ["link", "pipe", "missing", "."] {
            assert!(whole(&at(name), 10).is_err(), "{name}");
        }
        assert_eq!(whole(&at("file"), 5).expect("read"), "12345");
        assert!(whole(&at("file"), 4).is_err());
        assert_eq!(beginning(&at("file"), 4).expect("read"), ("1234".to_owned(), true));
        assert_eq!(end(&at("file"), 2).expect("read"), "45");
    }
}
