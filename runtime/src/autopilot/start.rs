//! Begins a run, or goes on with one that is paused or was cut off.

use super::answers::{Started, StatusView};
use super::commit;
use super::commit::check_templates;
use super::decides::what_decides;
use super::error::Error;
use super::others::{forget_notes, pause_others};
use super::project::Project;
use super::session::{OpenRun, Session};
use super::state::{RunState, VERSION};
use super::status::status;
use super::verify::look;
use crate::preflight::BrokenBase;
use crate::{describe, now};
use serde_json::json;
use std::path::PathBuf;
use tm_scheduler::autopilot::{
    Autopilot, AutopilotRules, OpenDependencies, Order, Stage, WorkItem, work_order,
};
use tm_scheduler::{BranchName, Tag, Task, TaskId, branch_from_pattern, slug};
use tm_store::autopilot::{CurrentRun, PointerStatus, autopilot_run_id};

/// What is to be begun.
#[derive(Debug)]
pub struct StartRequest {
    /// The task.
    pub task: String,
    /// The tag; the current one where it is not said.
    pub tag: Option<Tag>,
    /// The branch, instead of the one from the pattern.
    pub branch: Option<String>,
    /// Tries at GREEN, instead of those of the settings.
    pub max_attempts: Option<u32>,
    /// What becomes of it when the tests can't be run where it would start.
    pub broken: BrokenBase,
    /// What stands in the way is pushed aside: an unfinished run is paused, open dependencies don't count.
    pub force: Force,
}

/// Whether a start gives way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Force {
    /// To unfinished runs and open dependencies.
    #[default]
    No,
    /// To nothing.
    Yes,
}

/// A run that could begin: everything is checked, nothing is written.
#[derive(Debug)]
struct Checked {
    tag: Tag,
    task: Task,
    items: Vec<WorkItem>,
    branch: BranchName,
    rules: AutopilotRules,
    warnings: Vec<String>,
}

/// Says what a start would do, and does nothing.
///
/// # Errors
/// The run can't be begun.
pub fn preview(project: &Project, request: &StartRequest) -> Result<Started, Error> {
    let checked = check(project, request)?;
    let state = new_state(project, &checked)?;
    let message = format!(
        "would create `{}` and begin with `{}`",
        checked.branch, checked.items[0].id
    );
    let mut started = answer(&state, message, checked.warnings);
    started.run_id = String::new();
    "PREFLIGHT".clone_into(&mut started.phase);
    Ok(started)
}

/// Begins a run, once the tests were seen to run where it starts.
///
/// # Errors
/// The surroundings, the task or another run don't allow it; nothing is left then.
pub async fn start(project: &Project, request: &StartRequest) -> Result<Started, Error> {
    let lock = Session::lock(project)?;
    forget_notes(project)?;
    let mut checked = check(project, request)?;
    let moved = make_way(project, request.force)?;
    let mut state = new_state(project, &checked)?;
    let base = look(project, &checked.task, &state.base_commit, request.broken).await?;
    let _waves = project.hold_off_waves(now())?;
    state.repository = Some(project.waves.identify(&state.run_id)?);
    let run = project.folder.run(&state.run_id)?;
    run.create()?;
    let decides = what_decides(project, &checked.task);
    let mut session = Session::with(OpenRun::new(project, run, state, decides), lock);
    // Before this run takes over the pointer of its tag.
    let passed_over = pause_others(project, &session.state.run_id)?;
    checked
        .warnings
        .extend(moved.into_iter().chain(passed_over));
    session.save(&[
        json!({"event": "phase:start", "phase": "preflight", "taskId": checked.task.id}),
    ])?;
    set_up(&mut session)?;
    let message = format!("started `{}` on `{}`", checked.task.id, checked.branch);
    Ok(Started {
        base,
        ..finish(&session, message, checked.warnings)?
    })
}

/// Goes on with a run that is paused or was cut off; for one that is under way it only says what is next.
///
/// # Errors
/// There is no such run, it is over, or waves are at work.
pub fn resume(project: &Project) -> Result<Started, Error> {
    let mut session = Session::open(project)?;
    project.refuse_waves("resume a run")?;
    let mut events = Vec::new();
    if matches!(session.state.machine.stage(), Stage::Paused { .. })
        || session.state.machine.is_over()
    {
        session.state.machine.handle(&Order::Resume)?;
        events.push(json!({"event": "run:resumed", "subtaskId": session.state.current()}));
    }
    let warnings = pause_others(project, &session.state.run_id)?;
    set_up(&mut session)?;
    session.assert_on_branch()?;
    // Before the backlog is asked: it has the subtask of such a commit as finished already.
    commit::resume(&mut session)?;
    skip_finished(&mut session)?;
    session.set_statuses(&session.under_way())?;
    session.save(&events)?;
    let message = format!("resumed `{}`", session.state.run_id);
    finish(&session, message, warnings)
}

