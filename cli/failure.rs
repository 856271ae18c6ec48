//! Errors as people see them: what failed, the next command to type, and the exit code.

use crate::advice;
use serde_json::{Value, json};
use std::fmt;

pub(crate) use crate::exit_code::ExitCode;

/// What a command comes to: its exit code, unless it says what is asked for.
pub(crate) type Result<T = u8, E = CommandFailure> = std::result::Result<T, E>;

/// An error on its way to the screen.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    /// What failed, a lower-case fragment that follows "failed to"; with the code of a usage error, what is wrong.
    pub(crate) message: String,
    /// The next command to type, or what to change.
    pub(crate) hint: Option<String>,
    /// The exit code.
    pub(crate) code: ExitCode,
}

impl CommandFailure {
    /// Returns a failure with exit code 1.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
            code: ExitCode::Error,
        }
    }

    /// Adds the next command to type.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says that the command line makes no sense, and what would.
    pub(crate) fn usage(self, hint: impl Into<String>) -> Self {
        self.code(ExitCode::Usage).hint(hint)
    }

    /// Sets the exit code.
    pub(crate) const fn code(mut self, code: ExitCode) -> Self {
        self.code = code;
        self
    }

    /// Prints it for people.
    pub(crate) fn print(&self) {
        say!("error: {self}");
        if let Some(hint) = &self.hint {
            say!("hint: {hint}");
        }
    }

    /// Prints it for people, where its answer is printed already, and returns its exit code.
    pub(crate) fn answered(&self) -> u8 {
        self.print();
        self.code.number()
    }

    /// Returns it for programs.
    pub(crate) fn document(&self) -> Value {
        json!({"success": false, "error": self.to_string(), "hint": self.hint, "exitCode": self.code.number()})
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            // What was typed makes no sense: the message says why.
            ExitCode::Usage => formatter.write_str(&self.message),
            _ => write!(formatter, "failed to {}", self.message),
        }
    }
}

impl<E: std::error::Error + 'static> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        let (code, hint) = advice::on(&error);
        Self {
            message: tm_scheduler::with_causes(&error),
            hint,
            code,
        }
    }
}
