//! Looks before agents are paid: what a checkout of the base needs, its set-up, the checks, then the tests, once. Each check
//! has a name, what it found, and the setting to change.
//!
//! What is measured here is known to the run that follows, as the baseline of its proofs, since it was measured by this
//! process. Nothing of it is believed by a later one: not for proofs, which anybody could forge who can write a file, and
//! not to leave this look out, since what it looks for (a program that is gone, a service that is down) is neither in the
//! tree nor in the command.

use crate::checkouts::NotReady;
use crate::checkouts::preparation::SetupFailed;
use crate::hooks::{HookRules, HookTrouble};
use crate::{StepError, TestResultCache, briefly};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Instant;
use tm_executors::engine::Holding;
use tm_executors::testing::{TestCommand, how_to_report};
use tm_scheduler::preflight::{BaseMeasured, Preflight, Problem, has_failing_tests, judge_base};
use tm_scheduler::{CommitId, TestReport, milliseconds, quoted};
use tm_worktrees::{
    Error, HookedCommit, HookedWork, JudgeCheckout, PathPatterns, Repository, TreeId,
};

/// What becomes of a run whose base can't be tested.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub enum BrokenBase {
    /// It is not begun.
    #[default]
    Refused,
    /// It goes on, and says so.
    Allowed,
}

impl BrokenBase {
    /// As `--allow-broken-base` says.
    #[must_use]
    pub const fn allowed_if(is_allowed: bool) -> Self {
        if is_allowed {
            Self::Allowed
        } else {
            Self::Refused
        }
    }

    /// Notes in what was seen whether the run goes on in spite of it.
    #[must_use]
    pub fn noted(self, preflight: Preflight) -> Preflight {
        Preflight {
            is_overridden: !preflight.is_good() && self == Self::Allowed,
            ..preflight
        }
    }

    /// Refuses what could prove nothing, unless that is allowed.
    ///
    /// # Errors
    /// It is not.
    pub fn decided(self, preflight: Preflight) -> Result<Preflight, BrokenTests> {
        if preflight.is_good() || self == Self::Allowed {
            Ok(preflight)
        } else {
            Err(BrokenTests(preflight.problems))
        }
    }
}

/// Why nothing could be proven on a base: what was found, with the last lines of what was printed.
#[derive(Debug)]
pub struct BrokenTests(pub Vec<Problem>);

impl fmt::Display for BrokenTests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.0 {
            write!(formatter, "\n  {}: {}", problem.check, problem.what)?;
            for line in &problem.last_lines {
                write!(formatter, "\n    {line}")?;
            }
        }
        Ok(())
    }
}

impl BrokenTests {
    /// Returns the settings to change, each once.
    #[must_use]
    pub fn what_to_change(&self) -> String {
        let mut hints: Vec<&str> = self.0.iter().map(|problem| problem.hint.as_str()).collect();
        hints.dedup();
        hints.join("; ")
    }
}

