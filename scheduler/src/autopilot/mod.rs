//! Leads one agent through RED → GREEN → COMMIT, subtask after subtask, and says what is to be done next.
//!
//! Decides alone: knows nothing of git, of files, or of who runs the tests. The agent works; this says whether what it
//! reports allows the next step.

mod action;
mod order;
#[cfg(test)]
mod scripts;
#[cfg(test)]
mod simulation;
mod stage;
mod validation;

pub use action::{Action, CalledBy, Counts, IllegalStep};
pub use order::{OpenDependencies, Unstartable, work_order};
pub use stage::{PauseReason, Progress, Stage, Step, WorkItem};
pub use validation::{TestCounts, Verdict, VerdictKind, judge_final, judge_green, judge_red};

use crate::{CommitId, TaskId, TddHalf};
use serde::{Deserialize, Serialize};

/// What a run is held to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutopilotRules {
    /// Tries at GREEN before the run is paused.
    pub max_green_attempts: u32,
    /// The coverage in percent below which GREEN is refused, where one is reported.
    pub coverage_threshold: Option<f64>,
}

/// What an agent, or tm itself, says of the tests.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseReport {
    /// The half of the cycle that it is meant for; the one under way where it is not said.
    pub phase: Option<TddHalf>,
    /// The subtask that it is meant for; the one under way where it is not said.
    pub subtask: Option<TaskId>,
    /// The counts.
    pub counts: TestCounts,
    /// The coverage in percent.
    pub coverage: Option<f64>,
    /// What was proven, where tm ran the tests itself; it decides instead of the counts.
    pub proven: Option<Verdict>,
}

/// What a run is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Order {
    /// The surroundings are in order.
    PreflightPassed,
    /// The branch is there and checked out.
    BranchReady,
    /// The subtask under way is committed.
    Committed(CommitId),
    /// There is nothing to commit, so what was reported can't have happened.
    NothingToCommit,
    /// What is to be committed is not what GREEN held with, so GREEN has to hold again.
    WorkChanged,
    /// These subtasks were finished by somebody else.
    Skip(Vec<TaskId>),
    /// The whole suite passes.
    Finalized,
    /// Stop for now.
    Pause,
    /// Go on.
    Resume,
    /// Give up.
    Abort,
}

/// The run of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Autopilot {
    task: TaskId,
    rules: AutopilotRules,
    items: Vec<WorkItem>,
    stage: Stage,
}

impl Autopilot {
    /// Begins a run of a task with its subtasks in the order in which they are worked on.
    pub fn new(task: TaskId, items: Vec<WorkItem>, rules: AutopilotRules) -> Self {
        Self {
            task,
            rules,
            items,
            stage: Stage::Preflight,
        }
    }

    /// Returns the task.
    pub const fn task(&self) -> &TaskId {
        &self.task
    }

    /// Returns what the run is held to.
    pub const fn rules(&self) -> AutopilotRules {
        self.rules
    }

    /// Returns the subtasks in their order.
    pub fn items(&self) -> &[WorkItem] {
        &self.items
    }

    /// Returns where the run is.
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Returns where the run is, or goes on when it is resumed.
    pub fn checkpoint(&self) -> &Stage {
        match &self.stage {
            Stage::Paused { at, .. } => at,
            stage => stage,
        }
    }

    /// Returns the step of the subtask under way, also while paused.
    pub fn step(&self) -> Option<&Step> {
        match self.checkpoint() {
            Stage::SubtaskLoop(step) => Some(step),
            _ => None,
        }
    }

    /// Returns the subtask under way.
    pub fn current(&self) -> Option<&WorkItem> {
        self.items
            .iter()
            .find(|item| item.progress == Progress::Open)
    }

