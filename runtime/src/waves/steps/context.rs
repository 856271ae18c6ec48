//! What a step is told: the task, its attempt, and everything of the run that bears on it.

use crate::attempt::{Attempt, AttemptRunner, Ran, Start};
use crate::test_queue::Urgency;
use crate::trailers::{TEST_COMMAND, as_value};
use crate::waves::cleaned::cleaned;
use crate::waves::mending::{Mending, carried_over};
use crate::waves::run_setup::Shared;
use crate::waves::statuses::Ledger;
use crate::waves::step_message::{StepDone, StepMessage};
use crate::{Parts, RedCommit, RunEvent, StepError, TestResultCache, Turn, briefly};
use itertools::Itertools as _;
use std::sync::Arc;
use tm_config::GatePhase;
use tm_executors::agent::{AgentCommand, Progress};
use tm_executors::testing::TestCommand;
use tm_presets::Recipe;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, AttemptRecord, CommitId, Phase, Place, PlannedTask, Proof,
    ResultFile, Scheduler, StopMode, Task, TaskId, Tokens,
};
use tm_store::run::AttemptDirectory;
use tm_worktrees::{Error, Repository, TreeId, Worktree};
use tokio::sync::{mpsc, watch};

/// Work that gates look at.
pub(super) struct Gated<'a> {
    pub(super) phase: GatePhase,
    /// What it is compared with.
    pub(super) before: &'a [CommitId],
    pub(super) tree: &'a TreeId,
}

/// By which an agent is told to stop.
pub(crate) type Orders = watch::Receiver<Option<StopMode>>;

/// What a step is told.
#[derive(Clone, Debug)]
pub(crate) struct StepContext {
    pub(crate) setup: Shared,
    pub(crate) planned: PlannedTask,
    pub(crate) task: Task,
    pub(crate) attempt: AttemptNumber,
    /// Where the attempt works; `None` before it is prepared.
    pub(crate) place: Option<Place>,
    /// The attempts before this one.
    pub(crate) earlier: Vec<AttemptRecord>,
    /// This attempt as far as it has come.
    pub(crate) record: Option<AttemptRecord>,
    pub(crate) red: Option<RedCommit>,
    /// What whoever wrote its tests says is open.
    pub(crate) red_issues: Vec<String>,
    /// The tasks whose landed work the proven work of this one conflicts with.
    pub(crate) rivals: Vec<Task>,
    /// The tasks that it builds on, the nearest first, as far as they are near.
    pub(crate) ancestors: Vec<TaskId>,
    pub(crate) directory: AttemptDirectory,
    /// Measures when it is the turn of this step.
    result_cache: TestResultCache,
    /// Of the agent that makes the attempt.
    recipe: Arc<Recipe>,
    shared: StepShared,
}

/// What all steps of a run share besides its set-up.
#[derive(Clone, Debug)]
pub(crate) struct StepShared {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) runner: Arc<AttemptRunner>,
    pub(crate) messages: mpsc::UnboundedSender<StepMessage>,
}