/// Looks at a base, and runs these test commands there; raw output goes into `scratch`.
///
/// # Errors
/// git or the disk refused: nothing is known of the base then.
pub async fn look_first(
    base: &CommitId,
    commands: &[TestCommand],
    result_cache: &TestResultCache,
    scratch: &Path,
) -> Result<Preflight, StepError> {
    let repository = result_cache.repository();
    let tree = briefly(|| repository.tree_of(base))?;
    let held = result_cache.holding();
    let mut preflight = Preflight {
        problems: briefly(|| filters(repository, &tree))?,
        sandbox: held.map(Holding::describe),
        ..Preflight::default()
    };
    let not_to_be_had = held.filter(|holding| holding.level.is_none());
    preflight.problems.extend(not_to_be_had.map(of_sandbox));
    if !preflight.is_good() {
        // A checkout without the filters that it needs is not that of the tree.
        return Ok(cleaned(preflight));
    }
    let begun = Instant::now();
    let judged = (result_cache.checkouts()).judge(base, result_cache.turn());
    let checkout = match judged.await {
        Ok(checkout) => checkout,
        Err(NotReady::Setup(failed)) => {
            preflight.problems.push(of_setup(&failed));
            return Ok(cleaned(preflight));
        }
        Err(other) => {
            let error = StepError::from(other);
            if !error.to_string().contains(SMUDGE_FAILED) {
                return Err(error);
            }
            let what = error.to_string();
            (preflight.problems).push(problem("filters", what, FILTERS_ARE_HELD));
            return Ok(cleaned(preflight));
        }
    };
    preflight.setup_ms = result_cache
        .checkouts()
        .has_setup()
        .then(|| milliseconds(begun.elapsed()));
    preflight.problems = briefly(|| submodules(repository, &tree, checkout.path()))?;
    let failing = briefly(|| failing_filters(repository, &tree, &checkout))?;
    preflight.problems.extend(failing);
    let how_to_report = |command: &TestCommand| how_to_report(command, checkout.path());
    let advice: Vec<String> = commands.iter().map(how_to_report).collect();
    let hidden_folder = hidden_folder(checkout.path());
    drop(checkout);
    let paths = briefly(|| repository.paths(&tree))?;
    let paths: Vec<String> = paths.into_iter().collect();
    for (command, advice) in commands.iter().zip(advice) {
        let begun = Instant::now();
        let log = (scratch, "base-again");
        let (report, again) = measured(base, command, result_cache, log).await?;
        let (mut seen, problem) = judge_base(BaseMeasured {
            command: &command.to_string(),
            report: &report,
            again: again.as_ref(),
            paths: &paths,
            advice: Some(advice),
            hidden_folder: hidden_folder.clone(),
        });
        seen.took_ms = milliseconds(begun.elapsed());
        preflight.bases.push(seen);
        preflight.problems.extend(problem);
    }
    Ok(cleaned(preflight))
}

/// Runs the hooks of a commit that changes nothing, with this message, in a checkout of the base that nobody keeps; returns
/// why one refuses it.
///
/// # Errors
/// git or the disk refused, or the checkout can't be made ready.
pub async fn try_hooks(
    base: &CommitId,
    message: &str,
    rules: HookRules,
    result_cache: &TestResultCache,
) -> Result<Option<String>, StepError> {
    let tree = &briefly(|| result_cache.repository().tree_of(base))?;
    let on_base = HookedCommit {
        work: HookedWork::Commit,
        branch: None,
        on: base,
        merged: None,
        tree,
        message,
        never_commit: &PathPatterns::default(),
    };
    let scratch = result_cache.scratch().to_owned();
    std::fs::create_dir_all(&scratch)?;
    let tried = result_cache.with_hooks(base, (rules, &scratch), |checkout, runner| match checkout
        .run_hooks(&on_base, &mut |call| runner.run(call))
    {
        Ok(_not_committed) => Ok(None),
        Err(HookTrouble::Git(Error::HookRefused { hook, why, .. })) => {
            let why = tm_untrusted::clean(&why);
            Ok(Some(format!("`{hook}` refuses a commit: {why}")))
        }
        Err(other) => Err(other.into()),
    });
    tried.await
}

/// The results of a command on a base, and once more where tests fail.
async fn measured(
    base: &CommitId,
    command: &TestCommand,
    result_cache: &TestResultCache,
    log: (&Path, &str),
) -> Result<(TestReport, Option<TestReport>), StepError> {
    let report = result_cache.at(base, command).await;
    let mut again = None;
    if has_failing_tests(&report) {
        again = Some(result_cache.measure(base, command, log).await?);
    }
    Ok((report, again))
}

/// The folder of a path whose name begins with a dot.
fn hidden_folder(path: &Path) -> Option<String> {
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    let hidden = path
        .ancestors()
        .filter(|folder| folder.file_name().is_some_and(is_hidden));
    Some(hidden.last()?.display().to_string())
}

fn problem(check: &str, what: String, hint: &str) -> Problem {
    Problem {
        check: check.to_owned(),
        what,
        last_lines: Vec::new(),
        hint: hint.to_owned(),
    }
}

/// What is said where nothing runs tests.
pub fn no_test_command() -> Problem {
    let what = "there is no test command, and none was found".to_owned();
    let hint = "set `test.command` in .taskmaster/tm.yaml, or pass `--test-command`";
    problem("tests", what, hint)
}

fn of_setup(failed: &SetupFailed) -> Problem {
    let hint = format!(
        "`worktree.setup` in .taskmaster/tm.yaml is that command; all that it printed is in `{}`",
        failed.log.display()
    );
    Problem {
        last_lines: failed.last_lines.clone(),
        ..problem(
            "set-up",
            format!("`{}` {}", failed.command, failed.end),
            &hint,
        )
    }
}

