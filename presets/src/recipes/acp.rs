//! Programs that speak the Agent Client Protocol: tm itself is what is started, and speaks with them.

use super::{Recipe, permissions};
use crate::Error;
use tm_config::{AgentCommand, Argument};
use tm_scheduler::OutputFormat;

/// What stands before the program in a command.
const BEFORE: [&str; 4] = ["{tm}", "acp-agent", permissions::PLACE, END_OF_OWN];
/// What ends the words that are tm's own.
const END_OF_OWN: &str = "--";

impl Recipe {
    /// Has tm speak with the program, where it speaks the protocol.
    pub(super) fn spoken_with(mut self) -> Result<Self, Error> {
        if self.output == OutputFormat::Acp {
            self.command = match self.command {
                Some(AgentCommand::Arguments(own)) => {
                    let before = BEFORE.map(|word| Argument::Single(word.to_owned()));
                    Some(AgentCommand::Arguments(
                        before.into_iter().chain(own).collect(),
                    ))
                }
                Some(AgentCommand::Shell(_)) => {
                    return Err(Error::ProtocolInShell { name: self.name });
                }
                None => None,
            };
        }
        Ok(self)
    }

    /// Returns the part of a command that is the program's own.
    pub(crate) fn own_arguments<'a>(&self, arguments: &'a [Argument]) -> &'a [Argument] {
        let before = if self.output == OutputFormat::Acp {
            BEFORE.len()
        } else {
            0
        };
        arguments.get(before..).unwrap_or_default()
    }

    /// Returns the part of a command line that is the program's own.
    pub(crate) fn own_line(&self, line: Vec<String>) -> Vec<String> {
        match line.iter().position(|word| word == END_OF_OWN) {
            Some(end) if self.output == OutputFormat::Acp => line[end + 1..].to_vec(),
            Some(_) | None => line,
        }
    }
}
