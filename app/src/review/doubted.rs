//! Landed work that was built on work which somebody rejected since: it stays, and a person judges it anew. Follows from
//! the backlog, the history and the rejections that the repository keeps; nothing of it is written down.

use crate::project::Project;
use std::collections::BTreeSet;
use tm_reports::Summary;
use tm_runtime::JournalHeader;
use tm_runtime::standing::{Ledger, Rejected, standing};
use tm_scheduler::{RunId, Task, TaskId, Work, WorkKind, quoted};
use tm_store::run::Review;

/// Work that was built on rejected work.
#[derive(Clone, Debug)]
struct Doubt {
    task: TaskId,
    run: RunId,
    on: Rejected,
}

impl Doubt {
    fn is_of(&self, task: &TaskId, run: &RunId) -> bool {
        (&self.task, &self.run) == (task, run)
    }

    /// Whether nobody has looked at the work since what it was built on was rejected.
    fn is_open(&self, review: Option<&Review>) -> bool {
        review.is_none_or(|review| review.at < self.on.at)
    }
}

/// Work of which a person is to say anew whether it is good.
#[derive(Clone, Debug)]
pub struct DoubtedWork {
    /// The task.
    pub task: TaskId,
    /// The run that did it.
    pub run: RunId,
    /// What it was built on.
    pub why: String,
}

/// What in the history of a commit was built on work that somebody rejected since.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubted {
    doubts: Vec<Doubt>,
}

impl Doubted {
    /// Finds it in the branch of a run, whichever run did the work; what can't be read says nothing.
    pub(crate) fn of(project: &Project, header: &JournalHeader) -> Self {
        let ledger = Ledger::read(&project.repository).unwrap_or_default();
        let tip = project
            .repository
            .resolve(header.integration_branch.as_str());
        let (false, Ok(tip)) = (ledger.rejected.is_empty(), tip) else {
            return Self::default();
        };
        let backlog = project.backlog_of(header);
        let tasks = backlog.map_or_else(|_| Vec::new(), |(_, backlog)| backlog.tasks);
        let works = standing(&project.repository, &tip).unwrap_or_default();
        let is_meant = |work: &&Work| work.tag == header.tag && work.kind != WorkKind::Refactor;
        let mut doubts = Vec::new();
        for work in works.iter().filter(is_meant) {
            let found = built_on(project, &ledger, work, &tasks);
            doubts.extend(found.map(|on| Doubt {
                task: work.task.clone(),
                run: work.run.clone(),
                on,
            }));
        }
        Self { doubts }
    }

    /// Returns the rejected tasks that a task's work in a run was built on, unless somebody has looked at it since.
    pub(crate) fn of_task(
        &self,
        task: &TaskId,
        run: &RunId,
        review: Option<&Review>,
    ) -> Vec<String> {
        let mut found: Vec<&Doubt> = self.doubts.iter().collect();
        found.retain(|doubt| doubt.is_of(task, run) && doubt.is_open(review));
        found
            .iter()
            .map(|doubt| doubt.on.task.to_string())
            .collect()
    }

    /// Returns the work, whichever run did it, that nobody has looked at since; of a pair it is named by its task alone.
    pub(crate) fn works(&self, project: &Project) -> Vec<DoubtedWork> {
        let works: BTreeSet<(&TaskId, &RunId)> = self
            .doubts
            .iter()
            .map(|doubt| (&doubt.task, &doubt.run))
            .collect();
        let is_named = |(task, run): &(&TaskId, &RunId)| {
            let whole = task.as_str().strip_suffix(":red").map(TaskId::from);
            whole.is_some_and(|whole| works.contains(&(&whole, *run)))
        };
        works
            .iter()
            .filter(|work| !is_named(work))
            .filter_map(|&(task, run)| {
                Some(DoubtedWork {
                    task: task.clone(),
                    run: run.clone(),
                    why: self.why(project, run, task)?,
                })
            })
            .collect()
    }

    /// What is said of the work of a run on a task that nobody has looked at since.
    fn why(&self, project: &Project, run: &RunId, task: &TaskId) -> Option<String> {
        let directory = project.directory.run(run).ok();
        let review = directory.and_then(|directory| directory.review(task).ok()?);
        let on = self.of_task(task, run, review.as_ref());
        let words = format!(
            "built on {}, which was rejected since: judge it anew",
            quoted(&on)
        );
        (!on.is_empty()).then(|| tm_untrusted::clean(&words))
    }

    /// Says so in the summary of a run.
    pub(crate) fn tell(&self, project: &Project, run: &RunId, summary: &mut Summary) {
        for task in &mut summary.tasks {
            let why = self.why(project, run, &task.id.as_str().into());
            if let Some(last) = task.attempts.last_mut() {
                last.differences.extend(why);
            }
        }
    }
}

fn built_on(
    project: &Project,
    ledger: &Ledger,
    work: &Work,
    tasks: &[Task],
) -> impl Iterator<Item = Rejected> {
    let needs = needed(&work.task, tasks);
    let is_needed =
        |rejected: &Rejected| rejected.tag == work.tag && needs.contains(&rejected.task);
    let mut found = Vec::new();
    if ledger.rejected.iter().any(is_needed) {
        // Work that began when it had been taken back was not built on it.
        let below = standing(&project.repository, &work.commit).unwrap_or_default();
        found = ledger.standing_among(&below);
        found.retain(|(rejected, _)| is_needed(rejected));
    }
    found.into_iter().map(|(rejected, _)| rejected)
}

/// All that a task depends on, directly or not; tests are no task of their own there.
fn needed(task: &TaskId, tasks: &[Task]) -> BTreeSet<TaskId> {
    let id = TaskId::from(task.as_str().strip_suffix(":red").unwrap_or(task.as_str()));
    let mut needed = BTreeSet::new();
    let mut open = vec![&id];
    while let Some(next) = open.pop() {
        let found = Task::with_subtasks(tasks).find(|task| task.id == *next);
        for before in found.into_iter().flat_map(|task| &task.dependencies) {
            if *before != id && needed.insert(before.clone()) {
                open.push(before);
            }
        }
    }
    needed
}
