//! Files of JSON that are there whole or not at all.

use crate::{Error, OrFailedTo as _};
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes one, renamed into place. Not flushed to the disk: what a loss of power takes from there, it takes from the process
/// table too. `renamed` names the moment before that to tests of faults.
pub(crate) fn write(
    path: &Path,
    content: &impl Serialize,
    renamed: &'static str,
) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, content)?;
        tm_faults::check(renamed)?;
        file.flush()?;
        file.persist(path)?;
        Ok(())
    };
    write().or_failed_to("write", path)
}
