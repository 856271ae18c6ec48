//! Commits a subtask, sets it done in the backlog, and takes the next one in hand.
//!
//! In this order: commit, backlog, state. Each part can be done again, so a crash between any two is made good by the
//! same call.

use super::answers::Committed;
use super::error::Error;
use super::ledger::{self, UnitRecord, UnitStatus};
use super::project::Project;
use super::session::Session;
use super::verify;
use super::views::progress;
use serde_json::json;
use tm_config::Verify;
use tm_scheduler::autopilot::{
    Action, IllegalStep, Order, PhaseReport, TddPhase, TestCounts, Verdict,
};
use tm_scheduler::{CommitId, RunId, Status, TaskId};
use tm_worktrees::{BranchName, CommitFiles, PathPatterns};

/// What is to be committed.
#[derive(Clone, Debug, Default)]
pub struct CommitRequest {
    /// The run; the current one where it is not said.
    pub run: Option<RunId>,
    /// The subtask; the one under way where it is not said.
    pub subtask: Option<TaskId>,
    /// The words of the message, instead of tm's; trailers are added.
    pub message: Option<String>,
    /// These files alone; everything that is changed where none is named.
    pub files: Vec<String>,
    /// A commit that was made already.
    pub made: Option<String>,
}

/// Commits the subtask under way.
///
/// # Errors
/// It is not time for that, HEAD is not on the run's branch, a hook refused, or there is nothing to commit.
pub async fn commit(project: &Project, request: &CommitRequest) -> Result<Committed, Error> {
    let mut session = Session::open(project, request.run.as_ref())?;
    let subtask = expected(&session, request)?;
    project.refuse_waves("commit")?;
    let branch = session.assert_on_branch()?;
    session.open.assert_holds_its_commits()?;
    let files = session.against_commit(&request.files)?;
    if !files.is_empty() {
        return back_to_green(&mut session, subtask, files);
    }
    let Some((commit, mut warnings)) = make_or_find(&session, request, &branch, &subtask)? else {
        session.open.state.machine.handle(&Order::NothingToCommit)?;
        session.open.state.forget_subtask();
        let event = json!({"event": "error", "phase": "commit", "subtaskId": subtask,
                           "error": "nothing to commit", "recoverable": true});
        session.save(&[event])?;
        return Err(Error::NothingChanged(subtask));
    };
    let files = changed_by_hooks(&session, &commit)?;
    if !files.is_empty() && project.settings.autopilot.verify == Verify::Run {
        if let Some(verdict) = judge_again(&mut session, &commit)
            .await?
            .filter(|verdict| !verdict.is_accepted())
        {
            tracing::info!(%subtask, why = verdict.message, "what the hooks made does not hold");
            return back_to_green(&mut session, subtask, files);
        }
        warnings.push(format!(
            "hooks changed what is committed, and it was judged anew: {}",
            files.join(", ")
        ));
    }
    settle(&mut session, &subtask, &commit)?;
    answer(&session, &subtask, &commit, warnings)
}

/// GREEN has to hold again: what is there is not what it held with.
fn back_to_green(
    session: &mut Session<'_>,
    subtask: TaskId,
    files: Vec<String>,
) -> Result<Committed, Error> {
    session.open.state.machine.handle(&Order::WorkChanged)?;
    session.open.state.green_kept = None;
    let event = json!({"event": "error", "phase": "commit", "subtaskId": subtask,
                       "error": "the work was changed since GREEN held", "files": files, "recoverable": true});
    session.save(&[event])?;
    Err(Error::ChangedSince { subtask, files })
}

/// What is committed and differs from what GREEN held with: hooks may stage something else.
fn changed_by_hooks(session: &Session<'_>, commit: &CommitId) -> Result<Vec<String>, Error> {
    let tree = session.project().checkout.repository().tree_of(commit)?;
    session.open.changed_since_green(&tree)
}

/// Judges the tree of a commit as GREEN; `None` where nothing is to be said of it.
async fn judge_again(
    session: &mut Session<'_>,
    commit: &CommitId,
) -> Result<Option<Verdict>, Error> {
    let tree = session.project().checkout.repository().tree_of(commit)?;
    let mut report = PhaseReport {
        phase: None,
        subtask: None,
        counts: TestCounts::default(),
        coverage: None,
        proven: None,
    };
    verify::measure(session, TddPhase::Green, &tree, &mut report).await?;
    Ok(report.proven)
}

/// Refuses a commit at the wrong time or for another subtask, before anything is touched.
fn expected(session: &Session<'_>, request: &CommitRequest) -> Result<TaskId, Error> {
    let next = session.open.state.machine.next();
    let wanted = |subtask: &TaskId| IllegalStep {
        wanted: format!("commit `{subtask}`"),
        next: next.clone(),
    };
    match (&next, &request.subtask) {
        (Action::Commit { subtask }, None) => Ok(subtask.clone()),
        (Action::Commit { subtask }, Some(meant)) if subtask == meant => Ok(subtask.clone()),
        (_, Some(meant)) => Err(wanted(meant).into()),
        (_, None) => Err(IllegalStep {
            wanted: "commit".to_owned(),
            next,
        }
        .into()),
    }
}

