//! Commits a subtask, sets it done in the backlog, and takes the next one in hand.
//!
//! In this order: commit, backlog, state. Each part can be done again, so a crash between any two is made good by the
//! same call.

use super::answers::Committed;
use super::error::Error;
use super::project::Project;
use super::session::Session;
use super::units::{self as ledger, UnitRecord, UnitStatus};
use super::verify;
use serde_json::json;
use std::path::Path;
use tm_config::Verify;
use tm_scheduler::autopilot::{Action, IllegalStep, Order, TddPhase};
use tm_scheduler::{CommitId, RunId, Status, TaskId};
use tm_worktrees::{BranchName, CommitFiles};

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
    session.assert_holds_its_commits()?;
    let files = session.against_commit(&request.files)?;
    if !files.is_empty() {
        return back_to_green(&mut session, subtask, files);
    }
    let Some((commit, mut warnings)) = make_or_find(&session, request, &branch, &subtask)? else {
        return nothing_to_commit(&mut session, subtask);
    };
    let files = session.changed_by_hooks(&commit)?;
    if !files.is_empty() && project.settings.autopilot.verify == Verify::Run {
        let tree = session.repository().tree_of(&commit)?;
        let seen = verify::measure(&mut session, TddPhase::Green, &tree).await?;
        if !seen.verdict.is_accepted() {
            let why = seen.verdict.message;
            tracing::info!(%subtask, why, "what the hooks made does not hold");
            return back_to_green(&mut session, subtask, files);
        }
        warnings.push(format!(
            "hooks changed what is committed, and it was judged anew: {}",
            files.join(", ")
        ));
    }
    settle(&mut session, &subtask, &commit)?;
    Ok(Committed {
        success: true,
        commit_sha: commit.to_string(),
        commit_hash: commit.as_str().get(..7).unwrap_or_default().to_owned(),
        message: session.repository().past(&commit)?.subject,
        subtask: subtask.to_string(),
        is_complete: session.state.machine.current().is_none(),
        progress: session.state.progress(),
        warnings,
        next_action: session.next_action()?,
    })
}

/// What was reported can't have happened.
fn nothing_to_commit(session: &mut Session<'_>, subtask: TaskId) -> Result<Committed, Error> {
    session.state.machine.handle(&Order::NothingToCommit)?;
    session.state.forget_subtask();
    let event = json!({"event": "error", "phase": "commit", "subtaskId": subtask,
                       "error": "nothing to commit", "recoverable": true});
    session.save(&[event])?;
    Err(Error::NothingChanged(subtask))
}

/// GREEN has to hold again: what is there is not what it held with.
fn back_to_green(
    session: &mut Session<'_>,
    subtask: TaskId,
    files: Vec<String>,
) -> Result<Committed, Error> {
    session.state.machine.handle(&Order::WorkChanged)?;
    session.state.green_kept = None;
    let event = json!({"event": "error", "phase": "commit", "subtaskId": subtask,
                       "error": "the work was changed since GREEN held", "files": files, "recoverable": true});
    session.save(&[event])?;
    Err(Error::ChangedSince { subtask, files })
}

/// Refuses a commit at the wrong time or for another subtask, before anything is touched.
fn expected(session: &Session<'_>, request: &CommitRequest) -> Result<TaskId, Error> {
    let next = session.state.machine.next();
    let meant = request.subtask.as_ref();
    match &next {
        Action::Commit { subtask } if meant.is_none_or(|meant| meant == subtask) => {
            Ok(subtask.clone())
        }
        _ => {
            let wanted = match meant {
                Some(meant) => format!("commit `{meant}`"),
                None => "commit".to_owned(),
            };
            Err(IllegalStep { wanted, next }.into())
        }
    }
}

/// A commit, and what is odd about it.
type Found = Option<(CommitId, Vec<String>)>;

/// Commits what is changed; where nothing is, takes the commit that was made since the last one.
fn make_or_find(
    session: &Session<'_>,
    request: &CommitRequest,
    branch: &BranchName,
    subtask: &TaskId,
) -> Result<Found, Error> {
    let repository = session.repository();
    let tip = repository.head()?.commit;
    let has_moved = tip != session.state.head;
    if let Some(made) = &request.made {
        let is_tip = repository.resolve(made).is_ok_and(|made| made == tip) && has_moved;
        return if is_tip {
            Ok(Some((tip, Vec::new())))
        } else {
            Err(Error::ForeignCommit(made.clone()))
        };
    }
    if has_moved && is_of_this_run(session, &tip, subtask)? {
        let warning = "the commit was made before tm was cut off";
        return Ok(Some((tip, vec![warning.to_owned()])));
    }
    let made = make(session, request, branch)?;
    let warning = "taken as it is: the agent committed itself";
    Ok(made.or_else(|| has_moved.then(|| (tip, vec![warning.to_owned()]))))
}

