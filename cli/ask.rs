//! Questions to people.

use crate::failure::{ExitCode, Result};
use console::{Key, Term};
use std::io::{self, IsTerminal as _};

/// Tells whether somebody is there to answer.
pub(crate) fn is_answered() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question that is answered with `y` or `n`; `default` is what an empty line means.
pub(crate) fn confirmed(question: &str, default: bool) -> io::Result<bool> {
    let terminal = Term::stderr();
    if !terminal.is_term() {
        return Err(io::Error::new(
            io::ErrorKind::NotConnected,
            "not a terminal",
        ));
    }
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    terminal.write_str(&format!("{question} {choice} "))?;
    let answer = loop {
        match terminal.read_key()? {
            Key::Char('y' | 'Y') => break true,
            Key::Char('n' | 'N') => break false,
            Key::Enter => break default,
            _ => {}
        }
    };
    terminal.write_line(if answer { "yes" } else { "no" })?;
    Ok(answer)
}

/// Asks before something of the user's changes, unless they have said yes already.
///
/// # Errors
/// Nobody is there to answer.
pub(crate) fn allowed(
    is_said: bool,
    what: &str,
    hint: &str,
    question: impl FnOnce() -> String,
) -> Result<bool> {
    if is_said {
        return Ok(true);
    }
    if !is_answered() {
        return Err(failure!("ask whether to {what}: there is no terminal")
            .code(ExitCode::Usage)
            .hint(hint));
    }
    Ok(confirmed(&question(), false)?)
}
