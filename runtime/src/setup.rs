//! What the settings mean to the crates that carry them out.

use std::path::Path;
use tm_config::{CommitHooks, CoverageThreshold, Settings, Strictness as Strict, TestHome};
use tm_executors::engine::Executor;
use tm_executors::environment::{EnvironmentRules, Home};
use tm_executors::testing::{ResultFormat, TestCommand, UnknownFormat, detect_test_command};
use tm_scheduler::verdict::{Canary, Rules, Strictness};
use tm_store::run::ProjectDirectory;
use tm_worktrees::{Bring, ContentRules, RunHooks};

/// Returns where the jobs of a project are started.
pub fn executor(project: &ProjectDirectory) -> Executor {
    Executor::local(project.under_way())
}

/// Returns the test command of the settings, or the one that is found in `root`.
///
/// # Errors
/// There is no such format of results.
pub fn test_command(settings: &Settings, root: &Path) -> Result<Option<TestCommand>, UnknownFormat> {
    let found = match &settings.test.command {
        Some(command) => Some(of_line(command)),
        None => detect_test_command(root).map(|found| found.command),
    };
    found.map(|found| with_settings(found, &settings.test)).transpose()
}

/// Returns the command of a line of the settings.
pub(crate) fn of_line(line: &tm_config::CommandLine) -> TestCommand {
    let argv = line.arguments().into_iter().map(Into::into).collect();
    TestCommand { argv, ..TestCommand::shell("", None) }
}

/// Returns a command as the settings have it run and read.
pub(crate) fn with_settings(found: TestCommand, test: &tm_config::Test) -> Result<TestCommand, UnknownFormat> {
    let format: ResultFormat = test.format.as_str().parse()?;
    Ok(TestCommand {
        format: if format == ResultFormat::Auto { found.format } else { format },
        timeout: test.timeout,
        results: test.results.clone().or(found.results.clone()),
        environment: environment(test),
        ..found
    })
}

/// Returns how the settings have the environment of a project's commands built.
pub fn environment(test: &tm_config::Test) -> EnvironmentRules {
    let text = |value: &Option<tm_config::Text>| value.as_ref().map(|text| text.as_str().to_owned());
    EnvironmentRules {
        home: match test.home {
            TestHome::Private => Home::Private,
            TestHome::User => Home::User,
        },
        added: test.env.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
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
    const fn bring(setting: tm_config::Bring) -> Bring {
        match setting {
            tm_config::Bring::Auto => Bring::Auto,
            tm_config::Bring::On => Bring::On,
            tm_config::Bring::Off => Bring::Off,
        }
    }
    ContentRules { submodules: bring(worktree.submodules), lfs: bring(worktree.lfs) }
}

/// Returns what the settings ask of RED and GREEN.
pub fn rules(settings: &Settings) -> Rules {
    Rules {
        strictness: match settings.tdd.strictness {
            Strict::Strict => Strictness::Strict,
            Strict::Normal => Strictness::Normal,
            Strict::Relaxed => Strictness::Relaxed,
        },
        coverage_threshold: settings.tdd.coverage_threshold.map(CoverageThreshold::percent),
        canary: match settings.tdd.canary {
            tm_config::Canary::On => Canary::On,
            tm_config::Canary::Off => Canary::Off,
        },
    }
}