/// Goes on with the unfinished run of a task; `None` where the current one is not that.
///
/// # Errors
/// It can't be gone on with.
pub fn resume_of(project: &Project, task: &str) -> Result<Option<Started>, Error> {
    let is_meant = |view: &StatusView| {
        view.task_id == task && matches!(view.status.as_str(), "in-progress" | "paused")
    };
    let current = match status(project) {
        Err(Error::OfAnother { .. }) => None,
        found => found?.filter(is_meant),
    };
    let run = current.map(|view| project.with_run(view.run_id.into()));
    run.map(|run| resume(&run)).transpose()
}

/// Makes the branch and takes the first subtask in hand, as far as that has not happened yet.
fn set_up(session: &mut Session<'_>) -> Result<(), Error> {
    if *session.state.machine.stage() == Stage::Preflight {
        session.state.machine.handle(&Order::PreflightPassed)?;
        session.save(&[json!({"event": "phase:complete", "phase": "preflight",
                              "checks": {"git": true, "test": true, "tools": true}})])?;
    }
    if *session.state.machine.stage() != Stage::BranchSetup {
        return Ok(());
    }
    let branch = session.state.branch.clone();
    let (repository, base) = (&session.project.repository, &session.state.base_commit);
    // A branch that stands where the run began was made by this very run before it was cut off.
    if repository.branch_tip(&branch)?.as_ref() == Some(base)
        && repository.assert_on(&branch).is_err()
    {
        repository.switch_to(Some(branch.as_str()), base)?;
    }
    repository.start_branch(&branch)?;
    session.set_statuses(&session.under_way())?;
    session.state.machine.handle(&Order::BranchReady)?;
    let state = &session.state;
    let (tag, subtask) = (state.tag.clone(), state.current());
    session.save(&[
        json!({"event": "branch:created", "branch": branch, "from": session.state.start_branch}),
        json!({"event": "tag:mapped", "branch": branch, "tag": tag}),
        json!({"event": "phase:start", "phase": "subtask-loop"}),
        json!({"event": "subtask:start", "subtaskId": subtask, "phase": "red"}),
    ])
}

/// Leaves out subtasks that the backlog has as finished by now.
fn skip_finished(session: &mut Session<'_>) -> Result<(), Error> {
    let mut finished = session.task().subtasks;
    finished.retain(|subtask| subtask.status.satisfies_dependants());
    let machine = &mut session.state.machine;
    if matches!(machine.stage(), Stage::SubtaskLoop(_)) && !finished.is_empty() {
        let finished = finished.into_iter().map(|subtask| subtask.id);
        machine.handle(&Order::Skip(finished.collect()))?;
    }
    Ok(())
}

fn finish(session: &Session<'_>, message: String, warnings: Vec<String>) -> Result<Started, Error> {
    let mut started = answer(&session.state, message, warnings);
    started.next_action = Some(session.next_action()?);
    Ok(started)
}

fn answer(state: &RunState, message: String, warnings: Vec<String>) -> Started {
    Started {
        success: true,
        message,
        run_id: state.run_id.to_string(),
        task_id: state.task_id.to_string(),
        title: state.task_title.clone(),
        branch: state.branch.clone(),
        branch_name: state.branch.clone(),
        phase: state.phase().to_owned(),
        tdd_phase: state.tdd_phase().map(ToOwned::to_owned),
        subtasks: state.ids(|_| true),
        progress: state.progress(),
        base: Vec::new(),
        warnings,
        next_action: None,
    }
}

/// Checks everything before anything is written.
fn check(project: &Project, request: &StartRequest) -> Result<Checked, Error> {
    let settings = &project.settings;
    if !settings.autopilot.enabled {
        return Err(Error::Disabled);
    }
    project.refuse_waves("start a run")?;
    let passed_over = refuse_unfinished(project, request.force)?;
    check_templates(
        &settings.autopilot.commit_template,
        settings.git.commit_template.as_deref(),
    )?;
    let (_, backlog) = project.backlog(request.tag.as_ref())?;
    let open = match request.force {
        Force::No => OpenDependencies::Refuse,
        Force::Yes => OpenDependencies::Ignore,
    };
    let id = TaskId::from(request.task.as_str());
    let items = work_order(&backlog.tasks, &id, open)?;
    let task = backlog
        .tasks
        .iter()
        .find(|task| task.id == id)
        .cloned()
        .unwrap_or_else(|| Task::new(id, ""));
    if project.test_command(Some(&task)).is_none() {
        return Err(Error::NoTestCommand);
    }
    refuse_unclean(project)?;
    let branch = branch(project, request, &task, &backlog.tag)?;
    let rules = AutopilotRules {
        max_green_attempts: request
            .max_attempts
            .unwrap_or_else(|| settings.autopilot.max_green_attempts.get())
            .max(1),
        coverage_threshold: settings
            .tdd
            .coverage_threshold
            .map(tm_config::CoverageThreshold::percent),
    };
    let mut warnings: Vec<String> = backlog.warnings.iter().map(ToString::to_string).collect();
    warnings.extend(other_tag(project, request, &backlog.tag));
    warnings.extend(passed_over);
    Ok(Checked {
        tag: backlog.tag,
        task,
        items,
        branch,
        rules,
        warnings,
    })
}

