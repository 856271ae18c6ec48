//! Shows again, from the history alone, what runs proved.

use crate::error::Error;
use crate::judging::{Judging, parallel};
use crate::project::{Caller, Project};
use crate::settings_of_commit::{parts_at, project_by};
use std::num::NonZeroUsize;
use std::path::Path;
use tm_config::Override;
use tm_reports::cleaned;
use tm_runtime::audit::{AuditOrder as Order, AuditTests, audit as look_through};
use tm_runtime::{replay, repository_of_project, rules};
use tm_scheduler::{Audit, CommitId, RunId, TAKEN_BACK_PHASE};
use tm_worktrees::{PastCommit, Repository};

/// What is audited.
#[derive(Clone, Debug, Default)]
pub struct AuditOrder {
    /// A range of commits, a run, or a branch; what HEAD has of runs, or the last run, when not given.
    pub range: Option<String>,
    /// Of how many tasks the tests are run; of all when not given.
    pub sample: Option<NonZeroUsize>,
    /// How many tasks are judged at the same time; as many as are tested at once when not given.
    pub parallel: Option<NonZeroUsize>,
}

/// What is looked at.
struct Range {
    from: CommitId,
    to: CommitId,
}

/// Looks at a history, and runs the tests again of what stands in it, by the settings that it began with and those that flags
/// give: no commit says by what it is judged.
///
/// # Errors
/// It is not clear what to look at, or that can't be looked at.
pub async fn audit(
    start: &Path,
    given: Vec<Override>,
    caller: Caller,
    order: &AuditOrder,
) -> Result<Audit, Error> {
    let repository = repository_of_project(start)?;
    if repository.is_shallow()? {
        return Err(Error::ShallowAudit);
    }
    let named = order.range.as_deref();
    let Range { from, to } = match named.and_then(|range| range.split_once("..")) {
        Some(ends) => between(&repository, ends)?,
        None => of_project(&Project::open(start, given.clone(), caller)?, named)?,
    };
    let began = repository.merge_base(&from, &to)?;
    let began = began.unwrap_or_else(|| from.clone());
    let project = project_by((&repository, &began), &to, given, caller)?;
    audited(&project, &began, Range { from, to }, order).await
}

async fn audited(
    project: &Project,
    began: &CommitId,
    Range { from, to }: Range,
    order: &AuditOrder,
) -> Result<Audit, Error> {
    let command = parts_at(project, began)?.all();
    let judging = Judging::open(project, "audit", from.clone())?;
    let order = Order {
        from,
        to,
        command,
        rules: rules(&project.loaded.settings),
        tests: order
            .sample
            .map_or(AuditTests::All, |most| AuditTests::Sample(most.get())),
        parallel: parallel(project, order.parallel),
        scratch: judging.scratch.path().to_owned(),
    };
    let at_once = u32::try_from(order.parallel).unwrap_or(u32::MAX);
    judging.result_cache.test_at_once(at_once);
    let audit = look_through(&order, &judging.result_cache).await;
    project.warn(&judging.result_cache.close().await);
    audit
        .map(cleaned)
        .map_err(Error::unjudged("audit the history"))
}

/// A range of commits, which is known without any run.
fn between(repository: &Repository, (from, to): (&str, &str)) -> Result<Range, Error> {
    if to.starts_with('.') {
        return Err(Error::ThreeDots);
    }
    Ok(Range {
        from: revision(repository, from)?,
        to: revision(repository, to)?,
    })
}

fn of_project(project: &Project, named: Option<&str>) -> Result<Range, Error> {
    match named {
        Some(run) => of_run(project, run),
        None => of_nothing(project),
    }
}

/// The commit that a name stands for: here, or at the remote where only that is known.
fn revision(repository: &Repository, name: &str) -> Result<CommitId, Error> {
    let name = if name.is_empty() { "HEAD" } else { name };
    repository
        .resolve(name)
        .or_else(|_| repository.resolve(&format!("refs/remotes/origin/{name}")))
        .map_err(Error::UnknownRange)
}

/// A run of this project, the branch of one, or any branch.
fn of_run(project: &Project, name: &str) -> Result<Range, Error> {
    if let Some((base, branch)) = known_run(project, &RunId::from(name))? {
        return Ok(Range {
            from: base,
            to: revision(&project.repository, &branch)?,
        });
    }
    let mut references = project.repository.branch_references()?.into_iter();
    let to = match references.find(|reference| reference.ends_with(&format!("run-{name}"))) {
        Some(reference) => project.repository.resolve(&reference)?,
        None => revision(&project.repository, name)?,
    };
    let from = parted(project, &to)?.ok_or_else(|| Error::NothingOfItsOwn(name.to_owned()))?;
    Ok(Range { from, to })
}

/// What a run began with and the branch that its work landed on, as its journal says.
fn known_run(project: &Project, id: &RunId) -> Result<Option<(CommitId, String)>, Error> {
    if !project.directory.runs()?.contains(id) {
        return Ok(None);
    }
    let header = replay(&project.directory.run(id)?.journal())?.header;
    let base = before_taking_back(project, header.base_commit)?;
    Ok(Some((base, header.integration_branch.to_string())))
}

/// Where a run began before it took back what had been rejected: that is a part of what it did.
fn before_taking_back(project: &Project, mut base: CommitId) -> Result<CommitId, Error> {
    let repository = &project.repository;
    while repository.past(&base)?.says("Phase", TAKEN_BACK_PHASE)
        && let Some(before) = repository.first_parent(&base)?
    {
        base = before;
    }
    Ok(base)
}

/// What HEAD has of runs, else the last run.
fn of_nothing(project: &Project) -> Result<Range, Error> {
    let head = project.repository.resolve("HEAD")?;
    if let Some(from) = parted(project, &head)? {
        let tips = std::slice::from_ref(&head);
        let history = project.repository.history(&from, tips)?;
        if history.iter().any(is_of_run) {
            return Ok(Range { from, to: head });
        }
    }
    let known = match project.directory.live()? {
        Some(id) => known_run(project, &id)?,
        None => None,
    };
    let (base, branch) = known.ok_or(Error::NothingToAudit)?;
    let to = revision(&project.repository, &branch)?;
    Ok(Range {
        from: parted(project, &to)?.unwrap_or(base),
        to,
    })
}

fn is_of_run(commit: &PastCommit) -> bool {
    commit.has("Task") && commit.has("Run")
}

/// Where a history left the default branch, the remote's or the one here; `None` where that has everything.
fn parted(project: &Project, tip: &CommitId) -> Result<Option<CommitId>, Error> {
    let repository = &project.repository;
    let Some(name) = repository.default_branch()? else {
        return Ok(None);
    };
    for namespace in ["refs/remotes/origin", "refs/heads"] {
        if let Ok(default) = repository.resolve(&format!("{namespace}/{name}"))
            && let Some(base) = repository.merge_base(tip, &default)?
            && base != *tip
        {
            return Ok(Some(base));
        }
    }
    Ok(None)
}
