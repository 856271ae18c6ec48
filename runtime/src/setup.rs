//! What the settings mean to the crates that carry them out.

use std::path::Path;
use tm_config::{CommitHooks, CoverageThreshold, Settings};
use tm_executors::engine::Executor;
use tm_executors::environment::EnvironmentRules;
use tm_executors::testing::{TestCommand, detect_test_command};
use tm_scheduler::ResultFormat;
use tm_scheduler::verdict::Rules;
use tm_store::run::ProjectDirectory;
use tm_worktrees::{ContentRules, RunHooks};

/// Returns where the jobs of a project are started.
pub fn executor(project: &ProjectDirectory) -> Executor {
    Executor::local(project.under_way())
}

/// Returns the test command of the settings, or the one that is found in `root`.
pub fn test_command(settings: &Settings, root: &Path) -> Option<TestCommand> {
    let found = match &settings.test.command {
        Some(command) => of_line(command),
        None => detect_test_command(root)?.command,
    };
    Some(with_settings(found, &settings.test))
}

/// Returns the command of a line of the settings.
pub(crate) fn of_line(line: &tm_config::CommandLine) -> TestCommand {
    let argv = line.arguments().into_iter().map(Into::into).collect();
    TestCommand {
        argv,
        ..TestCommand::shell("", None)
    }
}

/// Returns a command as the settings have it run and read.
pub(crate) fn with_settings(found: TestCommand, test: &tm_config::Test) -> TestCommand {
    let format = match test.format {
        ResultFormat::Auto => found.format,
        format => format,
    };
    TestCommand {
        format,
        timeout: test.timeout,
        results: test.results.clone().or(found.results),
        environment: environment(test),
        ..found
    }
}

/// Returns how the settings have the environment of a project's commands built.
pub fn environment(test: &tm_config::Test) -> EnvironmentRules {
    let text =
        |value: &Option<tm_config::Text>| value.as_ref().map(|text| text.as_str().to_owned());
    EnvironmentRules {
        home: test.home,
        added: test
            .env
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
    }
}

/// Returns whether the settings have hooks run for commits that are those of no RED.
pub const fn run_hooks(settings: &Settings) -> RunHooks {
    match settings.git.hooks {
        CommitHooks::On | CommitHooks::Commit => RunHooks::Yes,
        CommitHooks::Off => RunHooks::No,
    }
}

/// Returns what is brought into worktrees besides the files of their trees.
pub const fn content_rules(worktree: &tm_config::Worktree) -> ContentRules {
    ContentRules {
        submodules: worktree.submodules,
        lfs: worktree.lfs,
    }
}

/// Returns what the settings ask of RED and GREEN.
pub fn rules(settings: &Settings) -> Rules {
    Rules {
        strictness: settings.tdd.strictness,
        coverage_threshold: settings
            .tdd
            .coverage_threshold
            .map(CoverageThreshold::percent),
        canary: settings.tdd.canary,
    }
}
