//! Writes statuses into the backlog, one after the other, several at a time where they come together.
//!
//! A status that can't be written now is written with the next one, and again when the run is taken up.

use super::run_setup::{RunSetup, Shared};
use super::step_message::StepMessage;
use crate::{RunEvent, StepError, blocking, in_background, now};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tm_executors::SharedLook;
use tm_scheduler::{Status, TaskId, Unit, counted, of_unit};
use tm_store::backlog::{StatusChange, StatusOutcome};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// The last statuses of a run that could not be written are tried again after these pauses.
const AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(450),
    Duration::from_secs(2),
];

/// So many times as long as the backlog took to be written, or to be looked at, nobody does that again: where hundreds of agents
/// end one after the other, what changes meanwhile is written at once.
const RESTS: u32 = 4;
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The writer of statuses.
#[derive(Debug)]
pub(crate) struct StatusWriter {
    setup: Shared,
    sender: Option<mpsc::UnboundedSender<(TaskId, Status)>>,
    task: JoinHandle<Result<(), StepError>>,
    pub(crate) ledger: Arc<Ledger>,
}

/// The statuses that tm gave tasks.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Locked as long as something is sent to the writer, so that what is sent last of a task is what stands here.
    given: Mutex<BTreeMap<TaskId, Given>>,
    /// The statuses that tasks had when they joined the run.
    joined: Mutex<BTreeMap<TaskId, Status>>,
    /// Weak, because the writer ends when nobody holds a sender any more.
    sender: mpsc::WeakUnboundedSender<(TaskId, Status)>,
    /// Looks at the backlog: many agents that end in the same moment are content with one.
    looks: SharedLook<Look>,
    /// How many looks there were.
    count: AtomicU64,
    /// The number of the last look of which somebody has told.
    told: Mutex<u64>,
}

/// The last status that tm gave a task.
#[derive(Clone, Debug)]
struct Given {
    status: Status,
    /// How many it was given before.
    number: u32,
    /// What the backlog may say as long as this one is not written.
    until_written: Vec<Status>,
}

/// What one look at the backlog found.
#[derive(Debug)]
struct Look {
    /// Counts from 1.
    number: u64,
    changed: Vec<StatusOfOthers>,
}

/// A status that somebody else has changed.
#[derive(Debug)]
struct StatusOfOthers {
    task: TaskId,
    found: Status,
    /// What tm gave it last before the look.
    given: Given,
}

