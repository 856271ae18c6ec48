//! Hands out the effects: each step runs as a task of its own and comes back with one answer.
//!
//! Worktrees travel with the steps: a step is given the worktree that it works in and gives it back with its answer.

use super::looking_ahead::LookingAhead;
use super::run_setup::{RunSetup, Shared};
use super::statuses::StatusWriter;
use super::steering::Reply;
use super::step_message::{StepDone, StepMessage};
use super::steps::{self, MergesAhead, StepContext, StepShared, TestedAhead, WorkStep};
use crate::attempt::{AttemptRunner, Start, Workplace};
use crate::callers::AgentCaller;
use crate::step_error::words_of_panic;
use crate::{RunEvent, StepError, blocking};
use futures_util::FutureExt as _;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tm_scheduler::{
    Answer, AttemptNumber, AttemptStep, CommitId, Effect, Event, Input, Keep, Phase, PlannedTask,
    RunStatus, Scheduler, StopMode, Task, TaskId, addition, of_unit,
};
use tm_store::run::note_planned;
use tm_worktrees::Worktree;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, spawn_blocking};

/// A worktree that is in use, and the attempt that uses it.
type Held = (AttemptNumber, Worktree);

/// Those who perform the effects.
#[derive(Debug)]
pub(crate) struct EffectRunner {
    setup: Shared,
    /// Tasks of the backlog that joined the run.
    joined: BTreeMap<TaskId, Task>,
    statuses: StatusWriter,
    ahead: LookingAhead,
    shared: StepShared,
    receiver: mpsc::UnboundedReceiver<StepMessage>,
    worktrees: BTreeMap<TaskId, Held>,
    orders: BTreeMap<TaskId, watch::Sender<Option<StopMode>>>,
    steps: JoinSet<()>,
    releases: JoinSet<Option<String>>,
    looks: JoinSet<()>,
    merges_ahead: Arc<MergesAhead>,
    tested_ahead: BTreeMap<TaskId, TestedAhead>,
    tests_ahead: JoinSet<()>,
}

