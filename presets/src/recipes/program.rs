//! Which program a recipe starts, so that its absence is told before a run and not by every attempt. With one that
//! speaks the Agent Client Protocol tm itself is started, and speaks with it.

use super::{Recipe, permissions};
use crate::Error;
use crate::placeholders::{KNOWN, Placeholders};
use std::path::Path;
use tm_config::{AgentCommand, AgentSandbox, Argument};
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

    /// Has the needs of the agent whose program it starts, where it says none itself; of a program that nobody knows only
    /// its user knows which variables it needs, and that one started it.
    pub(super) fn with_needs_of_program(mut self) -> Self {
        let program = match &self.command {
            Some(AgentCommand::Arguments(arguments)) => match arguments.first() {
                Some(Argument::Single(word)) => Some(word.as_str()),
                Some(Argument::Optional(_)) | None => None,
            },
            Some(AgentCommand::Shell(text)) => text.split_whitespace().next(),
            None => None,
        };
        let named = program.and_then(|program| Path::new(program).file_name()?.to_str());
        if self.sandbox == AgentSandbox::default() {
            let known = named.and_then(super::built_in);
            self.sandbox = known.map(|known| known.sandbox).unwrap_or_default();
        }
        if self.sandbox == AgentSandbox::default() {
            self.sandbox.pass = Some(vec!["*".to_owned()]);
        }
        self
    }

    /// Returns the program that the recipe starts; `tm` is this program.
    ///
    /// # Errors
    /// As `command_line`.
    pub fn program(&self, tm: &Path) -> Result<String, Error> {
        let known = KNOWN.iter().map(|(name, _)| (*name, String::new()));
        let mut placeholders: Placeholders = known.collect();
        placeholders.insert("tm", tm.display().to_string());
        let line = self.own_line(self.command_line(&placeholders)?);
        Ok(line.into_iter().next().unwrap_or_default())
    }

    /// Returns the account behind the agent: the one of the settings, else the name of the program that it starts, else,
    /// where a shell or tm itself is started, its own name.
    pub fn account(&self) -> String {
        let program = match &self.command {
            Some(AgentCommand::Arguments(arguments)) => self.own_arguments(arguments).first(),
            Some(AgentCommand::Shell(_)) | None => None,
        };
        let named = program.and_then(|program| match program {
            Argument::Single(text) if !text.contains('{') => Path::new(text).file_name()?.to_str(),
            Argument::Single(_) | Argument::Optional(_) => None,
        });
        self.declared_account
            .clone()
            .unwrap_or_else(|| named.unwrap_or(&self.name).to_owned())
    }

    /// Returns the part of a command that is the program's own.
    fn own_arguments<'a>(&self, arguments: &'a [Argument]) -> &'a [Argument] {
        let before = if self.output == OutputFormat::Acp {
            BEFORE.len()
        } else {
            0
        };
        arguments.get(before..).unwrap_or_default()
    }

    /// Returns the part of a command line that is the program's own.
    fn own_line(&self, line: Vec<String>) -> Vec<String> {
        match line.iter().position(|word| word == END_OF_OWN) {
            Some(end) if self.output == OutputFormat::Acp => line[end + 1..].to_vec(),
            Some(_) | None => line,
        }
    }
}
