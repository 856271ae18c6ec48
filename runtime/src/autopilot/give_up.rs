//! Gives a run up. What is removed and put back is what tm itself has written down of the run: a state that its note
//! doesn't vouch for says neither which branch is the run's nor what statuses were.

use super::answers::{Ended, ProgressView};
use super::error::Error;
use super::finish::ended;
use super::note::Began;
use super::project::Project;
use super::session::Session;
use super::state::commit_of;
use crate::describe;
use serde_json::json;
use tm_scheduler::autopilot::{IllegalStep, Order, Stage};
use tm_scheduler::{RunId, Status, Task, TaskId};
use tm_store::run::safe_name;

/// What is to become of branch and files of a run that is given up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cleanup {
    /// They stay.
    Keep,
    /// They are removed; the commits stay under `refs/tm/salvage/`.
    Remove,
}

/// Gives a run up: statuses go back to what they were, but for subtasks that are committed and stay so.
///
/// # Errors
/// There is no such run, it is over, or its branch can't be left.
pub fn abort(project: &Project, cleanup: Cleanup) -> Result<Ended, Error> {
    let ended = match Session::open_to_end(project) {
        Ok(session) if session.is_vouched_for() => give_up(session, cleanup),
        Ok(session) => disown(session, cleanup),
        Err(error) => Err(error),
    };
    match ended {
        Err(error) if error.is_of_files() => forsake(project, &error, cleanup),
        ended => ended,
    }
}

fn give_up(mut session: Session<'_>, cleanup: Cleanup) -> Result<Ended, Error> {
    refuse_complete(&session, cleanup)?;
    let (project, began) = (session.project, session.state.began());
    // Leaving the branch can fail over uncommitted work, so it comes before anything is written.
    let kept = retire(project, &session.state.run_id, Some(&began), cleanup)?;
    // What was given up before can still be cleaned up; its statuses are somebody else's by now.
    if !is_cleaned_up_later(&session, cleanup) {
        session.state.machine.handle(&Order::Abort)?;
        restore_statuses(&session, cleanup)?;
        session.save(&[json!({"event": "run:ended", "status": "aborted", "kept": kept})])?;
    }
    let message = format!("aborted `{}`", session.state.run_id);
    let note = what_became(Some(&began), kept.as_deref());
    let answer = ended(&session.state, message, Vec::new(), note);
    if cleanup == Cleanup::Remove {
        session.folder.forget(&session.state.pointer())?;
        // It is still there where a crash came right after the state: without files it would tell of a run.
        project.notes.remove(&session.state.run_id)?;
        session.run.remove()?;
    }
    Ok(answer)
}

/// Gives up a run whose state is not as tm left it, or which nobody began: by its note alone, and without one nothing but
/// the mark that it is the current run goes.
fn disown(mut session: Session<'_>, cleanup: Cleanup) -> Result<Ended, Error> {
    let began = session.noted().cloned();
    if began.is_none() {
        refuse_complete(&session, cleanup)?;
    }
    let (project, id) = (session.project, session.state.run_id.clone());
    let kept = retire(project, &id, began.as_ref(), cleanup)?;
    let is_over = session.state.machine.is_over();
    let stays_over = is_over && (began.is_some() || is_cleaned_up_later(&session, cleanup));
    if !stays_over {
        session.state.machine.handle(&Order::Abort)?;
    }
    session.save(&[json!({"event": "run:ended", "status": "aborted", "kept": kept})])?;
    let note = what_became(began.as_ref(), kept.as_deref());
    let message = format!("gave up `{id}`");
    let mut answer = ended(&session.state, message, vec![left_as_is(&session)], note);
    answer.branch_name = began.as_ref().map(|began| began.branch.clone());
    if cleanup == Cleanup::Remove {
        session.folder.forget(&session.state.pointer())?;
        if began.is_some() {
            session.run.remove()?;
        }
    }
    Ok(answer)
}

