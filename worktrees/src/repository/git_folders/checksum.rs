//! Reckons what git names an object or ends a pack with, in pieces and in time: somebody may have made either endless.

use crate::git::gits_are_ending;
use flate2::read::ZlibDecoder;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of an id of SHA-1, where a repository says nothing else, and of one of SHA-256.
pub(super) const SHORT_ID: usize = 20;
pub(super) const LONG_ID: usize = 32;
/// So much is read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// Until when files are looked at: for so long, or until all gits are to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookTime(Instant);

impl LookTime {
    pub(super) fn of(longest: Duration) -> Self {
        Self(Instant::now() + longest)
    }

    pub(super) const fn end(self) -> Instant {
        self.0
    }

    pub(super) fn is_over(self) -> bool {
        Instant::now() >= self.0 || gits_are_ending()
    }
}

/// Tells whether a loose object holds what its name says.
///
/// # Errors
/// It can't be read, or not in time.
pub(super) fn is_as_named(object: &Path, id: &str, time: LookTime) -> io::Result<bool> {
    let inflated = ZlibDecoder::new(tm_untrusted::open(object)?);
    match checksum_of(inflated, id.len() / 2, time) {
        Ok(checksum) => Ok(in_hex(&checksum).eq_ignore_ascii_case(id)),
        Err(error) => match error.kind() {
            // It is nothing that was deflated.
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => Ok(false),
            _ => Err(error),
        },
    }
}

/// Returns what a file of packs ends with: the checksum of all before that, as it says.
pub(super) fn last_words(file: &Path, length: usize) -> Option<Vec<u8>> {
    let last = tm_untrusted::read_end(file, length as u64).ok()?;
    (last.len() == length).then_some(last)
}

/// Tells whether a file ends with such a checksum, and all before that has it.
///
/// # Errors
/// It can't be read, or not in time.
pub(super) fn ends_with(file: &Path, checksum: &[u8], time: LookTime) -> io::Result<bool> {
    let mut file = tm_untrusted::open(file)?;
    let length = file.metadata()?.len();
    let Some(before) = length.checked_sub(checksum.len() as u64) else {
        return Ok(false);
    };
    let reckoned = checksum_of(Read::by_ref(&mut file).take(before), checksum.len(), time)?;
    Ok(reckoned == checksum && rest_of(file, checksum.len())? == checksum)
}

fn rest_of(file: File, length: usize) -> io::Result<Vec<u8>> {
    let mut rest = Vec::new();
    file.take(length as u64 + 1).read_to_end(&mut rest)?;
    Ok(rest)
}

fn checksum_of(content: impl Read, length: usize, time: LookTime) -> io::Result<Vec<u8>> {
    if length == LONG_ID {
        reckoned::<Sha256>(content, time)
    } else {
        reckoned::<Sha1>(content, time)
    }
}

fn reckoned<D: Digest>(mut content: impl Read, time: LookTime) -> io::Result<Vec<u8>> {
    let (mut hasher, mut piece) = (D::new(), vec![0; PIECE]);
    loop {
        if time.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match content.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize().to_vec()),
            Ok(count) => hasher.update(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn in_hex(bytes: &[u8]) -> String {
    let digit = |of: u8| char::from_digit(of.into(), 16).unwrap_or_default();
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::replace;
    use flate2::{Compress, Compression, FlushCompress};

    const MEBIBYTE: usize = 1024 * 1024;

    /// A file that inflates to as many mebibytes of zeros.
    fn zeros(folder: &Path, count: usize) -> std::path::PathBuf {
        let mut piece = Vec::with_capacity(MEBIBYTE);
        let mut compress = Compress::new(Compression::fast(), false);
        let zeros = vec![0; MEBIBYTE];
        let done = compress.compress_vec(&zeros, &mut piece, FlushCompress::Full);
        done.expect("deflated");
        let file = folder.join("zeros");
        let whole = [&[0x78, 0x01], &piece.repeat(count)[..]].concat();
        replace(&file, &whole).expect("a file");
        file
    }

    #[test]
    fn what_inflates_to_gigabytes_is_read_in_pieces_and_no_longer_than_there_is_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let (id, hour) = ("0".repeat(40), Duration::from_hours(1));
        let short = zeros(folder.path(), 64);
        assert!(!is_as_named(&short, &id, LookTime::of(hour)).expect("read"));
        let file = zeros(folder.path(), 64 * 1024);
        let error = is_as_named(&file, &id, LookTime::of(Duration::from_millis(50)));
        let error = error.expect_err("no time");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
