//! Questions to people.

use crate::failure::{CommandFailure, ExitCode};
use std::io::IsTerminal as _;

/// Tells whether somebody is there to answer.
pub(crate) fn is_answered() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question that is answered with yes or no; `default` is what an empty line means.
pub(crate) fn confirmed(
    question: impl Into<String>,
    default: bool,
) -> Result<bool, CommandFailure> {
    Ok(dialoguer::Confirm::new()
        .with_prompt(question)
        .default(default)
        .interact()?)
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
) -> Result<bool, CommandFailure> {
    if is_said {
        return Ok(true);
    }
    if !is_answered() {
        let failure = CommandFailure::new(format!("ask whether to {what}: there is no terminal"));
        return Err(failure.code(ExitCode::Usage).hint(hint));
    }
    confirmed(question(), false)
}