/// Gives up a run whose files can't be used: note and pointer go, statuses stay.
fn forsake(project: &Project, why: &Error, cleanup: Cleanup) -> Result<Ended, Error> {
    let _lock = Session::lock(project)?;
    let id = project.current_run()?;
    let note = project.notes.of(&id)?;
    let began = note.as_ref().map(|note| &note.began);
    let kept = retire(project, &id, began, cleanup)?;
    let known = project.own_runs()?.runs.into_iter();
    let task = known.filter(|run| run.run_id == id).map(|run| run.task_id);
    let mut warnings = vec![format!("{}; statuses stay as they are", describe(why))];
    let folder = note.as_ref().map_or(&project.folder, |note| &note.folder);
    folder.forget_run(&id)?;
    if cleanup == Cleanup::Remove && note.is_some() {
        let removed = folder.run(&id)?.remove();
        warnings.extend(
            removed
                .err()
                .map(|error| format!("its files stay: {}", describe(&error))),
        );
    }
    project.notes.remove(&id)?;
    Ok(Ended {
        success: true,
        message: format!("gave up `{id}`"),
        run_id: id.to_string(),
        task_id: task.map(|task| task.to_string()).collect(),
        branch_name: began.map(|began| began.branch.clone()),
        phase: "ABORTED".to_owned(),
        progress: ProgressView::default(),
        warnings,
        note: what_became(began, kept.as_deref()),
    })
}

fn left_as_is(session: &Session<'_>) -> String {
    let file = session.run.state();
    format!(
        "`{}` is not known to be as tm left it, so statuses stay as they are",
        file.display()
    )
}

fn is_cleaned_up_later(session: &Session<'_>, cleanup: Cleanup) -> bool {
    cleanup == Cleanup::Remove && *session.state.machine.stage() == Stage::Aborted
}

/// Refuses to remove what is done.
fn refuse_complete(session: &Session<'_>, cleanup: Cleanup) -> Result<(), Error> {
    let machine = &session.state.machine;
    if cleanup == Cleanup::Remove && *machine.stage() == Stage::Complete {
        let (wanted, next) = ("abort the run".to_owned(), machine.next());
        return Err(IllegalStep { wanted, next }.into());
    }
    Ok(())
}

/// Leaves the branch and removes it, where that is wanted and one is known; its commits stay under a name of tm's own.
fn retire(
    project: &Project,
    run: &RunId,
    began: Option<&Began>,
    cleanup: Cleanup,
) -> Result<Option<String>, Error> {
    let Some(began) = began.filter(|_| cleanup == Cleanup::Remove) else {
        return Ok(None);
    };
    let (branch, start) = (&began.branch, began.start_branch.as_deref());
    if start == Some(branch.as_str()) {
        return Err(Error::NotOurs(branch.to_string()));
    }
    if project.repository.assert_on(branch).is_ok() {
        project.assert_committed()?;
        project.repository.switch_to(start, &began.base_commit)?;
    }
    let name = safe_name(&run.as_str().into());
    let name = format!("refs/tm/salvage/autopilot/{name}");
    project.repository.retire_branch(branch, &name)?;
    Ok(Some(name))
}

/// Says what became of the branch.
fn what_became(began: Option<&Began>, kept: Option<&str>) -> String {
    match (began, kept) {
        (Some(began), Some(name)) => format!(
            "the branch `{}` is removed; its commits are kept as `{name}`",
            began.branch
        ),
        (Some(began), None) => format!("the branch `{}` stays", began.branch),
        (None, _) => "tm keeps no note of it, so its branch and its files stay".to_owned(),
    }
}

fn restore_statuses(session: &Session<'_>, cleanup: Cleanup) -> Result<(), Error> {
    let state = &session.state;
    let item = |id: &TaskId| state.machine.items().iter().find(|item| item.id == *id);
    let is_of_run = |id: &TaskId| *id == state.task_id || item(id).is_some();
    let stays = |id: &TaskId| {
        let is_committed = item(id).is_some_and(|item| commit_of(&item.progress).is_some());
        is_committed && cleanup == Cleanup::Keep && *id != state.task_id
    };
    let tasks = [session.task()];
    let back: Vec<(TaskId, Status)> = Task::with_subtasks(&tasks)
        .map(|task| &task.id)
        .filter(|id| is_of_run(id) && !stays(id))
        .filter_map(|id| Some((id.clone(), state.statuses_before.get(id)?.clone())))
        .collect();
    session.set_statuses(&back)
}
