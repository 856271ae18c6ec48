//! Reads what the code under test could have written as text; how it is opened is `tm_untrusted`'s business.

use std::borrow::Cow;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Reads a file as text; an error when it is longer than `limit` bytes, as text too, or no file.
pub(super) fn whole(path: &Path, limit: u64) -> Result<String> {
    let (text, is_cut) = text_within(tm_untrusted::read(path, limit)?, limit);
    if is_cut {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Reads at most `limit` bytes from a file's beginning; tells whether there was more.
pub(super) fn beginning(path: &Path, limit: u64) -> Result<(String, bool)> {
    let bytes = tm_untrusted::read_beginning(path, limit)?;
    let (text, is_cut) = text_within(bytes, limit);
    Ok((text, is_cut || tm_untrusted::size(path) > limit))
}

/// The text of bytes, which grows where they are none; tells whether it was cut.
fn text_within(bytes: Vec<u8>, limit: u64) -> (String, bool) {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return (text, false),
        Err(error) => error.into_bytes(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        if text.len() > limit {
            return (text, true);
        }
    }
    (text, false)
}

/// Reads at most `limit` bytes at a file's end, for prompts and people.
pub(super) fn end(path: &Path, limit: u64) -> Result<String> {
    tm_untrusted::read_end(path, limit)
        .map(|bytes| tm_untrusted::clean(&String::from_utf8_lossy(&bytes)))
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
