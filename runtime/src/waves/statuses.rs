//! Writes statuses into the backlog, one after the other, several at a time where they come together.
//!
//! A status that can't be written now is written with the next one, and again when the run is taken up.

use super::run_setup::{RunSetup, Shared};
use super::step_message::StepMessage;
use crate::{RunEvent, StepError, blocking, in_background, now};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tm_executors::SharedLook;
use tm_scheduler::{Status, TaskId, Unit, counted, of_unit};
use tm_store::backlog::{StatusChange, StatusOutcome};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The last statuses of a run that could not be written are tried again after these pauses.
const AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(450),
    Duration::from_secs(2),
];

/// The writer of statuses.
#[derive(Debug)]
pub(crate) struct StatusWriter {
    sender: Option<mpsc::UnboundedSender<(TaskId, Status)>>,
    task: JoinHandle<Result<(), StepError>>,
    pub(crate) ledger: Arc<Ledger>,
}

/// The statuses that tm wrote, or is about to write: the last one of each task, and the one before.
#[derive(Debug)]
pub(crate) struct Ledger {
    written: Mutex<BTreeMap<TaskId, (Option<Status>, Status)>>,
    /// The statuses that tasks had when they joined the run.
    joined: Mutex<BTreeMap<TaskId, Status>>,
    /// Weak, because the writer ends when nobody holds a sender any more.
    sender: mpsc::WeakUnboundedSender<(TaskId, Status)>,
    /// Looks at the backlog: many agents that end in the same moment are content with one.
    looks: SharedLook<Vec<StatusOfOthers>>,
    /// The last look of which somebody has told.
    told: Mutex<Option<Arc<Vec<StatusOfOthers>>>>,
}

/// A status that somebody else has changed.
#[derive(Debug)]
struct StatusOfOthers {
    task: TaskId,
    found: Status,
    /// What tm made it.
    ours: Status,
}

impl Ledger {
    /// Notes the status that a task had when it joined the run.
    pub(crate) fn begin(&self, task: &TaskId, status: &Status) {
        let mut joined = self.joined.lock();
        joined.insert(task.clone(), status.clone());
    }

    fn note(&self, task: &TaskId, status: &Status) {
        let mut written = self.written.lock();
        let before = written.get(task).map(|(_, last)| last.clone());
        written.insert(task.clone(), (before, status.clone()));
    }

    /// Sets the statuses back that somebody else has changed, because tm alone owns those of its run; returns what was
    /// found, in words.
    pub(crate) async fn set_back(self: &Arc<Self>, setup: &Shared) -> Vec<String> {
        let (own, setup) = (Arc::clone(self), Arc::clone(setup));
        let look = async {
            let changed = in_background(move || own.changed_by_others(&setup));
            changed.await.ok()
        };
        let set_back = |StatusOfOthers { task, found, ours }: &StatusOfOthers| {
            if let Some(sender) = self.sender.upgrade() {
                // The writer lives as long as a sender.
                let _writer_is_gone = sender.send((task.clone(), ours.clone()));
            }
            format!(
                "somebody set the status of task {task} to `{found}`; it is set back to `{ours}`"
            )
        };
        let Some(changed) = self.looks.next(look).await else {
            return Vec::new();
        };
        // Of those who share a look one tells.
        let told = self.told.lock().replace(Arc::clone(&changed));
        if told.is_some_and(|told| Arc::ptr_eq(&told, &changed)) {
            return Vec::new();
        }
        changed.iter().map(set_back).collect()
    }

    /// Returns the tasks of the run whose status somebody else has changed.
    ///
    /// Just before tm writes, the status from before is still there, and that is nobody's doing.
    fn changed_by_others(&self, setup: &RunSetup) -> Vec<StatusOfOthers> {
        // A backlog that can't be read now is told of when it is to be written.
        let Ok(backlog) = setup.run_backlog().read() else {
            return Vec::new();
        };
        let found: BTreeMap<TaskId, Status> = of_unit(&backlog.tasks, Unit::Subtask)
            .into_iter()
            .chain(backlog.tasks)
            .map(|task| (task.id, task.status))
            .collect();
        let written = self.written.lock();
        let joined = self.joined.lock();
        let of_setup = |task| setup.tasks.get(task).map(|task| &task.status);
        let changed = written.iter().filter_map(|(task, (before, last))| {
            let found = found.get(task)?;
            let at_start = joined.get(task).or_else(|| of_setup(task));
            let is_ours = found == last || Some(found) == before.as_ref().or(at_start);
            (!is_ours).then(|| StatusOfOthers {
                task: task.clone(),
                found: found.clone(),
                ours: last.clone(),
            })
        });
        changed.collect()
    }
}

