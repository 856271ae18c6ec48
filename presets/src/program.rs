//! Which program a recipe starts, so that its absence is told before a run and not by every attempt.

use crate::placeholders::KNOWN;
use crate::{Error, Placeholders, Recipe};

impl Recipe {
    /// Returns the program that the recipe starts; `tm` is this program.
    ///
    /// # Errors
    /// As `command_line`.
    pub fn program(&self, tm: &str) -> Result<String, Error> {
        let mut placeholders: Placeholders = KNOWN.iter().map(|(name, _)| (*name, String::new())).collect();
        placeholders.insert("tm", tm.to_owned());
        let line = self.own_line(self.command_line(&placeholders, None)?);
        Ok(line.into_iter().next().unwrap_or_default())
    }
}
