//! Questions to people.

use crate::failure::Result;
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
        return Err(io::Error::other("not a terminal"));
    }
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    terminal.write_str(&format!("{question} {choice} "))?;
    let answer = key(&terminal, default)?;
    terminal.write_line(if answer { "yes" } else { "no" })?;
    Ok(answer)
}

/// The first key that is an answer.
fn key(terminal: &Term, default: bool) -> io::Result<bool> {
    loop {
        match terminal.read_key()? {
            Key::Char('y' | 'Y') => return Ok(true),
            Key::Char('n' | 'N') => return Ok(false),
            Key::Enter => return Ok(default),
            _ => {}
        }
    }
}

/// Asks for a line; an empty one takes what was found, and `-` means nothing.
pub(crate) fn line(question: &str, found: &str) -> io::Result<String> {
    let terminal = Term::stderr();
    let shown = if found.is_empty() { "none" } else { found };
    terminal.write_str(&format!("{question} [{shown}] "))?;
    Ok(match terminal.read_line()?.trim() {
        "" => found.to_owned(),
        "-" => String::new(),
        typed => typed.to_owned(),
    })
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
        return Err(failure!("there is no terminal to ask on whether to {what}").usage(hint));
    }
    Ok(confirmed(&question(), false)?)
}
