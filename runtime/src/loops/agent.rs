//! One try at an iteration: prompt, agent, what it said last, what it changed. And how a loop looks at the backlog: what is
//! open, and what of that nothing holds up.

use super::setup::{commit_rest as commit_rest_of, env_markers};
use super::{LoopEvent, LoopSetup, Place, Teller};
use crate::attempt::{
    Attempt, AttemptRunner, ConcurrentAttempts, Launch, Ran, Start, Workplace, not_started,
};
use crate::holding::git_of_agent;
use crate::{StepError, blocking, describe, in_background};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tm_executors::agent::{AgentCommand, Follower, LogEnd, Progress, closing};
use tm_executors::process::Besides;
use tm_presets::LoopContext;
use tm_scheduler::iteration::{AgentEnd, BacklogView, LoopInput, WorkChanges};
use tm_scheduler::{AgentReport, AttemptNumber, Status, StopMode, Task, TaskId};
use tm_store::run::AttemptDirectory;
use tm_worktrees::{Error, GitInCheckout, SETTINGS_OF_TM, WorkSnapshot, Worktree};
use tokio::sync::watch;
use tokio::task::block_in_place;

/// Which try at which iteration, and what went wrong before.
#[derive(Debug)]
pub(super) struct Try {
    pub(super) iteration: u32,
    pub(super) attempt: u32,
    pub(super) last_failure: Option<String>,
}

/// Runs the agent of a try to its end, and looks at what it left; an error is that of the surroundings, in which no agent
/// could be started.
pub(super) async fn run_agent(
    setup: Arc<LoopSetup>,
    this: Try,
    concurrent: Arc<ConcurrentAttempts>,
    orders: watch::Receiver<Option<StopMode>>,
    teller: &Teller,
) -> Result<AgentEnd, StepError> {
    let before = with_setup(&setup, snapshot).await;
    let mut end = match ran(&setup, &this, (concurrent, orders), teller).await {
        Ok(end) => end,
        Err(trouble) if trouble.is_of_surroundings() => return Err(trouble),
        Err(trouble) => {
            let report = not_started(&setup.recipe, trouble.into());
            return Ok(ended(report, String::new(), String::new()));
        }
    };
    let warn = |error: StepError| {
        let message = error.to_string();
        teller.warn(message.clone());
        message
    };
    match commit_rest(&setup, this.iteration).await {
        Ok(refused) => refused.into_iter().for_each(|words| teller.warn(words)),
        Err(error) => drop(warn(error)),
    }
    end.work = work_since(&setup, before)
        .await
        .unwrap_or_else(|error| WorkChanges {
            unseen: Some(warn(error)),
            ..WorkChanges::default()
        });
    Ok(end)
}

/// What an agent came to, as far as it says so itself.
fn ended(report: AgentReport, final_message: String, prompt: String) -> AgentEnd {
    AgentEnd {
        report,
        final_message,
        prompt,
        work: WorkChanges::default(),
    }
}

async fn ran(
    setup: &LoopSetup,
    this: &Try,
    (concurrent, orders): (Arc<ConcurrentAttempts>, watch::Receiver<Option<StopMode>>),
    teller: &Teller,
) -> Result<AgentEnd, StepError> {
    let tag = setup.tag.as_str();
    let directory = setup.directory.attempt(tag, this.iteration, this.attempt);
    let (command, prompt) = command(setup, this, &directory)?;
    let output = command.output;
    let attempt = Attempt {
        task: format!("{tag} iteration-{}", this.iteration).into(),
        number: AttemptNumber(this.attempt),
        start: Start::New,
        command,
        orders,
    };
    let mut follower = Follower::new(directory.stdout());
    let mut follow = |end| {
        let lines = follower.lines(end).into_iter();
        lines.for_each(|line| teller.tell(LoopEvent::Output(line)));
    };
    let progress = |_: Progress| follow(LogEnd::Growing);
    let runner = runner(setup, concurrent);
    // What was noticed of it says what the warning says.
    let Ran { mut report, .. } = runner.run(attempt, progress, |_| {}).await?;
    follow(LogEnd::Final);
    let noticed = report.noticed.iter().cloned();
    noticed.for_each(|words| teller.warn(words));
    let said = closing(&directory.stdout(), output);
    if said.prints_events && !said.message.is_empty() {
        report.last_words.clone_from(&said.message);
    }
    Ok(ended(report, said.message, prompt))
}

/// Does what waits for git away from the loop.
async fn with_setup<T: Send + 'static>(
    setup: &Arc<LoopSetup>,
    work: impl FnOnce(&LoopSetup) -> Result<T, Error> + Send + 'static,
) -> Result<T, StepError> {
    let setup = Arc::clone(setup);
    blocking(move || work(&setup)).await
}

