//! Says, before a test command is run, how its results will be read, and what makes them readable test by test.

use super::TestCommand;
use super::asking::{Expected, ask, runners};
use super::closure::calls;
use crate::environment::CommandEnvironment;
use std::path::Path;
use tm_scheduler::{ResultFormat, words};

words! {
    /// How the results of a command will be read, in words for people.
    pub enum Reading {
        /// Test by test: its runner is known and asked, or the settings say where they are.
        PerTest = "read test by test",
        /// Test by test where what it writes is in a format that tm knows, else by the exit status.
        ByLooking = "read test by test where it can be, else exit status only",
        /// By the exit status alone.
        ExitStatusOnly = "exit status only",
    }
}

/// Returns how the results of a command will be read that is run in this folder.
pub fn expected_reading(command: &TestCommand, worktree: &Path) -> Reading {
    if command.format == ResultFormat::ExitStatus {
        return Reading::ExitStatusOnly;
    }
    if command.results.is_some() || command.format != ResultFormat::Auto {
        return Reading::PerTest;
    }
    let Ok(environment) = CommandEnvironment::fresh(&command.environment) else {
        return Reading::ByLooking;
    };
    match ask(command, worktree, &environment, Path::new("results")).expected {
        Expected::Asked(_) => Reading::PerTest,
        Expected::OneOf(_) => Reading::ByLooking,
    }
}

/// Returns what to add to a command whose results can't be read test by test.
pub fn how_to_report(command: &TestCommand, worktree: &Path) -> String {
    let calls = calls(command, worktree);
    let mut known: Vec<&str> = runners(&calls)
        .into_iter()
        .map(|(_, runner)| runner.advice)
        .collect();
    known.dedup();
    match known.as_slice() {
        [flags] => format!("{flags} has its results read test by test"),
        [] => "TAP can be, and JUnit XML in the file that `$TM_RESULTS` names (or `test.results`)".to_owned(),
        _ => "it runs several test runners: JUnit XML of all of them (`test.results: \"reports/*.xml\"`) is read test by test"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Reading, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let command = TestCommand::shell(text, None);
        (
            expected_reading(&command, folder.path()),
            how_to_report(&command, folder.path()),
        )
    }

    #[test]
    fn a_runner_anywhere_in_the_command_is_known_or_told_how_to_report() {
        for command in [
            "/x/.venv/bin/python -m pytest",
            ". .venv/bin/activate && pytest -q",
            "bash -lc 'python3 -m pytest tests'",
            "npx vitest",
            "cd a && go test ./...",
            "env A=1 npx jest",
            "cd web && npx --yes jest",
        ] {
            assert_eq!(of(command).0, Reading::PerTest, "{command}");
        }
        for (command, flags) in [
            ("vitest; echo done", "--reporter=json"),
            ("docker compose run app pytest", "TM_RESULTS"),
            ("jest && vitest", "several test runners"),
            ("./check", "TAP"),
        ] {
            let (reading, advice) = of(command);
            assert_eq!(reading, Reading::ByLooking, "{command}");
            assert!(advice.contains(flags), "{command}: {advice}");
        }
    }
}
