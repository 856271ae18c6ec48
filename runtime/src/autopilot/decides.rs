//! What decides on a run: the settings by which its work is judged, and the command of its tests, as they were when it began.
//!
//! Whoever drives a run can write the checkout, in which settings and the backlog are, and each call is a process of its own
//! that reads them anew. A run is judged by what its user began it with, or not at all: the note of its beginning has it.

use super::error::Error;
use super::note::Decides;
use super::project::Project;
use tm_executors::testing::TestCommand;
use tm_scheduler::Task;
use tm_store::run::digest;

/// The settings by which work is made, judged and committed, what holds the programs that do so, and where they run.
const SETTINGS: [&str; 8] = [
    "autopilot",
    "git",
    "sandbox",
    "secrets",
    "storage",
    "tdd",
    "test",
    "worktree",
];
/// The command of the tests, which may be found by files, or be the task's own.
const COMMAND: &str = "the command of the tests";

/// What decides on a run, read once: whoever goes by the command goes by the one that was compared.
pub(super) struct Deciding {
    /// The digest of each.
    pub(super) digests: Decides,
    /// The command of the tests.
    pub(super) command: Option<TestCommand>,
}

/// Reads what decides on a run of a task by now.
pub(super) fn what_decides(project: &Project, task: &Task) -> Deciding {
    let settings =
        serde_json::to_value(&project.settings).expect("settings are read from such text");
    let of_settings = SETTINGS.map(|name| (name.to_owned(), digest(settings[name].to_string())));
    let command = project.test_command(Some(task));
    let of_command = command.iter();
    let of_command = of_command.map(|command| (COMMAND.to_owned(), digest(format!("{command:?}"))));
    Deciding {
        digests: of_settings.into_iter().chain(of_command).collect(),
        command,
    }
}

/// Refuses to go on with a run on which something else decides than when it began.
pub(super) fn assert_as_begun(began: &Decides, now: &Decides) -> Result<(), Error> {
    let is_other = |(name, digest): &(&String, &String)| now.get(*name) != Some(*digest);
    let other = began.iter().filter(is_other).map(|(name, _)| name.clone());
    let other: Vec<String> = other.collect();
    if other.is_empty() {
        return Ok(());
    }
    Err(Error::DecidedOtherwise(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_is_among_the_settings() {
        let settings = tm_config::load(&tm_config::Inputs::default())
            .expect("defaults")
            .settings;
        let settings = serde_json::to_value(settings).expect("a text");
        for name in SETTINGS {
            assert!(settings[name].is_object(), "{name}");
        }
    }
}