/// The folder as it is now, through git folders that nobody else chose.
fn snapshot(setup: &LoopSetup) -> Result<WorkSnapshot, Error> {
    match setup.place.worktree() {
        Some(worktree) => worktree.work_snapshot(),
        None => setup.repository.work_snapshot(),
    }
}

fn runner(setup: &LoopSetup, concurrent: Arc<ConcurrentAttempts>) -> AttemptRunner {
    AttemptRunner {
        repository: setup.repository.clone(),
        own_files: setup.own_files.clone(),
        own_folder: AttemptRunner::project_of(setup.directory.path()),
        workplace: match setup.place {
            Place::Checkout(_) => Workplace::Checkout,
            Place::Worktree { .. } if is_beside_settings(setup) => Workplace::BesideSettings,
            Place::Worktree { .. } => Workplace::Elsewhere,
        },
        escape: setup.escape,
        concurrent,
    }
}

/// Whether the backlog, in whose folder its agents write, lies beside tm's settings.
fn is_beside_settings(setup: &LoopSetup) -> bool {
    let backlog = setup.backlog.as_ref().map(|(source, _)| source.path());
    let folder = backlog.and_then(|path| path.parent()?.canonicalize().ok());
    let settings = SETTINGS_OF_TM.map(|name| setup.repository.checkout_root().join(name));
    folder.is_some_and(|folder| settings.iter().any(|path| path.starts_with(&folder)))
}

async fn work_since(
    setup: &Arc<LoopSetup>,
    before: Result<WorkSnapshot, StepError>,
) -> Result<WorkChanges, StepError> {
    let before = before?;
    let work = with_setup(setup, move |setup| {
        let worktree = setup.place.worktree();
        let repository = worktree.map_or(&setup.repository, Worktree::repository);
        let after = snapshot(setup);
        match after.and_then(|after| repository.work_between(&before, &after, &setup.left_out)) {
            Err(error) if error.is_of_work() => Ok(WorkChanges {
                refused: Some(format!("failed to {error}")),
                ..WorkChanges::default()
            }),
            work => work,
        }
    });
    work.await
}

/// In a worktree, what an agent committed is brought home and nothing is left uncommitted: its folder goes away, its branch
/// stays. Returns in words which commits are not taken over.
async fn commit_rest(setup: &Arc<LoopSetup>, iteration: u32) -> Result<Option<String>, StepError> {
    let setup = Arc::clone(setup);
    let commit = move || {
        let Some(worktree) = setup.place.worktree() else {
            return Ok(None);
        };
        let refused = worktree.bring_home()?;
        let what = format!("what iteration {iteration} left uncommitted");
        let (message, runner) = (setup.message(&what), setup.hook_runner());
        commit_rest_of(worktree, &setup.never_commit, &message, runner.as_ref())?;
        Ok(refused)
    };
    in_background(commit).await?
}

/// Writes the prompt and returns everything that starting the agent needs, and the prompt.
fn command(
    setup: &LoopSetup,
    this: &Try,
    directory: &AttemptDirectory,
) -> Result<(Box<AgentCommand>, String), StepError> {
    let unread = |error| {
        let path = setup.progress.path().display();
        StepError::of_task(format!("failed to read `{path}`: {error}"))
    };
    let context = LoopContext {
        iteration: this.iteration,
        progress: setup.progress.tail().map_err(unread)?,
        last_failure: this.last_failure.clone(),
        ..setup.context.clone()
    };
    let prompt = setup.prompt.framed(&context)?;
    let (besides, of_git) = block_in_place(|| besides(setup))?.unzip();
    let mut variables = variables(setup, this);
    variables.extend(of_git.into_iter().flatten());
    let launch = Launch {
        recipe: &setup.recipe,
        executor: setup.executor.clone(),
        directory,
        worktree: setup.place.folder(),
        prompt: &prompt,
        task_id: format!("iteration-{}", this.iteration),
        complexity: None,
        phase: "none",
        attempt: this.attempt,
        tag: &setup.tag,
        run_id: &setup.id,
        tm_program: &setup.tm_program,
        variables,
        env_markers: env_markers(&setup.id, &setup.tag, this.iteration, this.attempt),
        limits: setup.attempt_limits,
        besides,
    };
    Ok((launch.prepare()?, prompt))
}

type Variables = Vec<(OsString, OsString)>;