impl StepContext {
    pub(crate) fn new(
        setup: Shared,
        shared: StepShared,
        scheduler: &Scheduler,
        (id, attempt): (&TaskId, AttemptNumber),
    ) -> Self {
        let view = scheduler
            .task(id)
            .expect("the scheduler asks only for tasks of its plan");
        let planned = view.placed.task.clone();
        let task = setup.tasks.get(&planned.backlog_id).cloned();
        let record = view.attempts.last().cloned();
        let (hearer, of) = (shared.messages.clone(), id.clone());
        let turn = turn_of(record.as_ref()).telling(move |news| {
            let task = of.clone();
            let event = RunEvent::Place { task, news };
            // Nobody listens once the run has ended.
            let _nobody_listens = hearer.send(StepMessage::RunEvent(event));
        });
        let red = planned
            .pair
            .as_ref()
            .filter(|_| planned.phase == Phase::Green)
            .and_then(|red| scheduler.task(red)?.attempts.last());
        let agent = record.as_ref().map(|record| &record.agent);
        let recipe = setup.agents.recipe_for(&planned, agent);
        Self {
            recipe,
            task: task
                .unwrap_or_else(|| Task::new(planned.backlog_id.clone(), planned.title.clone())),
            directory: setup.directory.attempt(id, attempt),
            place: record.as_ref().and_then(AttemptRecord::place).cloned(),
            earlier: view.attempts[..view.attempts.len().saturating_sub(1)].to_vec(),
            result_cache: setup.result_cache.in_turn(turn),
            record,
            red: red.and_then(RedCommit::of),
            red_issues: red.map(open_points).unwrap_or_default(),
            ancestors: ancestors(id, scheduler),
            rivals: rivals(id, scheduler, &setup),
            planned,
            attempt,
            setup,
            shared,
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.setup.repository
    }

    pub(crate) const fn result_cache(&self) -> &TestResultCache {
        &self.result_cache
    }

    pub(crate) const fn turn(&self) -> &Turn {
        self.result_cache.turn()
    }

    /// Has everything that is run for the step go first, since others wait to land.
    pub(crate) fn lands(&mut self) {
        let turn = self.turn().at(Urgency::Landing);
        self.result_cache = self.result_cache.in_turn(turn);
    }

    pub(crate) const fn ledger(&self) -> &Arc<Ledger> {
        &self.shared.ledger
    }

    pub(crate) fn id(&self) -> &TaskId {
        &self.planned.id
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.planned.phase
    }

    /// Nobody is told from here on when tests of this step wait for a place: nobody waits for them yet.
    pub(crate) fn waits_unseen(&mut self) {
        let turn = Turn::new(self.turn().urgency());
        self.result_cache = self.result_cache.in_turn(turn);
    }

    /// Returns the proven work that the attempt is to put together with what has landed.
    pub(crate) fn carried_over(&self) -> Option<&CommitId> {
        self.record.as_ref()?.mends.as_ref()
    }

    /// Returns what the agent found of that in a worktree on `base`; `None` where the attempt is one as any other.
    ///
    /// # Errors
    /// git refused.
    pub(crate) fn mending(&self, base: &CommitId) -> Result<Option<Mending>, StepError> {
        match self.carried_over() {
            Some(proven) => briefly(|| carried_over(self.repository(), base, proven)),
            None => Ok(None),
        }
    }

    /// Returns the command that proves the task as far as that is known before its work is: its own, or the project's.
    pub(crate) fn test_command(&self) -> Option<TestCommand> {
        let setup = &self.setup;
        let of_project = setup.test_command.as_ref();
        let of_project = || of_project.filter(|_| setup.parts.is_empty()).cloned();
        self.own_command().or_else(of_project)
    }

    /// Returns the words for that, or for how the work will decide it.
    pub(crate) fn test_words(&self) -> Option<String> {
        let parts = self.setup.parts.lines();
        self.test_command()
            .map(|command| command.to_string())
            .or_else(|| (!parts.is_empty()).then(|| parts.join("; ")))
    }

    fn own_command(&self) -> Option<TestCommand> {
        let own = self.task.metadata.test_command.as_ref()?;
        Some(TestCommand::shell(own, self.setup.test_command.as_ref()))
    }

    fn own_command_or(
        &self,
        of_parts: impl FnOnce(&Parts, &Repository) -> Result<Option<TestCommand>, Error>,
    ) -> Result<Option<TestCommand>, StepError> {
        match self.own_command() {
            Some(own) => Ok(Some(own)),
            None => briefly(|| of_parts(&self.setup.parts, self.repository())),
        }
    }

    /// Returns what proves work: the task's own command, or those of the parts that the work and its RED touch.
    ///
    /// # Errors
    /// git refused.
    pub(crate) fn command_of_work(
        &self,
        base: &CommitId,
        tree: &TreeId,
    ) -> Result<Option<TestCommand>, StepError> {
        self.own_command_or(|parts, repository| {
            parts.of_work(repository, base, tree, self.red.as_ref())
        })
    }

    /// Returns what proves a merge: the task's own command, or those of the parts that either side touches.
    ///
    /// # Errors
    /// git refused.
    pub(crate) fn command_of_merge(
        &self,
        head: &CommitId,
        commit: &CommitId,
    ) -> Result<Option<TestCommand>, StepError> {
        self.own_command_or(|parts, repository| parts.of_merge(repository, head, commit))
    }

    /// Returns the trailers that name what proved something, where it is not just the project's command.
    pub(crate) fn command_trailers(&self, command: Option<&TestCommand>) -> String {
        let is_said = self.task.metadata.test_command.is_some() || !self.setup.parts.is_empty();
        let each = command.filter(|_| is_said).map(TestCommand::each);
        let line = |one: &TestCommand| format!("{TEST_COMMAND}: {}\n", as_value(&one.to_string()));
        each.unwrap_or_default().iter().map(line).collect()
    }

    /// Returns what was seen of the work before it was improved.
    pub(crate) fn proof(&self) -> Option<&Proof> {
        self.record.as_ref()?.proof()
    }

    /// Returns the recipe of the agent that makes the attempt.
    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Returns where the integration branch is; says so when it had to be made again.
    pub(crate) fn integration_tip(&self) -> Result<CommitId, StepError> {
        let integration = &self.setup.integration;
        let tip = briefly(|| integration.tip())?;
        if tip.was_deleted {
            self.tell_warning(format!(
                "the integration branch `{}` was deleted; it is made again at `{}`, with all that has landed",
                integration.branch(),
                tip.commit
            ));
        }
        Ok(tip.commit)
    }

    /// Refuses a commit of this attempt whose tree is not the one that was proven.
    pub(crate) fn assert_proven(&self, commit: &CommitId) -> Result<(), StepError> {
        let record = self.record.as_ref();
        let proof = record.and_then(AttemptRecord::proof_of_commit);
        if let Some(tree) = proof.and_then(|proof| proof.tree.clone()) {
            return briefly(|| self.repository().assert_tree_of(commit, &TreeId::new(tree)));
        }
        // A journal from before trees were named: the merged tree is tested in any case.
        Ok(())
    }

    /// Runs an agent of the attempt to its end; `afterwards` is done with its report while it is looked what changed
    /// elsewhere.
    ///
    /// # Errors
    /// It could not be started, or its end not be seen.
    pub(crate) async fn run_agent(
        &self,
        (start, command, orders): (Start, Box<AgentCommand>, Orders),
        progress: impl FnMut(Progress) + Send,
        afterwards: impl FnOnce(&AgentReport) + Send,
    ) -> Result<AgentReport, StepError> {
        let attempt = Attempt {
            task: self.id().clone(),
            number: self.attempt,
            start,
            command,
            orders,
        };
        let ran = self.shared.runner.run(attempt, progress, afterwards);
        let Ran { report, warning } = ran.await?;
        if let Some(words) = warning {
            self.tell_warning(words);
        }
        Ok(report)
    }

    pub(crate) fn done(self, answer: Answer, worktree: Option<Worktree>) -> StepDone {
        StepDone {
            task: self.planned.id,
            attempt: self.attempt,
            answer: Some(cleaned(answer)),
            worktree,
        }
    }

    pub(crate) fn tell_output(&self, line: String) {
        self.tell_progress(line, None);
    }

    pub(crate) fn tell_agent(&self, progress: Progress) {
        if let Some(whereabouts) = progress.whereabouts {
            self.tell(RunEvent::Whereabouts {
                task: self.id().clone(),
                attempt: self.attempt,
                whereabouts,
            });
        }
        if let Some(line) = progress.last_line {
            self.tell_progress(line, progress.tokens);
        }
    }

    fn tell_progress(&self, line: String, tokens: Option<Tokens>) {
        let task = self.id().clone();
        self.tell(RunEvent::Output { task, line, tokens });
    }

    pub(crate) fn tell_warning(&self, words: String) {
        self.tell(RunEvent::Warning(words));
    }

    fn tell(&self, event: RunEvent) {
        // Nobody listens once the run has ended.
        let _nobody_listens = self.shared.messages.send(StepMessage::RunEvent(event));
    }

    /// The name under which work of an attempt is kept when it does not land.
    pub(crate) fn salvage_name(&self, attempt: AttemptNumber) -> String {
        self.setup.salvage_name(self.id(), attempt)
    }
}

/// What was worked on first is proven first.
fn turn_of(record: Option<&AttemptRecord>) -> Turn {
    let report = record.and_then(AttemptRecord::report);
    let urgency = report.map_or(Urgency::SetUp, |report| Urgency::Proof(report.ended_at));
    Turn::new(urgency)
}

/// The tasks whose landed work the last attempt that did not land conflicts with.
fn rivals(id: &TaskId, scheduler: &Scheduler, setup: &Shared) -> Vec<Task> {
    let records = scheduler.task(id).map(|view| view.attempts);
    let mut records = records.unwrap_or_default().iter().rev();
    let conflict = records.find_map(AttemptRecord::conflict);
    let names = conflict.into_iter().flat_map(|conflict| &conflict.with);
    names
        .filter_map(|name| Some(&scheduler.task(name)?.placed.task.backlog_id))
        .dedup()
        .filter_map(|id| setup.tasks.get(id).cloned())
        .collect()
}

/// What a task builds on, the nearest first; no more than are likely to matter.
fn ancestors(id: &TaskId, scheduler: &Scheduler) -> Vec<TaskId> {
    const MOST: usize = 50;
    let mut ancestors: Vec<TaskId> = vec![id.clone()];
    let mut position = 0;
    while let Some(task) = ancestors
        .get(position)
        .and_then(|task| scheduler.task(task))
    {
        for before in &task.placed.task.dependencies {
            if ancestors.len() < MOST && !ancestors.contains(before) {
                ancestors.push(before.clone());
            }
        }
        position += 1;
    }
    ancestors
}

/// What an attempt's agent says is open.
fn open_points(attempt: &AttemptRecord) -> Vec<String> {
    match attempt.report().map(|report| &report.result) {
        Some(ResultFile::Claimed(claim)) => claim.issues.clone(),
        _ => Vec::new(),
    }
}
