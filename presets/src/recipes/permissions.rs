//! What an agent may do without asking: in which of its modes it is started, and why.

use super::Recipe;
use crate::Error;
use tm_config::{AgentCommand, Argument};
use tm_scheduler::quoted;

/// The mode of an agent that nobody chose another one for.
const WITHOUT_QUESTIONS: &str = "bypass";
/// Where the arguments of the mode stand in a command: an argument of its own.
pub(super) const PLACE: &str = "{permissions}";

/// The mode that an agent is started in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Granted<'a> {
    /// Its name.
    pub mode: &'a str,
    /// What it means, and why.
    pub why: &'a str,
    /// The arguments that choose it, with placeholders.
    pub(super) arguments: &'a [String],
}

impl Recipe {
    /// Returns the mode that the agent is started in; `None` where its command alone says what it may do.
    ///
    /// # Errors
    /// A mode is asked for that the agent does not have.
    pub fn granted(&self) -> Result<Option<Granted<'_>>, Error> {
        if !self.has_place() {
            return match &self.permissions {
                Some(mode) if self.are_permissions_its_own => Err(self.no_such_mode(mode)),
                Some(_) | None => Ok(None),
            };
        }
        let fallback = || {
            let first = self.permission_modes.keys().next().map(String::as_str);
            self.permission_modes
                .get_key_value(WITHOUT_QUESTIONS)
                .map(|(name, _)| name.as_str())
                .or(first)
        };
        let Some(wanted) = self.permissions.as_deref().or_else(fallback) else {
            return Ok(None);
        };
        let (mode, written) = self
            .permission_modes
            .get_key_value(wanted)
            .ok_or_else(|| self.no_such_mode(wanted))?;
        Ok(Some(Granted {
            mode,
            why: &written.why,
            arguments: &written.arguments,
        }))
    }

    fn has_place(&self) -> bool {
        let Some(AgentCommand::Arguments(arguments)) = &self.command else {
            return false;
        };
        arguments
            .iter()
            .any(|argument| matches!(argument, Argument::Single(text) if text == PLACE))
    }

    fn no_such_mode(&self, mode: &str) -> Error {
        let names = quoted(self.permission_modes.keys());
        let known = if self.has_place() && !names.is_empty() {
            names
        } else {
            "no modes".to_owned()
        };
        Error::UnknownPermissions {
            name: self.name.clone(),
            mode: mode.to_owned(),
            known,
        }
    }
}