/// What an agent is given where it is held, and what tells its git so; `None` where nobody of tm's holds it.
fn besides(setup: &LoopSetup) -> Result<Option<(Besides, Variables)>, Error> {
    if setup.is_held_elsewhere {
        return Ok(None);
    }
    if !setup.executor.holds() {
        return Ok(Some((Besides::default(), Variables::new())));
    }
    let (git, variables) = if let Some(worktree) = setup.place.worktree() {
        (worktree.begin_private()?, Variables::new())
    } else {
        let GitInCheckout { git, variables } = setup.repository.git_in_checkout()?;
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        (git, variables.to_vec())
    };
    let mut besides = git_of_agent(git, &setup.executor);
    // How the next one is held is not its to say.
    let checkouts = [setup.place.folder(), setup.repository.checkout_root()];
    let settings = |root: &Path| SETTINGS_OF_TM.map(|name| root.join(name));
    besides
        .read
        .extend(checkouts.into_iter().flat_map(settings));
    // Where tm's own folder lies in the checkout, what is seen of it is nothing to commit.
    let own = setup.own_files.iter().map(|own| own.join(".gitignore"));
    besides.read.extend(own.filter(|path| path.is_file()));
    // It keeps the user's backlog, which is written by new names beside it.
    besides.write.push(setup.progress.path().to_owned());
    let hidden = setup.executor.holding().map(|held| held.hidden.as_slice());
    let holds_hidden = |folder: &&Path| {
        hidden
            .into_iter()
            .flatten()
            .any(|hidden| hidden.starts_with(folder))
    };
    let backlog = setup.backlog.iter().map(|(source, _)| source.path());
    besides.write.extend(backlog.map(|path| {
        let beside = path
            .parent()
            .filter(|folder| path.is_file() && !holds_hidden(folder));
        beside.unwrap_or(path).to_owned()
    }));
    Ok(Some((besides, variables)))
}

fn variables(setup: &LoopSetup, this: &Try) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("TM_PHASE".into(), "none".into()),
        ("TM_ITERATION".into(), this.iteration.to_string().into()),
        ("TM_PROGRESS_FILE".into(), setup.progress.path().into()),
    ];
    variables.extend(setup.place.variables());
    if let Some((source, options)) = &setup.backlog {
        variables.push(("TM_BACKLOG_FILE".into(), source.path().into()));
        // Task Master's own commands read this one.
        if let Some(tag) = &options.tag {
            variables.push(("TASKMASTER_TAG".into(), tag.as_str().into()));
        }
    }
    variables
}

/// A file that somebody is just writing is read again so often.
const TRIES: u32 = 4;
/// The pause before it is read again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Reads the backlog; where there is none, nothing is open.
pub(super) async fn look(setup: &LoopSetup) -> LoopInput {
    let Some((source, options)) = &setup.backlog else {
        return LoopInput::Looked(BacklogView::default());
    };
    let mut tries = 0;
    loop {
        match source.read(options) {
            Ok(backlog) => return LoopInput::Looked(view(&backlog.tasks, &setup.statuses)),
            Err(error) if tries == TRIES => return LoopInput::Unreadable(describe(&error)),
            Err(_) => tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(tries)).await,
        }
        tries += 1;
    }
}

fn view(tasks: &[Task], statuses: &[Status]) -> BacklogView {
    let all: BTreeMap<TaskId, Status> = Task::with_subtasks(tasks)
        .map(|task| (task.id.clone(), task.status.clone()))
        .collect();
    let is_open = |task: &&Task| {
        if statuses.is_empty() {
            task.status.is_open()
        } else {
            statuses.contains(&task.status)
        }
    };
    let is_unfinished = |id: &TaskId| {
        let status = all.get(id);
        status.is_some_and(|status| !status.satisfies_dependants())
    };
    let is_workable = |task: &&Task| {
        task.status == Status::InProgress || !task.dependencies.iter().any(is_unfinished)
    };
    let open = || tasks.iter().filter(is_open);
    BacklogView {
        open: open().map(|task| task.id.clone()).collect(),
        workable: (open().filter(is_workable))
            .map(|task| task.id.clone())
            .collect(),
        statuses: all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, status: Status, dependencies: &[&str]) -> Task {
        let dependencies = dependencies.iter().map(|&id| id.into()).collect();
        Task {
            status,
            dependencies,
            ..Task::new(id, "Build")
        }
    }

    #[test]
    fn what_is_kept_from_agents_is_all_that_a_project_sets_tm_by() {
        assert_eq!(SETTINGS_OF_TM, tm_config::PROJECT_FILES);
    }

    #[test]
    fn open_tasks_wait_for_those_that_are_not_finished() {
        let mut parent = task("3", Status::Pending, &["1", "gone"]);
        parent.subtasks = vec![task("3.1", Status::Pending, &[])];
        let tasks = [
            task("1", Status::Done, &[]),
            task("2", Status::Blocked, &[]),
            parent,
            task("4", Status::Pending, &["2"]),
            task("5", Status::InProgress, &["2"]),
        ];
        let of = |statuses: &[Status]| {
            let view = view(&tasks, statuses);
            let text =
                |ids: &[TaskId]| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
            (text(&view.open), text(&view.workable), view.statuses.len())
        };
        assert_eq!(of(&[]), ("3 4 5".to_owned(), "3 5".to_owned(), 6));
        assert_eq!(of(&[Status::Pending]).0, "3 4");
        assert_eq!(of(&[Status::Blocked, Status::Review]).0, "2");
    }
}
