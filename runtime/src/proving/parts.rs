//! Chooses the test commands by which work and merges are judged, where parts of a project have commands of their own.
//!
//! Goes by the paths that changed, and by nothing that an agent says.

use crate::setup::{of_line, with_settings};
use crate::{RedCommit, test_command};
use std::path::Path;
use tm_config::Settings;
use tm_executors::testing::TestCommand;
use tm_scheduler::CommitId;
use tm_worktrees::{Error, PathPatterns, Repository, TreeId};

/// The parts of a project, and the command for what lies in none of them.
#[derive(Debug)]
pub struct Parts {
    parts: Vec<Part>,
    elsewhere: Option<TestCommand>,
}

#[derive(Debug)]
struct Part {
    patterns: Vec<String>,
    paths: PathPatterns,
    command: TestCommand,
}

impl Parts {
    /// Returns the parts of the settings; a command for the rest that they do not name is looked for in `root`.
    ///
    /// # Errors
    /// A pattern is none.
    pub fn of(settings: &Settings, root: &Path) -> Result<Self, Error> {
        let part = |part: &tm_config::TestPart| {
            let command = with_settings(of_line(&part.command), &settings.test).with_label();
            let paths = PathPatterns::new(&from_top(&part.paths))?;
            Ok(Part {
                patterns: part.paths.clone(),
                paths,
                command,
            })
        };
        let parts = settings.test.parts.iter().map(part);
        Ok(Self {
            parts: parts.collect::<Result<_, Error>>()?,
            elsewhere: test_command(settings, root),
        })
    }

    /// Tells whether the project has none.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns every command, each once.
    pub fn each(&self) -> Vec<TestCommand> {
        self.all().map_or_else(Vec::new, |all| all.each().to_vec())
    }

    /// Returns all commands as one; `None` where there is none.
    pub fn all(&self) -> Option<TestCommand> {
        let commands = self
            .elsewhere
            .iter()
            .chain(self.parts.iter().map(|part| &part.command));
        TestCommand::together(commands.cloned().collect())
    }

    /// Returns what judges a change of these paths; `None` where nothing does.
    pub fn of_paths(&self, paths: &[String]) -> Option<TestCommand> {
        let holds = |part: &Part, path: &String| part.paths.covers(Path::new(path));
        let touched = self
            .parts
            .iter()
            .filter(|part| paths.iter().any(|path| holds(part, path)));
        let is_elsewhere = |path: &String| !self.parts.iter().any(|part| holds(part, path));
        let asks_elsewhere = paths.is_empty() || paths.iter().any(is_elsewhere);
        let elsewhere = self.elsewhere.iter().filter(|_| asks_elsewhere);
        let commands = touched.map(|part| &part.command).chain(elsewhere);
        TestCommand::together(commands.cloned().collect())
    }

    /// Returns what judges work: by the paths that it changed, and those that its RED did.
    ///
    /// # Errors
    /// git refused.
    pub fn of_work(
        &self,
        repository: &Repository,
        base: &CommitId,
        tree: &TreeId,
        red: Option<&RedCommit>,
    ) -> Result<Option<TestCommand>, Error> {
        if self.is_empty() {
            return Ok(self.elsewhere.clone());
        }
        let mut changed = repository.changed_between(base, tree)?;
        if let Some(red) = red {
            changed.extend(repository.changed_between(&red.base, &red.commit)?);
        }
        Ok(self.of_paths(&changed))
    }

    /// Returns what judges a merge: by the paths that either side changed since they parted.
    ///
    /// # Errors
    /// git refused.
    pub fn of_merge(
        &self,
        repository: &Repository,
        head: &CommitId,
        commit: &CommitId,
    ) -> Result<Option<TestCommand>, Error> {
        if self.is_empty() {
            return Ok(self.elsewhere.clone());
        }
        let Some(parted) = repository.merge_base(head, commit)? else {
            return Ok(self.all());
        };
        let mut changed = repository.changed_between(&parted, head)?;
        changed.extend(repository.changed_between(&parted, commit)?);
        Ok(self.of_paths(&changed))
    }

    /// Returns lines for people and agents that say which command is for which files; none without parts.
    pub fn lines(&self) -> Vec<String> {
        let line = |part: &Part| format!("{}: {}", part.patterns.join(", "), part.command);
        let elsewhere = self.elsewhere.iter().filter(|_| !self.is_empty());
        let elsewhere = elsewhere.map(|command| format!("all else: {command}"));
        self.parts.iter().map(line).chain(elsewhere).collect()
    }
}

/// A pattern without a folder in it is one of the top as well: `api` is the folder there, and no file of that name below.
fn from_top(patterns: &[String]) -> Vec<String> {
    patterns
        .iter()
        .map(|pattern| format!("/{}", pattern.trim_start_matches('/')))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(elsewhere: Option<&str>) -> Parts {
        let defaults = tm_config::load(&tm_config::Inputs::default());
        let mut settings = defaults.expect("the settings that are built in").settings;
        settings.test.command =
            elsewhere.map(|line| tm_config::CommandLine::Shell(line.to_owned()));
        settings.test.parts = [
            (&["a/", "shared"][..], "test a"),
            (&["b/**", "shared"], "test b"),
        ]
        .map(|(paths, command)| tm_config::TestPart {
            paths: paths.iter().map(ToString::to_string).collect(),
            command: tm_config::CommandLine::Shell(command.to_owned()),
        })
        .to_vec();
        Parts::of(&settings, Path::new("/nowhere")).expect("parts")
    }

    #[test]
    fn work_is_judged_by_the_parts_that_it_touches_and_by_the_rest_where_it_lies_in_none() {
        for (changed, with_rest, without) in [
            (&["a/src/x.js"][..], "test a", "test a"),
            (&["b/x"], "test b", "test b"),
            (
                &["b/x", "a/x"],
                "(test a) && (test b)",
                "(test a) && (test b)",
            ),
            (
                &["shared/x"],
                "(test a) && (test b)",
                "(test a) && (test b)",
            ),
            (&["lib/shared/x"], "make", ""),
            (&["README.md"], "make", ""),
            (&["README.md", "a/x"], "(test a) && (make)", "test a"),
            (&["ab/x"], "make", ""),
            (&[], "make", ""),
        ] {
            let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
            let words = |parts: &Parts| {
                parts
                    .of_paths(&changed)
                    .map(|found| found.to_string())
                    .unwrap_or_default()
            };
            assert_eq!(words(&parts(Some("make"))), with_rest, "{changed:?}");
            assert_eq!(words(&parts(None)), without, "{changed:?}");
        }
    }
}