fn make(
    session: &Session<'_>,
    request: &CommitRequest,
    branch: &BranchName,
) -> Result<Found, Error> {
    let project = session.project;
    let (never, named) = (project.never_commit()?, &request.files);
    if let Some(file) = named.iter().find(|file| never.covers(Path::new(file))) {
        return Err(Error::NeverCommitted(file.clone()));
    }
    let (files, which) = if named.is_empty() {
        (project.changed_files()?, CommitFiles::AllBut(&never))
    } else {
        (named.clone(), CommitFiles::Only(named))
    };
    let piece = session.current_piece().unwrap_or_else(|| session.task());
    let message = session.message(&piece, &files, request.message.as_deref())?;
    let hooks = crate::run_hooks(&project.settings);
    let commit = project.checkout.commit(branch, &message, which, hooks)?;
    Ok(match commit {
        Some(commit) => Some((commit, left_over(project)?)),
        None => None,
    })
}

/// Takes up the commit of a call that was cut off before the state knew of it.
pub(super) fn resume(session: &mut Session<'_>) -> Result<(), Error> {
    let Action::Commit { subtask } = session.state.machine.next() else {
        return Ok(());
    };
    let tip = session.repository().head()?.commit;
    if tip != session.state.head && is_of_this_run(session, &tip, &subtask)? {
        settle(session, &subtask, &tip)?;
    }
    Ok(())
}

/// Names what a commit of some files alone left uncommitted: it will be part of the next one.
fn left_over(project: &Project) -> Result<Vec<String>, Error> {
    let names: Vec<String> = project
        .changed_paths()?
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect();
    let warning = || format!("these stay uncommitted: {}", names.join(", "));
    Ok((!names.is_empty()).then(warning).into_iter().collect())
}

/// Whether a commit carries the trailers of this run and subtask, and is what GREEN held with: the one that tm made before
/// it was cut off.
fn is_of_this_run(
    session: &Session<'_>,
    commit: &CommitId,
    subtask: &TaskId,
) -> Result<bool, Error> {
    let trailers = session.repository().past(commit)?.trailers;
    let (run, task) = (session.state.run_id.as_str(), format!("#{subtask} "));
    let is_run = |(name, value): &(String, String)| name == "Run" && value == run;
    let is_task =
        |(name, value): &(String, String)| name == "Task" && format!("{value} ").starts_with(&task);
    let is_named = trailers.iter().any(is_run) && trailers.iter().any(is_task);
    Ok(is_named && session.changed_by_hooks(commit)?.is_empty())
}

/// Sets the subtask done and the next one in progress, then keeps the state.
fn settle(session: &mut Session<'_>, subtask: &TaskId, commit: &CommitId) -> Result<(), Error> {
    let order = Order::Committed(commit.clone());
    session.state.machine.handle(&order)?;
    let mut statuses = session.under_way();
    if session.state.task_id != *subtask {
        statuses.push((subtask.clone(), Status::Done));
    }
    session.set_statuses(&statuses)?;
    let state = &mut session.state;
    state.head = commit.clone();
    state.forget_subtask();
    let ended = UnitRecord {
        commit_sha: Some(commit.clone()),
        ..UnitRecord::new(format!("workUnit-{subtask}-COMMIT"), UnitStatus::Done)
    };
    ledger::record(&mut state.work_units, ended);
    let next = match state.current() {
        Some(next) => json!({"event": "subtask:start", "subtaskId": next, "phase": "red"}),
        None => json!({"event": "phase:start", "phase": "finalize"}),
    };
    let branch = &state.branch;
    let events = [
        json!({"event": "commit:created", "subtaskId": subtask, "sha": commit, "branch": branch}),
        json!({"event": "subtask:complete", "subtaskId": subtask, "phase": "commit", "status": "done"}),
        next,
    ];
    session.save(&events)
}
