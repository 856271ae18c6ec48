//! Reads and replaces the files of a backlog.

use super::BacklogError;
use super::document::SyntaxError;
use crate::{Error, atomic};
use std::path::Path;

/// No file of a backlog is longer.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Reads a file.
pub(super) fn text(path: &Path) -> Result<String, BacklogError> {
    let bytes = tm_untrusted::read_own(path, MOST_BYTES).map_err(Error::read(path))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        SyntaxError::at(&text, valid, "not UTF-8").of_file(path)
    })
}

/// Replaces a file.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), BacklogError> {
    Ok(atomic::replace_as_only_writer(path, text.as_bytes()).map_err(Error::write(path))?)
}
