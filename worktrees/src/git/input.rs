//! What git reads from stdin.

use crate::Error;
use std::fs::File;
use std::io::{Seek as _, Write as _};

/// Puts bytes into a file without a name: unlike a pipe it can't fill up and block both sides.
pub(super) fn file_with(bytes: &[u8]) -> Result<File, Error> {
    let write = || -> std::io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    };
    write().map_err(Error::file(
        "write the input of git to a temporary file in",
        std::env::temp_dir(),
    ))
}