    /// Tells whether nothing will ever follow.
    pub const fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Complete | Stage::Aborted)
    }

    /// Takes a report on the phase under way.
    ///
    /// A refused RED leaves everything as it is, a refused GREEN uses up a try, a report that contradicts itself does
    /// neither.
    ///
    /// # Errors
    /// It is not time for that.
    pub fn report(&mut self, report: &PhaseReport) -> Result<Verdict, IllegalStep> {
        self.expect_report(report)?;
        match self.stage {
            Stage::SubtaskLoop(Step::Red { attempt }) => Ok(self.report_red(attempt, report)),
            Stage::SubtaskLoop(Step::Green {
                red,
                attempt,
                allowed,
            }) => Ok(self.report_green(red, attempt, allowed, report)),
            _ => Err(self.illegal("complete a phase")),
        }
    }

    fn report_red(&mut self, attempt: u32, report: &PhaseReport) -> Verdict {
        let judge = || judge_red(&report.counts);
        let verdict = report.proven.clone().unwrap_or_else(judge);
        self.stage = Stage::SubtaskLoop(match verdict.kind {
            VerdictKind::Accepted => Step::Green {
                red: report.counts,
                attempt: 1,
                allowed: self.rules.max_green_attempts,
            },
            VerdictKind::Refused => Step::Red {
                attempt: attempt.saturating_add(1),
            },
            VerdictKind::Malformed => Step::Red { attempt },
        });
        verdict
    }

    fn report_green(
        &mut self,
        red: TestCounts,
        attempt: u32,
        allowed: u32,
        report: &PhaseReport,
    ) -> Verdict {
        let threshold = self.rules.coverage_threshold;
        let judge = || judge_green(&red, &report.counts, report.coverage, threshold);
        let verdict = report.proven.clone().unwrap_or_else(judge);
        self.stage = match verdict.kind {
            VerdictKind::Malformed => return verdict,
            VerdictKind::Accepted => {
                let (green, coverage) = (report.counts, report.coverage);
                Stage::SubtaskLoop(Step::Commit {
                    red,
                    green,
                    coverage,
                    attempt,
                })
            }
            VerdictKind::Refused if attempt < allowed => Stage::SubtaskLoop(Step::Green {
                red,
                attempt: attempt + 1,
                allowed,
            }),
            VerdictKind::Refused => Stage::Paused {
                at: Box::new(Stage::SubtaskLoop(self.more_of_green(red, attempt))),
                why: PauseReason::AttemptsUsedUp,
            },
        };
        verdict
    }

    /// The next try at GREEN, and as many as at the beginning.
    const fn more_of_green(&self, red: TestCounts, attempt: u32) -> Step {
        Step::Green {
            red,
            attempt: attempt.saturating_add(1),
            allowed: attempt.saturating_add(self.rules.max_green_attempts),
        }
    }

    /// A report that names a phase or a subtask has to name those under way.
    fn expect_report(&self, report: &PhaseReport) -> Result<(), IllegalStep> {
        let phase = match &self.stage {
            Stage::SubtaskLoop(Step::Red { .. }) => TddHalf::Red,
            Stage::SubtaskLoop(Step::Green { .. }) => TddHalf::Green,
            _ => return Err(self.illegal("complete a phase")),
        };
        let wrong_phase = report.phase.is_some_and(|meant| meant != phase);
        let under_way = self.current().map(|item| &item.id);
        let subtask = report.subtask.as_ref();
        let wrong_subtask = subtask.is_some() && subtask != under_way;
        if !wrong_phase && !wrong_subtask {
            return Ok(());
        }
        let meant = report.phase.unwrap_or(phase).in_capitals();
        Err(self.illegal(match subtask {
            Some(subtask) => format!("complete {meant} of `{subtask}`"),
            None => format!("complete {meant}"),
        }))
    }

    /// Takes an order: the one function, beside [`Autopilot::report`], that moves the run.
    ///
    /// # Errors
    /// It is not time for that; nothing has changed then.
    pub fn handle(&mut self, order: &Order) -> Result<(), IllegalStep> {
        let next = match (&self.stage, order) {
            (Stage::Preflight, Order::PreflightPassed) => Stage::BranchSetup,
            (Stage::BranchSetup, Order::BranchReady) => self.at_first_open(),
            (Stage::SubtaskLoop(Step::Commit { .. }), Order::Committed(commit)) => {
                let current = self
                    .items
                    .iter_mut()
                    .find(|item| item.progress == Progress::Open);
                if let Some(item) = current {
                    item.progress = Progress::Committed(commit.clone());
                }
                self.at_first_open()
            }
            (Stage::SubtaskLoop(Step::Commit { attempt, .. }), Order::NothingToCommit) => {
                Stage::SubtaskLoop(Step::Red {
                    attempt: attempt.saturating_add(1),
                })
            }
            (Stage::SubtaskLoop(Step::Commit { red, attempt, .. }), Order::WorkChanged) => {
                Stage::SubtaskLoop(self.more_of_green(*red, *attempt))
            }
            (Stage::SubtaskLoop(_), Order::Skip(ids)) => self
                .skip(ids)
                .map_or_else(|| self.at_first_open(), Stage::SubtaskLoop),
            (Stage::Finalize, Order::Finalized) => Stage::Complete,
            (stage, Order::Pause) if !self.is_over() && !matches!(stage, Stage::Paused { .. }) => {
                Stage::Paused {
                    at: Box::new(stage.clone()),
                    why: PauseReason::Asked,
                }
            }
            (Stage::Paused { at, .. }, Order::Resume) => (**at).clone(),
            (_, Order::Abort) if !self.is_over() => Stage::Aborted,
            (_, order) => return Err(self.illegal(describe(order))),
        };
        self.stage = next;
        Ok(())
    }

    fn at_first_open(&self) -> Stage {
        if self.current().is_some() {
            Stage::SubtaskLoop(Step::Red { attempt: 1 })
        } else {
            Stage::Finalize
        }
    }

    /// Skips subtasks and returns the step under way when its subtask still is.
    fn skip(&mut self, ids: &[TaskId]) -> Option<Step> {
        let before = self.current().map(|item| item.id.clone());
        for item in &mut self.items {
            if item.progress == Progress::Open && ids.contains(&item.id) {
                item.progress = Progress::Skipped;
            }
        }
        let is_same = self.current().map(|item| &item.id) == before.as_ref();
        self.step().filter(|_| is_same).cloned()
    }

    fn illegal(&self, wanted: impl Into<String>) -> IllegalStep {
        IllegalStep {
            wanted: wanted.into(),
            next: self.next(),
        }
    }
}

const fn describe(order: &Order) -> &'static str {
    match order {
        Order::PreflightPassed | Order::BranchReady => "set up the run",
        Order::Committed(_) | Order::NothingToCommit | Order::WorkChanged => "commit",
        Order::Skip(_) => "leave out subtasks",
        Order::Finalized => "finalize the run",
        Order::Pause => "pause the run",
        Order::Resume => "resume the run",
        Order::Abort => "abort the run",
    }
}