/// Says that what else is asked of the backlog here is about another tag than the run.
fn other_tag(project: &Project, request: &StartRequest, tag: &Tag) -> Option<String> {
    request.tag.as_ref()?;
    let (_, unasked) = project.backlog(None).ok()?;
    (unasked.tag != *tag).then(|| {
        let other = unasked.tag;
        format!("the run is about the tag `{tag}`; without a tag, all else reads and changes `{other}` here")
    })
}

/// Returns warnings of pointers that can't be read: what they named is known by its note, or was nobody's.
fn refuse_unfinished(project: &Project, force: Force) -> Result<Vec<String>, Error> {
    let known = project.own_runs()?;
    let is_over = |run: &CurrentRun| {
        matches!(
            run.status,
            PointerStatus::Completed | PointerStatus::Aborted
        )
    };
    let unfinished = known.runs.into_iter().find(|run| !is_over(run));
    if let (Some(run), Force::No) = (unfinished, force) {
        return Err(Error::Unfinished {
            run: run.run_id,
            task: run.task_id,
            status: run.status.as_str(),
        });
    }
    let unreadable = known.unreadable.iter();
    let told =
        |error: &tm_store::Error| format!("a pointer to a run is passed over: {}", describe(error));
    Ok(unreadable.map(told).collect())
}

/// Makes the folders of runs, with force also where something else is in their place; returns warnings of that.
fn make_way(project: &Project, force: Force) -> Result<Vec<String>, Error> {
    let moved = match force {
        Force::No => Vec::new(),
        Force::Yes => project.folder.make_way()?,
    };
    project.folder.create()?;
    let told = |path: &PathBuf| {
        format!(
            "what was in the place of tm's files is now `{}`",
            path.display()
        )
    };
    Ok(moved.iter().map(told).collect())
}

fn refuse_unclean(project: &Project) -> Result<(), Error> {
    if !project.settings.autopilot.require_clean_working_tree {
        return Ok(());
    }
    match project.changed_paths()? {
        paths if paths.is_empty() => Ok(()),
        paths => Err(Error::Unclean(paths)),
    }
}

/// The branch that was asked for, or a free one by the pattern; in either case never the default branch.
fn branch(
    project: &Project,
    request: &StartRequest,
    task: &Task,
    tag: &Tag,
) -> Result<BranchName, Error> {
    let repository = &project.repository;
    let wanted = if let Some(name) = &request.branch {
        BranchName::new(name.clone()).map_err(tm_worktrees::Error::from)?
    } else {
        let slug = slug(&task.title);
        let values = [
            ("tag", tag.as_str()),
            ("id", task.id.as_str()),
            ("slug", slug.as_str()),
        ];
        let wanted = branch_from_pattern(&project.settings.git.branch, &values);
        repository.free_branch(&wanted.map_err(tm_worktrees::Error::from)?)?
    };
    project.repository.assert_not_default(&wanted)?;
    let is_checked_out = project.repository.assert_on(&wanted).is_ok();
    if let (Some(at), false) = (repository.branch_tip(&wanted)?, is_checked_out) {
        return Err(tm_worktrees::Error::BranchTaken { branch: wanted, at }.into());
    }
    Ok(wanted)
}

fn new_state(project: &Project, checked: &Checked) -> Result<RunState, Error> {
    let head = project.repository.head()?;
    let mut began = now();
    let mut run_id = autopilot_run_id(&checked.tag, &checked.task.id, began);
    while project.folder.run(&run_id)?.path().exists() {
        began = began.plus(1);
        run_id = autopilot_run_id(&checked.tag, &checked.task.id, began);
    }
    let task = &checked.task;
    let machine = Autopilot::new(task.id.clone(), checked.items.clone(), checked.rules);
    let statuses = Task::with_subtasks(std::slice::from_ref(task))
        .map(|task| (task.id.clone(), task.status.clone()));
    Ok(RunState {
        version: VERSION,
        run_id,
        repository: None,
        task_id: task.id.clone(),
        task_title: task.title.to_string(),
        tag: checked.tag.clone(),
        branch: checked.branch.clone(),
        start_branch: head.branch,
        head: head.commit.clone(),
        base_commit: head.commit,
        started_at: began,
        ended_at: None,
        updated_at: began,
        machine,
        last_test_results: None,
        statuses_before: statuses.collect(),
        red_proven: None,
        red_kept: None,
        green_kept: None,
        work_units: Vec::new(),
        event_count: 0,
        last_events: Vec::new(),
    })
}