impl Ledger {
    fn new(writer: &mpsc::UnboundedSender<(TaskId, Status)>) -> Self {
        Self {
            given: Mutex::default(),
            joined: Mutex::default(),
            sender: writer.downgrade(),
            looks: SharedLook::new().resting(RESTS),
            count: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    /// Notes the status that a task had when it joined the run.
    pub(crate) fn begin(&self, task: &TaskId, status: &Status) {
        let mut joined = self.joined.lock();
        joined.insert(task.clone(), status.clone());
    }

    /// Notes a status that tm gives a task, and has it written; `at_start` is what the task had before the first one.
    fn set(
        &self,
        (task, status): (TaskId, Status),
        at_start: Option<&Status>,
        writer: &mpsc::UnboundedSender<(TaskId, Status)>,
    ) {
        let joined = self.joined.lock().get(&task).cloned();
        let mut given = self.given.lock();
        let next = match given.remove(&task) {
            None => Given {
                status: status.clone(),
                number: 0,
                until_written: joined.or_else(|| at_start.cloned()).into_iter().collect(),
            },
            Some(mut last) => {
                last.until_written.push(last.status);
                Given {
                    status: status.clone(),
                    number: last.number + 1,
                    until_written: last.until_written,
                }
            }
        };
        given.insert(task.clone(), next);
        // The writer lives as long as this sender.
        let _writer_is_gone = writer.send((task, status));
    }

    /// Notes that the backlog has this status of a task.
    fn is_written(&self, task: &TaskId, status: &Status) {
        let mut given = self.given.lock();
        let Some(given) = given.get_mut(task) else {
            return;
        };
        if given.status == *status {
            given.until_written.clear();
        } else if let Some(at) = given.until_written.iter().rposition(|one| one == status) {
            given.until_written.drain(..at);
        }
    }

    /// Sets the statuses back that somebody else has changed, because tm alone owns those of its run; returns what was
    /// found, in words.
    pub(crate) async fn set_back(self: &Arc<Self>, setup: &Shared) -> Vec<String> {
        let (own, setup) = (Arc::clone(self), Arc::clone(setup));
        let look = async {
            let look = in_background(move || own.look(&setup));
            look.await.ok()
        };
        let Some(look) = self.looks.next(look).await else {
            return Vec::new();
        };
        self.answer(&look)
    }

    /// Has statuses written again that somebody else has changed, where tm has not given the task another one since; returns
    /// what was found, once for all that share a look.
    fn answer(&self, look: &Look) -> Vec<String> {
        {
            let mut told = self.told.lock();
            if *told >= look.number {
                return Vec::new();
            }
            *told = look.number;
        }
        let mut given = self.given.lock();
        let mut set_back = |StatusOfOthers {
                                task,
                                found,
                                given: seen,
                            }: &StatusOfOthers| {
            let last = given
                .get_mut(task)
                .filter(|last| last.number == seen.number)?;
            if let Some(sender) = self.sender.upgrade() {
                // The writer lives as long as a sender.
                let _writer_is_gone = sender.send((task.clone(), last.status.clone()));
                last.until_written.push(found.clone());
            }
            let ours = &last.status;
            Some(format!(
                "somebody set the status of task {task} to `{found}`; it is set back to `{ours}`"
            ))
        };
        look.changed.iter().filter_map(&mut set_back).collect()
    }

    fn look(&self, setup: &RunSetup) -> Look {
        Look {
            number: self.count.fetch_add(1, Ordering::Relaxed) + 1,
            changed: self.changed_by_others(setup),
        }
    }

    /// Returns the tasks of the run whose status somebody else has changed: those that have another one than tm gave them
    /// before the look, although that was written before it.
    fn changed_by_others(&self, setup: &RunSetup) -> Vec<StatusOfOthers> {
        let given = self.given.lock().clone();
        // A backlog that can't be read now is told of when it is to be written.
        let Ok(backlog) = setup.run_backlog().read() else {
            return Vec::new();
        };
        let found: BTreeMap<TaskId, Status> = of_unit(&backlog.tasks, Unit::Subtask)
            .into_iter()
            .chain(backlog.tasks)
            .map(|task| (task.id, task.status))
            .collect();
        changed_by_others(given, |task| found.get(task).cloned())
    }
}

/// Compares what a look found with what tm had given the tasks before it.
fn changed_by_others(
    given: BTreeMap<TaskId, Given>,
    found: impl Fn(&TaskId) -> Option<Status>,
) -> Vec<StatusOfOthers> {
    let changed = given.into_iter().filter_map(|(task, given)| {
        let found = found(&task)?;
        let is_ours = found == given.status || given.until_written.contains(&found);
        (!is_ours).then_some(StatusOfOthers { task, found, given })
    });
    changed.collect()
}

impl StatusWriter {
    pub(crate) fn start(setup: &Shared, messages: mpsc::UnboundedSender<StepMessage>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let ledger = Arc::new(Ledger::new(&sender));
        let writing = write_all(Arc::clone(setup), receiver, messages, Arc::clone(&ledger));
        let task = tokio::spawn(writing);
        Self {
            setup: Arc::clone(setup),
            sender: Some(sender),
            task,
            ledger,
        }
    }

    pub(crate) fn set(&self, task: TaskId, status: Status) {
        if let Some(sender) = &self.sender {
            let at_start = self.setup.tasks.get(&task).map(|task| &task.status);
            self.ledger.set((task, status), at_start, sender);
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
    ledger: Arc<Ledger>,
) -> Result<(), StepError> {
    let mut pending: BTreeMap<TaskId, Status> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let tell = |event| {
        let _nobody_listens = messages.send(StepMessage::RunEvent(event));
    };
    let mut rested = Instant::now();
    while let Some((task, status)) = receiver.recv().await {
        pending.insert(task, status);
        while let Ok(Some((task, status))) = timeout_at(rested, receiver.recv()).await {
            pending.insert(task, status);
        }
        let begun = Instant::now();
        match write(&setup, &pending).await {
            Ok((outcomes, gone)) => {
                if let Some(words) = along(&outcomes, &pending) {
                    tell(RunEvent::Note(words));
                }
                // What somebody else has checked out may have them again.
                for (task, status) in pending.extract_if(.., |task, _| !gone.contains(task)) {
                    ledger.is_written(&task, &status);
                }
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
        rested = Instant::now() + (begun.elapsed() * RESTS).min(LONGEST_REST);
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

#[cfg(test)]
mod tests {
    use super::*;

    const PENDING: Status = Status::Pending;
    const STARTED: Status = Status::InProgress;

    struct Scene {
        ledger: Ledger,
        writer: mpsc::UnboundedSender<(TaskId, Status)>,
        written: mpsc::UnboundedReceiver<(TaskId, Status)>,
    }

    impl Scene {
        fn new() -> Self {
            let (writer, written) = mpsc::unbounded_channel();
            Self {
                ledger: Ledger::new(&writer),
                writer,
                written,
            }
        }

        fn set(&self, task: &str, status: Status) {
            self.ledger
                .set((task.into(), status), Some(&PENDING), &self.writer);
        }

        /// Has everything written, and returns what the backlog has then.
        fn write(&mut self) -> Vec<(String, Status)> {
            let mut last = BTreeMap::new();
            while let Ok((task, status)) = self.written.try_recv() {
                self.ledger.is_written(&task, &status);
                last.insert(task.to_string(), status);
            }
            last.into_iter().collect()
        }

        /// What a look sees of a backlog with these statuses.
        fn look(&self, number: u64, backlog: &[(&str, Status)]) -> Look {
            let found = |task: &TaskId| {
                let of_task = backlog.iter().find(|(id, _)| *id == task.as_str());
                of_task.map(|(_, status)| status.clone())
            };
            Look {
                number,
                changed: changed_by_others(self.ledger.given.lock().clone(), found),
            }
        }
    }

    #[test]
    fn a_look_from_before_a_status_was_given_undoes_nothing_and_is_told_of_once() {
        let mut scene = Scene::new();
        scene.set("1", STARTED);
        scene.set("2", STARTED);
        scene.write();
        let backlog = [("1", PENDING), ("2", PENDING)];
        let [first, second] = [1, 2].map(|number| scene.look(number, &backlog));
        // The task is landed while its agent's end waits for the look.
        scene.set("1", Status::Done);
        assert_eq!(
            scene.ledger.answer(&second),
            ["somebody set the status of task 2 to `pending`; it is set back to `in-progress`"]
        );
        assert_eq!(scene.ledger.answer(&second), [""; 0], "who shares it");
        assert_eq!(scene.ledger.answer(&first), [""; 0], "who comes late");
        assert_eq!(
            scene.write(),
            [("1".to_owned(), Status::Done), ("2".to_owned(), STARTED)]
        );
    }

    #[test]
    fn what_is_not_written_yet_is_nobodys_doing_and_what_was_written_is() {
        let mut scene = Scene::new();
        scene.set("1", STARTED);
        scene.set("1", Status::Done);
        let told = |scene: &Scene, number, status| {
            let look = scene.look(number, &[("1", status)]);
            scene.ledger.answer(&look).len()
        };
        assert_eq!(told(&scene, 1, PENDING), 0);
        assert_eq!(told(&scene, 2, STARTED), 0);
        assert_eq!(told(&scene, 3, Status::Cancelled), 1);
        assert_eq!(
            told(&scene, 4, Status::Cancelled),
            0,
            "it is about to be set back"
        );
        scene.write();
        assert_eq!(told(&scene, 5, Status::Done), 0);
        assert_eq!(told(&scene, 6, STARTED), 1, "an older backlog was put back");
        assert_eq!(scene.write(), [("1".to_owned(), Status::Done)]);
    }
}
