//! What the settings mean to the crates that carry them out, and where tm keeps what runs leave behind: the settings,
//! `TM_HOME` and the user's home folder decide.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_config::{CommitHooks, CoverageThreshold, RunsOn, Settings, Storage, StorageLocation};
use tm_executors::agent::AttemptLimits;
use tm_executors::environment::EnvironmentRules;
use tm_executors::testing::{TestCommand, detect_test_command};
use tm_scheduler::ResultFormat;
use tm_scheduler::verdict::Rules;
use tm_store::backlog::BacklogSource;
use tm_store::run::Home;
use tm_worktrees::{ContentRules, PathPatterns, Repository, RunHooks, SETTINGS_OF_TM};

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
    let text = |value: &tm_config::Text| value.as_str().to_owned();
    let added = test.env.iter();
    EnvironmentRules {
        home: test.home,
        added: added
            .map(|(name, value)| (name.clone(), value.as_ref().map(text)))
            .collect(),
    }
}

/// Returns how many set-ups and tests run at the same time: as many as the settings say, else one a processor; on other
/// machines as many as agents.
pub fn tests_at_once(settings: &Settings) -> NonZeroU32 {
    let by_processors = || match settings.waves.on {
        RunsOn::Local => {
            let processors = std::thread::available_parallelism().ok();
            processors.and_then(|count| NonZeroU32::try_from(count).ok())
        }
        RunsOn::Slurm | RunsOn::Kubernetes => Some(settings.waves.max_parallel),
    };
    let places = settings.test.parallel.or_else(by_processors);
    places.unwrap_or(NonZeroU32::MIN)
}

/// Returns what an agent may use that has so much time.
pub fn attempt_limits(agent: &tm_config::Agent, timeout: Duration) -> AttemptLimits {
    AttemptLimits {
        timeout,
        stall: agent.stall,
        grace: agent.grace,
        log_bytes: agent.max_log_bytes(),
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

/// Returns what no work of anybody's commits: the patterns of the settings, the files of the backlog, and the settings
/// themselves, since by what work is judged is nobody's work.
///
/// # Errors
/// A pattern can't be read.
pub fn never_commit(
    settings: &Settings,
    backlog: Option<&BacklogSource>,
    root: &Path,
) -> Result<PathPatterns, tm_worktrees::Error> {
    let mut files = SETTINGS_OF_TM.map(PathBuf::from).to_vec();
    files.extend(
        backlog
            .into_iter()
            .flat_map(|backlog| backlog.files_below(root)),
    );
    PathPatterns::with_files(&settings.git.never_commit, &files)
}

/// Returns the folder for a repository: `.taskmaster` of its main checkout with `storage.location: project`, else
/// `TM_HOME`, else `storage.base_path`, else `~/.taskmaster`; `None` where that needs a home folder and there is none.
pub fn home(storage: &Storage, repository: &Repository, tm_home: Option<&Path>) -> Option<Home> {
    home_of_checkout(
        storage,
        repository.common_dir(),
        repository.checkout_root(),
        tm_home,
    )
}

/// Returns the same for a checkout of a repository, given the folder that all its worktrees share.
pub fn home_of_checkout(
    storage: &Storage,
    common_dir: &Path,
    checkout_root: &Path,
    tm_home: Option<&Path>,
) -> Option<Home> {
    let user_home = std::env::home_dir();
    let main = main_checkout(common_dir, checkout_root);
    place(storage, main, tm_home, user_home.as_deref()).map(Home::new)
}

/// Returns the folder that the user alone names, whatever a checkout says: `TM_HOME`, else `storage.base_path` of the
/// user's own settings where that is a whole path, else `~/.taskmaster`.
pub(crate) fn home_of_user(of_user: &Storage, tm_home: Option<&Path>) -> Option<Home> {
    let is_whole = |path: &String| Path::new(path).is_absolute() || path.starts_with('~');
    let storage = Storage {
        location: StorageLocation::Global,
        base_path: of_user.base_path.clone().filter(is_whole),
    };
    let user_home = std::env::home_dir();
    place(&storage, Path::new("/"), tm_home, user_home.as_deref()).map(Home::new)
}

/// Returns the `TM_HOME` of this process.
pub(crate) fn tm_home() -> Option<PathBuf> {
    variable("TM_HOME").map(PathBuf::from)
}

/// Returns a variable of this process that is not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn place(
    storage: &Storage,
    main: &Path,
    tm_home: Option<&Path>,
    user_home: Option<&Path>,
) -> Option<PathBuf> {
    if storage.location == StorageLocation::Project {
        return Some(main.join(".taskmaster"));
    }
    if let Some(home) = tm_home {
        return Some(home.to_owned());
    }
    Some(match storage.base_path.as_deref() {
        None => user_home?.join(".taskmaster"),
        Some("~") => user_home?.to_owned(),
        Some(path) => match path.strip_prefix("~/") {
            Some(rest) => user_home?.join(rest),
            None => main.join(path),
        },
    })
}

/// All worktrees of a repository share one place: that of its main checkout.
fn main_checkout<'p>(common_dir: &'p Path, checkout_root: &'p Path) -> &'p Path {
    let main = common_dir.parent();
    main.filter(|_| common_dir.ends_with(".git"))
        .unwrap_or(checkout_root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use StorageLocation::{Global, Project};

    #[test]
    fn the_home_of_the_user_is_in_no_checkout() {
        let path = |location, base: Option<&str>, tm: Option<&str>| {
            let storage = Storage {
                location,
                base_path: base.map(ToOwned::to_owned),
            };
            let home = home_of_user(&storage, tm.map(Path::new)).expect("a home");
            home.path().to_owned()
        };
        let own = std::env::home_dir().expect("a folder");
        assert_eq!(path(Project, None, Some("/t")), Path::new("/t"));
        assert_eq!(path(Project, Some("/b"), None), Path::new("/b"));
        assert_eq!(path(Global, Some("~/b"), None), own.join("b"));
        for base in [None, Some("b"), Some("../b")] {
            assert_eq!(path(Global, base, None), own.join(".taskmaster"));
        }
    }

    #[test]
    fn settings_environment_and_home_folder_decide_in_this_order() {
        let path = |location, base: Option<&str>, tm: Option<&str>, user: Option<&str>| {
            let storage = Storage {
                location,
                base_path: base.map(ToOwned::to_owned),
            };
            place(
                &storage,
                Path::new("/p"),
                tm.map(Path::new),
                user.map(Path::new),
            )
        };
        assert_eq!(
            path(Project, Some("/x"), Some("/tm"), Some("/u")),
            Some("/p/.taskmaster".into())
        );
        assert_eq!(
            path(Global, Some("/x"), Some("/tm"), Some("/u")),
            Some("/tm".into())
        );
        assert_eq!(path(Global, Some("/x"), None, None), Some("/x".into()));
        assert_eq!(
            path(Global, Some("~/runs"), None, Some("/u")),
            Some("/u/runs".into())
        );
        assert_eq!(path(Global, Some("~"), None, Some("/u")), Some("/u".into()));
        assert_eq!(
            path(Global, Some("runs"), None, None),
            Some("/p/runs".into())
        );
        assert_eq!(
            path(Global, None, None, Some("/u")),
            Some("/u/.taskmaster".into())
        );
        assert_eq!(path(Global, None, None, None), None);
    }
}
