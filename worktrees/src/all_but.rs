//! Says to git "everything here, but for what is kept".

use crate::Error;
use crate::git::{Git, fields, joined, path_of};
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the paths for `git add`: everything, without those that are kept.
///
/// Those that a rule leaves out anyway are not named: git refuses to be told to pass over what it passes over.
pub(crate) fn all_but(kept: &[PathBuf], git: impl FnOnce() -> Git) -> Result<Vec<OsString>, Error> {
    let mut paths = vec![OsString::from(".")];
    if kept.is_empty() {
        return Ok(paths);
    }
    let answer = git()
        .line("check-ignore -z --stdin")
        .input(joined(kept))
        .answer()?;
    if !matches!(answer.code, 0 | 1) {
        return Err(answer.into_error(&["check-ignore".to_owned()]));
    }
    let ignored: Vec<PathBuf> = fields(&answer.stdout).map(path_of).collect();
    paths.extend(
        kept.iter()
            .filter(|kept| !ignored.contains(kept))
            .map(|kept| {
                let mut exclusion = OsString::from(":(top,exclude,literal)");
                exclusion.push(kept);
                exclusion
            }),
    );
    Ok(paths)
}
