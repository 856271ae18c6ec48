//! What the environment says: variables that are set to something, and what a terminal is to be shown.

use clap::ValueEnum;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tm_reports::{Colours, Sheet};
use tm_worktrees::Coloured;

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

/// When colours are shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum ColourChoice {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[default]
    Auto,
    /// In files and pipes too
    Always,
    /// Nowhere
    Never,
}

static COLOURS: OnceLock<ColourChoice> = OnceLock::new();

/// Chooses for the whole process.
pub(crate) fn choose_colours(choice: ColourChoice) {
    // The command line is read once.
    let _chosen_once = COLOURS.set(choice);
}

/// Returns when git colours what it shows, which asks for no colours by a flag alone.
pub(crate) fn colours_of_git() -> Coloured {
    match COLOURS.get().copied().unwrap_or_default() {
        ColourChoice::Auto if variable("NO_COLOR").is_some() => Coloured::Never,
        ColourChoice::Auto => Coloured::Auto,
        ColourChoice::Always => Coloured::Always,
        ColourChoice::Never => Coloured::Never,
    }
}

/// Returns whether colours are shown in a stream (<https://no-color.org>).
pub(crate) fn colours_in(stream: &impl IsTerminal) -> Colours {
    let are_shown = match COLOURS.get().copied().unwrap_or_default() {
        ColourChoice::Auto => stream.is_terminal() && variable("NO_COLOR").is_none() && !is_dumb(),
        ColourChoice::Always => true,
        ColourChoice::Never => false,
    };
    if are_shown { Colours::On } else { Colours::Off }
}

/// Returns a line that names a file: from the user's home on, and on a line of its own where both don't fit.
pub(crate) fn path_line(word: &str, path: &Path) -> String {
    let home = variable("HOME").filter(|home| !home.is_empty());
    let path = match home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    };
    let width = sheet_of(&std::io::stderr(), &console::Term::stderr()).width;
    let is_narrow =
        width.is_some_and(|width| console::measure_text_width(&path) + word.len() >= width.into());
    format!("{word}{}{path}", if is_narrow { "\n" } else { " " })
}

/// Returns what a stream is written for. Where `COLUMNS` is set, it says how wide that is; a stream that is no terminal
/// is as wide as it gets otherwise.
pub(crate) fn sheet_of(stream: &impl IsTerminal, terminal: &console::Term) -> Sheet {
    let told = || text_of("COLUMNS")?.trim().parse().ok();
    let seen = || Some(terminal.size_checked()?.1).filter(|_| stream.is_terminal());
    Sheet {
        width: told().or_else(seen).filter(|width| *width > 0),
        colours: colours_in(stream),
    }
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
