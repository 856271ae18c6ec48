//! Reads what the code under test could have written as text; how it is opened is `tm_untrusted`'s business.

use std::io::Result;
use std::path::Path;

/// Reads a file as text; an error when it is longer than `limit` bytes, or no file.
pub(super) fn whole(path: &Path, limit: u64) -> Result<String> {
    tm_untrusted::read(path, limit).map(|bytes| text(&bytes))
}

/// Reads at most `limit` bytes from a file's beginning; tells whether there was more.
pub(super) fn beginning(path: &Path, limit: u64) -> Result<(String, bool)> {
    let bytes = tm_untrusted::read_beginning(path, limit)?;
    Ok((text(&bytes), tm_untrusted::size(path) > limit))
}

/// Reads at most `limit` bytes at a file's end, for prompts and people.
pub(super) fn end(path: &Path, limit: u64) -> Result<String> {
    tm_untrusted::read_end(path, limit).map(|bytes| tm_untrusted::clean(&text(&bytes)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
