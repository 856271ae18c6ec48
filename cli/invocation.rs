//! The command line as a whole: which command it names, and whether that is the user's alone.
//!
//! What steers a run, lands work or changes a backlog is refused to the agents of waves on that repository. Everything
//! else is open to them, and everything in other repositories.

use crate::commands::{Arguments, source_of};
use crate::environment::folder_in;
use crate::failure::Result;
use clap::{Arg, ArgMatches, ColorChoice, Command, CommandFactory as _, FromArgMatches as _};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tm_runtime::callers::refuse_to_agents;

/// Groups of commands that agents may use too, whatever is added to them.
const OPEN_GROUPS: [&str; 4] = ["agents", "autopilot", "mcp", "presets"];
/// Commands that agents may use too; any that is not here is the user's alone.
const OPEN: [&str; 39] = [
    "acp-agent",
    "audit",
    "completions",
    "config schema",
    "config show",
    "demo",
    "doctor",
    "init",
    "list",
    "loop list",
    "loop status",
    "loop watch",
    "man",
    "next",
    "replay",
    "result",
    "review",
    "show",
    "tags",
    "tags list",
    "tasks check",
    "tasks convert",
    "tasks stats",
    "tdd pair",
    "validate-dependencies",
    "verify",
    "waves list",
    "waves logs",
    "waves metrics",
    "waves plan",
    "waves report",
    "waves status",
    "waves watch",
    "worktrees diff",
    "worktrees list",
    "worktrees log",
    "worktrees open",
    "worktrees salvage",
    "worktrees show",
];

/// A command as it was called.
pub(crate) struct Invocation {
    /// Its name, such as `waves run`.
    name: String,
    /// What was given to it.
    given: ArgMatches,
}

impl Invocation {
    /// Reads the command line of this process.
    ///
    /// # Errors
    /// It makes no sense, or asks for help.
    pub(crate) fn read() -> clap::error::Result<(Arguments, Self)> {
        let command = Arguments::command().color(asked_for(std::env::args_os()));
        let mut command = with_values_below_zero(command);
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        let arguments =
            Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        Ok((arguments, Self::of(matches)))
    }

    fn of(mut given: ArgMatches) -> Self {
        let mut words = Vec::new();
        while let Some((word, below)) = given.remove_subcommand() {
            words.push(word);
            given = below;
        }
        let name = words.join(" ");
        Self { name, given }
    }

    /// How often `-v` was given.
    pub(crate) fn verbosity(&self) -> u8 {
        self.given
            .try_get_one("verbose")
            .ok()
            .flatten()
            .copied()
            .unwrap_or(0)
    }

    /// Refuses what an agent of waves must not do.
    pub(crate) fn refuse_agents(&self, start: &Path) -> Result<()> {
        let Some(name) = self.of_user() else {
            return Ok(());
        };
        Ok(refuse_to_agents(&name, || self.folders(start))?)
    }

    /// What the command is called, where it is the user's alone.
    fn of_user(&self) -> Option<String> {
        let is_given = |flag| self.given.try_get_one(flag).ok().flatten() == Some(&true);
        let (name, group) = (self.name.as_str(), self.name.split(' ').next()?);
        match name {
            "next" if is_given("claim") => Some("tm next --claim".to_owned()),
            "tdd pair" if is_given("write") => Some("tm tdd pair --write".to_owned()),
            "review" if !is_given("json") => Some("tm review".to_owned()),
            "detached-run" => Some("waves_run".to_owned()),
            _ if OPEN.contains(&name) || OPEN_GROUPS.contains(&group) => None,
            _ if group == "tags" => Some("tm tags".to_owned()),
            _ => Some(format!("tm {name}")),
        }
    }

    /// Where the command works, and where the backlog lies that it changes, with links followed.
    fn folders(&self, start: &Path) -> Vec<PathBuf> {
        let path = |flag| self.given.try_get_one::<PathBuf>(flag).ok().flatten();
        let start = folder_in(start, path("project").map(PathBuf::as_path));
        let named = path("backlog").or_else(|| path("file"));
        let backlog = folder_of_backlog(&start, named.map(PathBuf::as_path));
        std::iter::once(start).chain(backlog).collect()
    }
}

/// Has a number below zero taken for the value that it is, so that what refuses it can say what is expected.
fn with_values_below_zero(command: Command) -> Command {
    let takes_it = |argument: Arg| {
        let has_values = argument.get_action().takes_values();
        argument.allow_negative_numbers(has_values)
    };
    command
        .mut_args(takes_it)
        .mut_subcommands(with_values_below_zero)
}