impl StatusWriter {
    pub(crate) fn start(setup: &Shared, messages: mpsc::UnboundedSender<StepMessage>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let task = tokio::spawn(write_all(Arc::clone(setup), receiver, messages));
        let ledger = Ledger {
            written: Mutex::default(),
            joined: Mutex::default(),
            sender: sender.downgrade(),
            looks: SharedLook::new(),
            told: Mutex::default(),
        };
        Self {
            sender: Some(sender),
            task,
            ledger: Arc::new(ledger),
        }
    }

    pub(crate) fn set(&self, task: TaskId, status: Status) {
        self.ledger.note(&task, &status);
        if let Some(sender) = &self.sender {
            // The writer lives as long as this sender.
            let _writer_is_gone = sender.send((task, status));
        }
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(&mut self) -> Result<(), StepError> {
        self.sender = None;
        (&mut self.task)
            .await
            .unwrap_or_else(|error| Err(error.into()))
    }
}

async fn write_all(
    setup: Shared,
    mut receiver: mpsc::UnboundedReceiver<(TaskId, Status)>,
    messages: mpsc::UnboundedSender<StepMessage>,
) -> Result<(), StepError> {
    let mut pending: BTreeMap<TaskId, Status> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let tell = |event| {
        let _nobody_listens = messages.send(StepMessage::RunEvent(event));
    };
    while let Some((task, status)) = receiver.recv().await {
        pending.insert(task, status);
        while let Ok((task, status)) = receiver.try_recv() {
            pending.insert(task, status);
        }
        match write(&setup, &pending).await {
            Ok((outcomes, gone)) => {
                if let Some(words) = along(&outcomes, &pending) {
                    tell(RunEvent::Note(words));
                }
                // What somebody else has checked out may have them again.
                pending.retain(|task, _| gone.contains(task));
                for task in gone.into_iter().filter(|task| told.insert(task.clone())) {
                    tell(RunEvent::Warning(format!(
                        "task `{task}` is not in the backlog any more, under its title neither, or its id is another task's now: its status is not written"
                    )));
                }
            }
            Err(why) => tell(RunEvent::Warning(format!(
                "{why}; the statuses are written with the next change"
            ))),
        }
    }
    for pause in AGAIN_AFTER {
        if write(&setup, &pending).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
    }
    write(&setup, &pending).await.map(drop)
}

/// Writes statuses; returns what was written, and the tasks that are not there any more.
async fn write(
    setup: &Shared,
    pending: &BTreeMap<TaskId, Status>,
) -> Result<(Vec<StatusOutcome>, Vec<TaskId>), StepError> {
    if pending.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let change = |(task, status): (&TaskId, &Status)| StatusChange {
        id: task.clone(),
        status: status.clone(),
    };
    let changes: Vec<StatusChange> = pending.iter().map(change).collect();
    let setup = Arc::clone(setup);
    let written = blocking(move || {
        let stamp = tm_store::backlog::stamp(now());
        setup.run_backlog().set_statuses(&changes, &stamp)
    });
    written.await
}

/// Tells how many open subtasks were done with their tasks.
fn along(outcomes: &[StatusOutcome], pending: &BTreeMap<TaskId, Status>) -> Option<String> {
    let is_along = |outcome: &&StatusOutcome| {
        let parent = outcome
            .id
            .as_str()
            .rsplit_once('.')
            .map(|(parent, _)| TaskId::from(parent));
        outcome.new == Status::Done
            && outcome.old != outcome.new
            && parent.is_some_and(|parent| pending.get(&parent) == Some(&Status::Done))
            && !pending.contains_key(&outcome.id)
    };
    let count = outcomes.iter().filter(is_along).count();
    (count > 0).then(|| format!("done with their tasks: {}", counted(count, "subtask")))
}
