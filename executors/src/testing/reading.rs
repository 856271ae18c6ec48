//! Reads what the code under test could have written as text; how it is opened is `tm_untrusted`'s business.

use std::borrow::Cow;
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

/// The text without the colours that some frameworks print even where there is no terminal.
pub(super) fn without_colours(output: &str) -> Cow<'_, str> {
    if !output.contains("\u{1b}[") {
        return Cow::Borrowed(output);
    }
    let mut plain = String::with_capacity(output.len());
    let mut rest = output;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        rest = rest
            .strip_prefix(|letter: char| letter.is_ascii_alphabetic())
            .unwrap_or(rest);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