/// Nothing is started that is not held where that was asked for.
fn of_sandbox(holding: &Holding) -> Problem {
    Problem {
        check: "sandbox".to_owned(),
        what: holding.describe(),
        last_lines: Vec::new(),
        hint: "`sandbox.level: auto` in .taskmaster/tm.yaml (`--sandbox auto`) takes what works, and nothing where nothing does unless `sandbox.agents.network` is `api`"
            .to_owned(),
    }
}

/// What tests and programs print has no orders to a terminal and no secrets in it.
fn cleaned(mut preflight: Preflight) -> Preflight {
    for problem in &mut preflight.problems {
        let texts = problem.last_lines.iter_mut().chain([&mut problem.what]);
        texts.for_each(|text| *text = tm_untrusted::clean(text));
    }
    preflight
}

/// Filters that git would call and can't, so that files are not what they stand for: pointers of LFS, for example.
fn filters(repository: &Repository, tree: &TreeId) -> Result<Vec<Problem>, Error> {
    let needs = repository.filters(tree)?.into_iter();
    let problems = needs.filter_map(|need| {
        let missing = missing(need.command.as_deref())?;
        let name = need.name;
        let what = format!("`{}` has the filter `{name}`, and {missing}", need.file);
        let hint = if name == "lfs" {
            "install git-lfs, then `git lfs install` and `git lfs pull`; `worktree.lfs: off` leaves its pointers"
        } else {
            &format!("set `filter.{name}.clean` and `filter.{name}.smudge` with `git config`")
        };
        Some(problem("filters", what, hint))
    });
    let extensions = repository.lacks_lfs_extensions(tree)?.then(|| {
        let what = "`lfs.extension` is set, and the commands that it names would run what agents wrote, held by nobody";
        problem("filters", what.to_owned(), "`worktree.lfs: off` leaves the pointers of LFS, and then nothing of it is run; else unset `lfs.extension` here")
    });
    Ok(problems.chain(extensions).collect())
}

/// Filters that fail for a file of the base as it is: each attempt would, and only after its agent was paid.
fn failing_filters(
    repository: &Repository,
    tree: &TreeId,
    checkout: &JudgeCheckout,
) -> Result<Vec<Problem>, Error> {
    let mut problems = Vec::new();
    for need in repository.filters(tree)? {
        if let Err(error) = checkout.try_filter(&need.file) {
            let (name, file) = (need.name, need.file);
            let what = format!("the filter `{name}` fails for `{file}`: {error}");
            problems.push(problem("filters", what, FILTERS_ARE_HELD));
        }
    }
    Ok(problems)
}

/// By these words git says that a filter could not write a file.
const SMUDGE_FAILED: &str = "smudge filter";
/// What a filter that works in the user's own shell may lack.
const FILTERS_ARE_HELD: &str = "filters are held as tests are: `sandbox.read` in .taskmaster/tm.yaml gives them files of yours, \
    `test.env` variables, `sandbox.tests.network: on` the network";

/// What a filter with this command lacks.
fn missing(command: Option<&str>) -> Option<String> {
    let Some(program) = command.and_then(|command| command.split_whitespace().next()) else {
        return Some("git knows no such filter here".to_owned());
    };
    // A program that is given its place, or its name in quotes, is not looked for.
    let is_named = !program.contains(['"', '\'', '/', '$']);
    (is_named && which::which(program).is_err()).then(|| format!("`{program}` is not there"))
}

/// Repositories within the repository of which a checkout has an empty folder.
fn submodules(
    repository: &Repository,
    tree: &TreeId,
    folder: &Path,
) -> Result<Vec<Problem>, Error> {
    if !repository.brings_submodules() {
        return Ok(Vec::new());
    }
    let nested = repository.nested_repositories(tree)?;
    let is_empty = |path: &String| {
        std::fs::read_dir(folder.join(path)).map_or(true, |mut entries| entries.next().is_none())
    };
    let empty = quoted(nested.into_iter().filter(is_empty));
    if empty.is_empty() {
        return Ok(Vec::new());
    }
    let hint = "`worktree.submodules: auto` in .taskmaster/tm.yaml fills them from your own checkout; `git submodule update \
                --init` brings there what is missing";
    Ok(vec![problem(
        "submodules",
        format!("nothing is in {empty}"),
        hint,
    )])
}
