//! `tm audit`: shows again, from the history alone, what runs proved.

use super::setup::{checkouts, close, parts};
use super::verify::overrides;
use crate::arguments::AuditArguments;
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use crate::project::Project;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use tm_reports::{audit_junit, audit_text, cleaned_audit};
use tm_runtime::audit::{AuditOrder, AuditTests, audit as look_through};
use tm_runtime::{Measurements, replay, rules};
use tm_scheduler::{CommitId, RunId, TAKEN_BACK_PHASE};
use tm_worktrees::{PastCommit, WorktreePool};

/// Exit code when something can't be shown again.
const NOT_SHOWN: u8 = 3;
/// What to type where it is not clear what to look at.
const NAME_A_RANGE: &str =
    "`tm audit FROM..TO` names a range, as `tm audit origin/main..HEAD`; `tm waves list` lists runs";

/// What is looked at.
struct Range {
    from: CommitId,
    to: CommitId,
}

pub(crate) fn audit(start: &Path, arguments: &AuditArguments) -> Result<u8, CommandFailure> {
    tm_worktrees::check_git()?;
    let project = Project::open(start, overrides(arguments.test_command.as_ref(), arguments.strictness))?;
    if project.repository.is_shallow()? {
        let failure = CommandFailure::new("audit a clone that has only a part of its history");
        return Err(failure.hint("`git fetch --unshallow`; in CI, check the whole history out (`fetch-depth: 0`)"));
    }
    let range = range(&project, arguments.range.as_deref())?;
    let worktrees = project.directory.worktrees_folder().join(format!("audit-{}", std::process::id()));
    let pool = WorktreePool::open(&project.repository, &worktrees)?;
    let scratch = tempfile::tempdir()?;
    let executor = tm_runtime::executor(&project.directory);
    let checkouts = checkouts(&project, pool, range.from.clone(), scratch.path())?;
    let measurements = Arc::new(Measurements::new(checkouts, scratch.path().join("baselines"), executor));
    let order = AuditOrder {
        from: range.from,
        to: range.to,
        command: parts(&project)?.all(),
        rules: rules(&project.loaded.settings),
        tests: arguments.sample.map_or(AuditTests::All, |most| AuditTests::Sample(most.get())),
        parallel: parallel(&project, arguments.max_parallel),
        scratch: scratch.path().to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let audit = runtime.block_on(look_through(&order, &measurements));
    close(&measurements)?;
    let audit = audit.map_err(|why| CommandFailure::new(format!("audit the history: {why}")))?;
    let audit = cleaned_audit(audit);
    if let Some(path) = &arguments.junit {
        tm_store::atomic::replace(&start.join(path), audit_junit(&audit).as_bytes())
            .map_err(|error| CommandFailure::new(format!("write `{}`: {error}", path.display())))?;
    }
    if arguments.json {
        let mut document = serde_json::to_value(&audit)?;
        document["holds"] = json!(audit.holds());
        print_data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else {
        print_data(&audit_text(&audit));
    }
    if audit.holds() {
        return Ok(0);
    }
    print_line("not everything can be shown again");
    Ok(NOT_SHOWN)
}

/// How many tasks are judged at the same time: as many as agents work.
pub(super) fn parallel(project: &Project, asked: Option<NonZeroUsize>) -> usize {
    let of_settings = usize::try_from(project.loaded.settings.waves.max_parallel.get()).unwrap_or(1);
    asked.map_or(of_settings, NonZeroUsize::get)
}

fn range(project: &Project, named: Option<&str>) -> Result<Range, CommandFailure> {
    match named {
        Some(range) => match range.split_once("..") {
            Some((_, to)) if to.starts_with('.') => Err(usage("audit a range with three dots")),
            Some((from, to)) => Ok(Range { from: revision(project, from)?, to: revision(project, to)? }),
            None => of_run(project, range),
        },
        None => of_nothing(project),
    }
}

fn usage(what: &str) -> CommandFailure {
    CommandFailure::new(what).code(ExitCode::Usage).hint(NAME_A_RANGE)
}

/// The commit that a name stands for: here, or at the remote where only that is known.
fn revision(project: &Project, name: &str) -> Result<CommitId, CommandFailure> {
    let name = if name.is_empty() { "HEAD" } else { name };
    let here = project.repository.resolve(name);
    let found = here.or_else(|_| project.repository.resolve(&format!("refs/remotes/origin/{name}")));
    found.map_err(|error| CommandFailure::from(error).code(ExitCode::Usage).hint(NAME_A_RANGE))
}

/// A run of this project, the branch of one, or any branch.
fn of_run(project: &Project, name: &str) -> Result<Range, CommandFailure> {
    if let Some((base, branch)) = known_run(project, &RunId::from(name))? {
        return Ok(Range { from: base, to: revision(project, &branch)? });
    }
    let references = project.repository.branch_references()?;
    let of_run = references.iter().find(|reference| reference.ends_with(&format!("run-{name}")));
    let to = match of_run {
        Some(reference) => project.repository.resolve(reference)?,
        None => revision(project, name)?,
    };
    let from =
        parted(project, &to)?.ok_or_else(|| usage(&format!("find what the default branch has not of `{name}`")))?;
    Ok(Range { from, to })
}

/// What a run began with and the branch that its work landed on, as its journal says.
fn known_run(project: &Project, id: &RunId) -> Result<Option<(CommitId, String)>, CommandFailure> {
    if !project.directory.runs()?.contains(id) {
        return Ok(None);
    }
    let replayed = replay(&project.directory.run(id)?.journal())?;
    let base = before_taking_back(project, replayed.header.base_commit)?;
    Ok(Some((base, replayed.header.integration_branch)))
}

/// Where a run began before it took back what had been rejected: that is a part of what it did.
fn before_taking_back(project: &Project, mut base: CommitId) -> Result<CommitId, CommandFailure> {
    let is_of_tm = |(name, value): &(String, String)| name == "Phase" && value.trim() == TAKEN_BACK_PHASE;
    while project.repository.trailers(&base)?.iter().any(is_of_tm)
        && let Some(before) = project.repository.first_parent(&base)?
    {
        base = before;
    }
    Ok(base)
}

/// What HEAD has of runs, else the last run.
fn of_nothing(project: &Project) -> Result<Range, CommandFailure> {
    let head = project.repository.resolve("HEAD")?;
    if let Some(from) = parted(project, &head)?
        && project.repository.history(&from, std::slice::from_ref(&head))?.iter().any(is_of_run)
    {
        return Ok(Range { from, to: head });
    }
    let known = match project.directory.live()? {
        Some(id) => known_run(project, &id)?,
        None => None,
    };
    let (base, branch) = known.ok_or_else(|| usage("find what to audit: HEAD has nothing of a run that is new"))?;
    let to = revision(project, &branch)?;
    Ok(Range { from: parted(project, &to)?.unwrap_or(base), to })
}

fn is_of_run(commit: &PastCommit) -> bool {
    let says = |name: &str| commit.trailers.iter().any(|(key, _)| key == name);
    says("Task") && says("Run")
}

/// Where a history left the default branch, the remote's or the one here; `None` where that has everything.
fn parted(project: &Project, tip: &CommitId) -> Result<Option<CommitId>, CommandFailure> {
    let Some(name) = project.repository.default_branch()? else { return Ok(None) };
    for reference in [format!("refs/remotes/origin/{name}"), format!("refs/heads/{name}")] {
        if let Ok(default) = project.repository.resolve(&reference)
            && let Some(base) = project.repository.merge_base(tip, &default)?
            && base != *tip
        {
            return Ok(Some(base));
        }
    }
    Ok(None)
}