impl EffectRunner {
    /// Returns why no jobs are taken at the moment where they are to run.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.setup.executor.trouble()
    }

    pub(crate) fn new(setup: RunSetup) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let setup = Arc::new(setup);
        let told = sender.clone();
        setup.checkouts.tell_through(move |event| {
            // Nobody listens once the run has ended.
            let _nobody_listens = told.send(StepMessage::RunEvent(event));
        });
        let statuses = StatusWriter::start(&setup, sender.clone());
        Self {
            shared: StepShared {
                ledger: Arc::clone(&statuses.ledger),
                runner: Arc::new(runner(&setup)),
                messages: sender,
            },
            statuses,
            ahead: LookingAhead::default(),
            setup,
            joined: BTreeMap::new(),
            receiver,
            worktrees: BTreeMap::new(),
            orders: BTreeMap::new(),
            steps: JoinSet::new(),
            releases: JoinSet::new(),
            looks: JoinSet::new(),
            merges_ahead: Arc::default(),
            tested_ahead: BTreeMap::new(),
            tests_ahead: JoinSet::new(),
        }
    }

    pub(crate) async fn hear(&mut self) -> StepMessage {
        self.receiver
            .recv()
            .await
            .expect("the runner itself holds a sender")
    }

    pub(crate) fn try_hear(&mut self) -> Option<StepMessage> {
        self.receiver.try_recv().ok()
    }

    /// Keeps the worktree that a step gives back, and returns what the scheduler is to know.
    pub(crate) fn take(&mut self, done: StepDone) -> Option<Input> {
        let StepDone {
            task,
            attempt,
            answer,
            worktree,
        } = done;
        self.orders.remove(&task);
        if let Some(worktree) = worktree {
            self.worktrees.insert(task.clone(), (attempt, worktree));
        }
        Some(Input::Answer {
            task,
            attempt,
            answer: answer?,
        })
    }

    /// Has one effect performed. Steps answer through the channel.
    pub(crate) fn perform(&mut self, effect: Effect, scheduler: &Scheduler) {
        while self.steps.try_join_next().is_some() || self.looks.try_join_next().is_some() {}
        let (task, attempt, step) = match effect {
            Effect::Step {
                task,
                attempt,
                step,
            } => (task, attempt, step),
            Effect::SetStatus { task, status } => return self.statuses.set(task, status),
            Effect::Tell(Event::TaskLanded { commit, .. }) => {
                return self.look_ahead(&commit, scheduler);
            }
            Effect::Tell(_) => return,
        };
        let agent = |timeout_ms, start| WorkStep::Agent { timeout_ms, start };
        let work = match step {
            AttemptStep::RunAgent { timeout_ms } => agent(timeout_ms, Start::New),
            AttemptStep::Adopt { timeout_ms } => agent(timeout_ms, Start::Adopt),
            AttemptStep::Prove => WorkStep::Prove,
            AttemptStep::Commit => WorkStep::Commit,
            AttemptStep::Refactor { commit, timeout_ms } => {
                WorkStep::Refactor { commit, timeout_ms }
            }
            AttemptStep::Prepare {
                on_top_of,
                must_contain,
            } => {
                let context = self.context((&task, attempt), scheduler);
                let step = steps::prepare(context, on_top_of, must_contain);
                return self.spawn((task, attempt), step);
            }
            AttemptStep::Land { commit } => {
                let context = self.context((&task, attempt), scheduler);
                let ahead = self.tested_ahead.remove(&task);
                return self.spawn((task, attempt), steps::land(context, commit, ahead));
            }
            AttemptStep::TestAhead { on_top_of, commit } => {
                let context = self.context((&task, attempt), scheduler);
                return self.test_ahead(context, (on_top_of, commit), scheduler);
            }
            AttemptStep::StopAgent(order) => {
                if let Some(orders) = self.orders.get(&task) {
                    orders.send_replace(Some(order));
                }
                return;
            }
            AttemptStep::Release(keep) => return self.release(&task, attempt, keep),
        };
        self.at_work((task, attempt), work, scheduler);
    }

    /// Has a step done in the attempt's worktree.
    fn at_work(
        &mut self,
        (task, attempt): (TaskId, AttemptNumber),
        step: WorkStep,
        scheduler: &Scheduler,
    ) {
        let context = self.context((&task, attempt), scheduler);
        let worktree = self.worktree(&task, attempt);
        if let WorkStep::Agent {
            start: Start::New, ..
        } = step
        {
            self.ahead.begin(&task, attempt, worktree.as_ref());
        }
        let (sender, orders) = watch::channel(None);
        self.orders.insert(task.clone(), sender);
        let step = steps::at_work(context, worktree, step, orders);
        self.spawn((task, attempt), step);
    }

    /// Has work tested on top of what lands before it; what goes on for work that does not land any more ends.
    fn test_ahead(
        &mut self,
        context: StepContext,
        work: (Vec<CommitId>, CommitId),
        scheduler: &Scheduler,
    ) {
        while self.tests_ahead.try_join_next().is_some() {}
        let lands = |task: &TaskId| {
            let view = scheduler.task(task);
            view.is_some_and(|view| view.state.is_landing())
        };
        self.tested_ahead.retain(|task, _| lands(task));
        let task = context.id().clone();
        let before = self.tested_ahead.remove(&task);
        let from = (Arc::clone(&self.merges_ahead), before);
        let ahead = TestedAhead::begin(&mut self.tests_ahead, context, work, from);
        self.tested_ahead.insert(task, ahead);
    }

    /// Looks whether work that is under way will conflict with what has just landed.
    fn look_ahead(&mut self, tip: &CommitId, scheduler: &Scheduler) {
        if let Some(mut looks) = self.ahead.moved(tip, scheduler) {
            let (setup, sender) = (Arc::clone(&self.setup), self.shared.messages.clone());
            let tell = move |input| {
                // Nobody listens once the run has ended.
                let _nobody_listens = sender.send(StepMessage::Seen(Box::new(input)));
            };
            self.looks.spawn(async move {
                if let Some(alone) = looks.due().await {
                    // In no place of those that others wait for: what is looked at is being written.
                    let made = spawn_blocking(move || {
                        let _until_then = alone;
                        looks.make(&setup, tell);
                    });
                    let _made = made.await;
                }
            });
        }
    }

    fn context(&self, attempt: (&TaskId, AttemptNumber), scheduler: &Scheduler) -> StepContext {
        let (setup, shared) = (Arc::clone(&self.setup), self.shared.clone());
        let mut context = StepContext::new(setup, shared, scheduler, attempt);
        if let Some(joined) = self.joined.get(&context.planned.backlog_id) {
            context.task = joined.clone();
        }
        context
    }

    pub(crate) fn run_id(&self) -> &str {
        self.setup.header.run_id.as_str()
    }

    /// Looks up in the backlog what joins the run when the task of that id does, and the task itself.
    pub(crate) async fn addition(
        &self,
        id: &TaskId,
        run: &Scheduler,
    ) -> Result<(Vec<PlannedTask>, Task), Reply> {
        let setup = Arc::clone(&self.setup);
        let read = blocking(move || setup.run_backlog().read()).await;
        let failed = |reason, why: &str| Reply::failed(reason, format!("add task `{id}`: {why}"));
        let backlog = read.map_err(|trouble| failed("backlog", &trouble.to_string()))?;
        let (setup, planning) = (&self.setup, &self.setup.planning);
        let planned = addition(&backlog.tasks, id, planning, run)
            .map_err(|refusal| Reply::refused(&refusal))?;
        let mut tasks = of_unit(&backlog.tasks, planning.unit).into_iter();
        let task = tasks.find(|task| task.id == *id);
        let task = task.expect("the addition was found in this backlog");
        let has_command = setup.test_command.is_some()
            || !setup.parts.is_empty()
            || task.metadata.test_command.is_some();
        if !has_command && planned.iter().any(|planned| planned.phase != Phase::None) {
            let why = "there is no test command to prove it with";
            return Err(failed("no-test-command", why));
        }
        let own = planned.iter().map(|planned| &planned.backlog_id);
        note_planned(setup.repository.common_dir(), &setup.header.tag, own)
            .map_err(|trouble| failed("backlog", &trouble.to_string()))?;
        Ok((planned, task))
    }

    /// Takes in a task that joins the run.
    pub(crate) fn take_in(&mut self, task: Task) {
        self.shared.ledger.begin(&task.id, &task.status);
        self.joined.insert(task.id.clone(), task);
    }

    /// Notes what was refused to an agent, or to something that it started; tells whether that is news.
    pub(crate) fn note_refusal(&self, caller: &AgentCaller, words: &str) -> bool {
        let concurrent = &self.shared.runner.concurrent;
        concurrent.notice(caller.attempt.as_ref(), words)
    }

    fn worktree(&mut self, task: &TaskId, attempt: AttemptNumber) -> Option<Worktree> {
        let (number, worktree) = self.worktrees.remove(task)?;
        (number == attempt).then_some(worktree)
    }

    fn spawn(
        &mut self,
        of: (TaskId, AttemptNumber),
        step: impl Future<Output = StepDone> + Send + 'static,
    ) {
        let sender = self.shared.messages.clone();
        // Passed on as it is, it would take its room again in each of those who wait for it.
        let step = Box::pin(step);
        self.steps.spawn(async move {
            let done = answered(of, step).await;
            // Nobody listens once the run has ended; what the step did is found by the next process.
            let _nobody_listens = sender.send(StepMessage::Done(Box::new(done)));
        });
    }

    fn release(&mut self, task: &TaskId, attempt: AttemptNumber, keep: Keep) {
        self.ahead.end(task);
        if let Some(worktree) = self.worktree(task, attempt) {
            let (setup, task) = (Arc::clone(&self.setup), task.clone());
            let returning = setup.checkouts.pool().returning();
            self.releases.spawn_blocking(move || {
                let _until_then = returning;
                steps::release(&setup, &task, attempt, worktree, keep)
            });
        }
    }

    /// Ends everything that is still under way, gives worktrees back, writes the last statuses; returns what people
    /// should know, whether the statuses are written, and whether all that landed is still what was judged.
    pub(crate) async fn finish(
        &mut self,
        status: RunStatus,
    ) -> (Vec<RunEvent>, Result<(), StepError>, Result<(), StepError>) {
        self.steps.shutdown().await;
        self.tests_ahead.shutdown().await;
        // A look that has begun is no longer wanted, and is over in a moment.
        self.ahead.moved_again();
        while self.looks.join_next().await.is_some() {}
        let mut warnings: Vec<String> = Vec::new();
        while let Some(released) = self.releases.join_next().await {
            warnings.extend(released.ok().flatten());
        }
        let statuses = self.statuses.finish().await;
        self.worktrees.clear();
        let setup = Arc::clone(&self.setup);
        let landed = spawn_blocking(move || setup.integration.check_all()).await;
        let landed =
            landed.map_or_else(|error| Err(StepError::from(error)), |checked| Ok(checked?));
        if status == RunStatus::Completed || status == RunStatus::Failed {
            warnings.extend(self.setup.checkouts.close().await);
        }
        let warnings = warnings.into_iter().map(RunEvent::Warning);
        let notes = std::iter::from_fn(|| self.try_hear()).filter_map(|heard| match heard {
            StepMessage::RunEvent(note @ RunEvent::Note(_)) => Some(note),
            _ => None,
        });
        (warnings.chain(notes).collect(), statuses, landed)
    }
}

/// What the agents of all attempts are run with.
fn runner(setup: &RunSetup) -> AttemptRunner {
    AttemptRunner {
        repository: setup.repository.clone(),
        own_files: setup.own_files.clone(),
        own_folder: AttemptRunner::project_of(setup.directory.path()),
        workplace: Workplace::Elsewhere,
        escape: setup.settings.git.escape,
        concurrent: Arc::default(),
    }
}

/// Waits for a step. One that breaks off is answered for, since the run would wait for it without end.
async fn answered(
    (task, attempt): (TaskId, AttemptNumber),
    step: impl Future<Output = StepDone>,
) -> StepDone {
    let done = AssertUnwindSafe(step).catch_unwind().await;
    done.unwrap_or_else(|panic| StepDone {
        task,
        attempt,
        answer: Some(Answer::InfrastructureFailed(words_of_panic(panic.as_ref()))),
        worktree: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_that_breaks_off_has_an_answer() {
        let of = (TaskId::from("1"), AttemptNumber(1));
        let done = answered(of, async { panic!("nobody thought of this") }).await;
        let said = "tm broke off: nobody thought of this".to_owned();
        assert_eq!(done.answer, Some(Answer::InfrastructureFailed(said)));
    }
}
