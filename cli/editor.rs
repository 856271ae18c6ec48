//! The user's editor. What was typed is never lost: what can't be taken is kept.

use crate::environment::editor;
use crate::failure::{CommandFailure, Result};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use tm_executors::process::run_attended;

/// No text is longer.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

fn file_with(text: &str) -> std::io::Result<NamedTempFile> {
    let mut named = tempfile::Builder::new();
    let mut file = named.prefix("tm-edit-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Returns the text of a file that is named, or what somebody makes of a text in an editor.
pub(crate) async fn typed(text: &str, from: Option<&Path>, folder: &Path) -> Result<String> {
    if let Some(file) = from {
        let bytes = tm_untrusted::read_own(&folder.join(file), MOST_BYTES);
        let bytes = bytes.map_err(|error| failure!("read `{}`: {error}", file.display()))?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let editor =
        editor().ok_or_else(|| failure!("find your editor").hint("set VISUAL or EDITOR"))?;
    let file = file_with(text)?;
    let path = file.path().display().to_string();
    let command = format!("{editor} \"$0\"");
    let status = run_attended("sh", &["-c", &command, &path], folder).await?;
    if !status.success() {
        let hint = "nothing was changed; see to VISUAL or EDITOR";
        return Err(failure!("edit with `{editor}`: it ended with {status}").hint(hint));
    }
    let bytes = tm_untrusted::read_own(file.path(), MOST_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Keeps what was typed and could not be taken, and says where; `command` takes it with `--from`.
pub(crate) fn kept(failure: CommandFailure, text: &str, command: &str) -> CommandFailure {
    let keep = || -> std::io::Result<PathBuf> { Ok(file_with(text)?.keep()?.1) };
    match keep() {
        Ok(path) => {
            let path = path.display();
            failure.hint(format!(
                "what you wrote is kept in `{path}`; correct it there, then `{command} --from {path}`"
            ))
        }
        Err(error) => {
            say!("warning: what you wrote could not be kept ({error}); here it is:\n{text}");
            failure
        }
    }
}