/// Commits what is changed; where nothing is, takes the commit that was made since the last one.
fn make_or_find(
    session: &Session<'_>,
    request: &CommitRequest,
    branch: &BranchName,
    subtask: &TaskId,
) -> Result<Option<(CommitId, Vec<String>)>, Error> {
    let (project, known) = (session.project(), &session.open.state.head);
    let repository = project.checkout.repository();
    let tip = repository.head()?.commit;
    let has_moved = tip != *known;
    if let Some(made) = &request.made {
        let is_tip = repository.resolve(made).is_ok_and(|made| made == tip) && has_moved;
        return if is_tip {
            Ok(Some((tip, Vec::new())))
        } else {
            Err(Error::ForeignCommit(made.clone()))
        };
    }
    if has_moved && is_of_this_run(session, &tip, subtask)? {
        return Ok(Some((
            tip,
            vec!["the commit was made before tm was cut off".to_owned()],
        )));
    }
    let never = project.never_commit()?;
    if let Some(file) = request
        .files
        .iter()
        .find(|file| never.covers(std::path::Path::new(file)))
    {
        return Err(Error::NeverCommitted(file.clone()));
    }
    let files = if request.files.is_empty() {
        let paths = project.checkout.changed_paths(&never)?;
        paths
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    } else {
        request.files.clone()
    };
    let piece = session
        .open
        .current_piece()
        .unwrap_or_else(|| session.open.task());
    let message = session
        .open
        .message(&piece, &files, request.message.as_deref())?;
    let which = if request.files.is_empty() {
        CommitFiles::AllBut(&never)
    } else {
        CommitFiles::Only(&request.files)
    };
    let hooks = crate::run_hooks(&project.settings);
    match project.checkout.commit(branch, &message, which, hooks)? {
        Some(commit) => Ok(Some((commit, left_over(session, &never)?))),
        None if has_moved => Ok(Some((
            tip,
            vec!["taken as it is: the agent committed itself".to_owned()],
        ))),
        None => Ok(None),
    }
}

/// Takes up the commit of a call that was cut off before the state knew of it.
pub(super) fn resume(session: &mut Session<'_>) -> Result<(), Error> {
    let Action::Commit { subtask } = session.open.state.machine.next() else {
        return Ok(());
    };
    let tip = session.project().checkout.repository().head()?.commit;
    if tip != session.open.state.head && is_of_this_run(session, &tip, &subtask)? {
        settle(session, &subtask, &tip)?;
    }
    Ok(())
}

/// Names what a commit of some files alone left uncommitted: it will be part of the next one.
fn left_over(session: &Session<'_>, never: &PathPatterns) -> Result<Vec<String>, Error> {
    let paths = session.project().checkout.changed_paths(never)?;
    let names: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    let warning = format!("these stay uncommitted: {}", names.join(", "));
    Ok(if names.is_empty() {
        Vec::new()
    } else {
        vec![warning]
    })
}

/// Whether a commit carries the trailers of this run and subtask, and is what GREEN held with: the one that tm made before
/// it was cut off.
fn is_of_this_run(
    session: &Session<'_>,
    commit: &CommitId,
    subtask: &TaskId,
) -> Result<bool, Error> {
    let trailers = session
        .project()
        .checkout
        .repository()
        .past(commit)?
        .trailers;
    let has = |name: &str, is: &dyn Fn(&str) -> bool| {
        trailers.iter().any(|(key, value)| key == name && is(value))
    };
    let of_subtask = format!("#{subtask} ");
    let is_named = has("Run", &|value| value == session.open.state.run_id.as_str())
        && has("Task", &|value| {
            format!("{value} ").starts_with(&of_subtask)
        });
    Ok(is_named && changed_by_hooks(session, commit)?.is_empty())
}

/// Sets the subtask done and the next one in progress, then keeps the state.
fn settle(session: &mut Session<'_>, subtask: &TaskId, commit: &CommitId) -> Result<(), Error> {
    let is_whole_task = session.open.state.task_id == *subtask;
    session
        .open
        .state
        .machine
        .handle(&Order::Committed(commit.clone()))?;
    let mut statuses = session.under_way();
    if !is_whole_task {
        statuses.push((subtask.clone(), Status::Done));
    }
    session.set_statuses(&statuses)?;
    let state = &mut session.open.state;
    state.head = commit.clone();
    state.forget_subtask();
    let unit = format!("workUnit-{subtask}-COMMIT");
    let ended = UnitRecord {
        id: unit,
        status: UnitStatus::Done,
        message: None,
        commit_sha: Some(commit.clone()),
    };
    ledger::record(&mut state.work_units, ended);
    let next = match state.current() {
        Some(next) => json!({"event": "subtask:start", "subtaskId": next, "phase": "red"}),
        None => json!({"event": "phase:start", "phase": "finalize"}),
    };
    let branch = session.open.state.branch.clone();
    session.save(&[
        json!({"event": "commit:created", "subtaskId": subtask, "sha": commit, "branch": branch}),
        json!({"event": "subtask:complete", "subtaskId": subtask, "phase": "commit", "status": "done"}),
        next,
    ])
}

fn answer(
    session: &Session<'_>,
    subtask: &TaskId,
    commit: &CommitId,
    warnings: Vec<String>,
) -> Result<Committed, Error> {
    let repository = session.project().checkout.repository();
    Ok(Committed {
        success: true,
        commit_sha: commit.to_string(),
        commit_hash: commit.as_str().get(..7).unwrap_or_default().to_owned(),
        message: repository.past(commit)?.subject,
        subtask: subtask.to_string(),
        is_complete: session.open.state.machine.current().is_none(),
        progress: progress(&session.open.state),
        warnings,
        next_action: session.open.next_action()?,
    })
}
