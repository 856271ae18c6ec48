//! What the environment says: variables that are set to something, and what a terminal is to be shown.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns what a variable holds; an empty one is as good as none.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the text that a variable holds.
pub(crate) fn text_of(name: &str) -> Option<String> {
    let text = variable(name)?.into_string().ok()?;
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Returns the user's shell.
pub(crate) fn shell() -> String {
    text_of("SHELL").unwrap_or_else(|| "sh".to_owned())
}

/// Returns the user's editor, which may be a command with arguments.
pub(crate) fn editor() -> Option<String> {
    text_of("VISUAL").or_else(|| text_of("EDITOR"))
}

/// Whether somebody does not want colours (<https://no-color.org>).
pub(crate) fn is_without_colours() -> bool {
    variable("NO_COLOR").is_some()
}

/// Whether the language that is chosen is written in Unicode.
pub(crate) fn is_in_unicode() -> bool {
    let name = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    name.contains("utf-8") || name.contains("utf8")
}

/// Whether the terminal can't move its cursor.
pub(crate) fn is_dumb() -> bool {
    variable("TERM").is_some_and(|name| name == "dumb")
}

/// Returns a folder as it is typed in another one, or that one where none is.
pub(crate) fn folder_in(start: &Path, typed: Option<&Path>) -> PathBuf {
    typed.map_or_else(|| start.to_owned(), |folder| start.join(folder))
}
