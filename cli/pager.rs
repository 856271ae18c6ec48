//! Long answers on a terminal: page by page through `$PAGER`, as git shows them, and no wider than the terminal.

use crate::display::print_own;
use crate::environment::{is_dumb, sheet_of, text_of};
use crate::failure::Result;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use tm_executors::process::run_attended;

/// Narrow enough for every terminal and for a page of a log.
const NARROW: usize = 80;

/// The size of the terminal that stdout is, as (rows, columns).
fn terminal() -> Option<(u16, u16)> {
    console::Term::stdout()
        .size_checked()
        .filter(|_| std::io::stdout().is_terminal())
}

/// Returns how wide a line on stdout may be.
pub(crate) fn width() -> usize {
    let sheet = sheet_of(&std::io::stdout(), &console::Term::stdout());
    sheet.width.map_or(NARROW, usize::from)
}

/// Returns text with its tones as stdout shows them. Whatever it tells of, it holds no other order to the terminal.
pub(crate) fn painted(text: &str) -> String {
    sheet_of(&std::io::stdout(), &console::Term::stdout()).painted(text)
}

/// Prints painted text on stdout, through the pager where it is longer than the terminal is high.
pub(crate) async fn print_paged(text: &str) -> Result {
    let is_long = terminal().is_some_and(|(rows, _)| text.lines().count() >= usize::from(rows));
    let pager = text_of("PAGER").unwrap_or_else(|| "less".to_owned());
    if !is_long || is_dumb() || pager == "cat" || !is_shown(text, &pager).await? {
        print_own(text);
    }
    Ok(0)
}

/// Whether the pager is there and has shown it.
async fn is_shown(text: &str, pager: &str) -> Result<bool> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(text.as_bytes())?;
    let command = format!("LESS=${{LESS-FRX}} LV=${{LV--c}} {pager} \"$0\"");
    let path = file.path().display().to_string();
    let status = run_attended("sh", &["-c", &command, &path], Path::new(".")).await?;
    // What `sh` says of a program that is not there, or can't be run.
    Ok(!matches!(status.code(), Some(126 | 127)))
}
