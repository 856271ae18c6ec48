//! Which program a recipe starts, so that its absence is told before a run and not by every attempt.

use crate::placeholders::KNOWN;
use crate::{Error, Placeholders, Recipe};
use std::path::Path;
use tm_config::{AgentCommand, Argument};

impl Recipe {
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
}