/// When clap shows colours in what it says itself, before it knows what the words mean.
fn asked_for(words: impl Iterator<Item = OsString>) -> ColorChoice {
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let joined = words
        .take_while(|word| word != "--")
        .collect::<Vec<_>>()
        .join("=");
    let chosen = joined.split("=--color=").nth(1).unwrap_or_default();
    let chosen = chosen.split('=').next().and_then(|word| word.parse().ok());
    chosen.unwrap_or(ColorChoice::Auto)
}

fn folder_of_backlog(start: &Path, named: Option<&Path>) -> Option<PathBuf> {
    let path = source_of(start, named).ok()?.path().canonicalize().ok()?;
    Some(path.parent()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that does something, as it is called.
    fn names(command: &Command, before: &str) -> Vec<String> {
        let below = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help");
        let below = below.flat_map(|below| names(below, &format!("{before} {}", below.get_name())));
        let is_called = !command.is_subcommand_required_set() && !before.is_empty();
        let own = is_called.then(|| before.trim().to_owned());
        own.into_iter().chain(below).collect()
    }

    /// A new command is here until somebody says that agents may use it too.
    #[test]
    fn whatever_steers_lands_or_changes_a_backlog_is_the_users_alone() {
        let of_user = |name: &String| {
            let invocation = Invocation {
                name: name.clone(),
                given: ArgMatches::default(),
            };
            invocation.of_user().is_some_and(|_| name != "review")
        };
        let all = names(&Arguments::command(), "");
        for open in OPEN {
            assert!(all.iter().any(|name| name == open), "{open} is not there");
        }
        let of_user: Vec<String> = all.into_iter().filter(of_user).collect();
        insta::assert_snapshot!(of_user.join("\n"), @"
        waves run
        waves resume
        waves land
        waves prune
        waves notes
        waves stop
        waves pause
        waves retry
        waves skip
        waves add
        set-status
        fix-dependencies
        add-task
        add-subtask
        update-task
        update-subtask
        edit
        remove-subtask
        clear-subtasks
        remove-task
        move
        generate
        add-dependency
        remove-dependency
        tags add
        tags use
        tags remove
        tags rename
        tags copy
        add-tag
        use-tag
        delete-tag
        rename-tag
        copy-tag
        tasks fix
        review approve
        review reject
        pr
        worktrees merge
        worktrees prune
        loop
        loop stop
        config set
        config unset
        node
        detached-run
        ");
    }

    #[test]
    fn colours_are_asked_for_before_the_words_are_understood() {
        let asked = |words: &[&str]| asked_for(words.iter().map(OsString::from));
        assert_eq!(
            asked(&["tm", "--color", "never", "fly"]),
            ColorChoice::Never
        );
        assert_eq!(asked(&["tm", "fly", "--color=always"]), ColorChoice::Always);
        assert_eq!(asked(&["tm", "--", "--color", "never"]), ColorChoice::Auto);
        assert_eq!(asked(&["tm", "--color", "pink"]), ColorChoice::Auto);
    }

    #[test]
    fn a_number_below_zero_is_a_value() {
        let command = with_values_below_zero(Arguments::command());
        let words = ["tm", "waves", "run", "--max-cost", "-1"];
        assert!(command.try_get_matches_from(words).is_ok());
    }

    #[test]
    fn flags_make_a_command_the_users() {
        let of_user = |words: &[&str]| {
            let words = std::iter::once(&"tm").chain(words);
            let matches = Arguments::command().try_get_matches_from(words);
            Invocation::of(matches.expect("it makes sense")).of_user()
        };
        assert_eq!(of_user(&["next"]), None);
        assert_eq!(
            of_user(&["next", "--claim"]).as_deref(),
            Some("tm next --claim")
        );
        assert_eq!(of_user(&["tdd", "pair"]), None);
        let writes = of_user(&["tdd", "pair", "--write"]);
        assert_eq!(writes.as_deref(), Some("tm tdd pair --write"));
        assert_eq!(of_user(&["review", "--json"]), None);
        assert_eq!(of_user(&["review"]).as_deref(), Some("tm review"));
        let approves = of_user(&["review", "approve", "--json", "1"]);
        assert_eq!(approves.as_deref(), Some("tm review approve"));
        assert_eq!(of_user(&["tags"]), None);
        assert_eq!(of_user(&["tags", "use", "x"]).as_deref(), Some("tm tags"));
    }
}
