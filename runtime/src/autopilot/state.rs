//! The state of a run as it is kept: the machine, what it needs to go on, and the same in the words of readers.

use super::answers::{ProgressView, TestResultsView, WorkUnit};
use super::error::Error;
use super::note::Began;
use super::units::UnitRecord;
use crate::RedCommit;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tm_scheduler::autopilot::{Action, Autopilot, PauseReason, Progress, Stage, Step};
use tm_scheduler::{BranchName, CommitId, RunId, Status, Tag, TaskId, Timestamp};
use tm_store::autopilot::{CurrentRun, PointerStatus};
use tm_store::backlog::stamp;

/// The version of the format; keys may be added without a new one.
pub(super) const VERSION: u32 = 1;

/// Everything that a run needs to go on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunState {
    pub(super) version: u32,
    pub(super) run_id: RunId,
    /// What tells the repository from one that comes into its place; nothing where an earlier tm began the run.
    #[serde(default)]
    pub(super) repository: Option<String>,
    pub(super) task_id: TaskId,
    pub(super) task_title: String,
    pub(super) tag: Tag,
    pub(super) branch: BranchName,
    /// Where the checkout was before; no branch where its HEAD was detached.
    pub(super) start_branch: Option<String>,
    /// What the run started from.
    pub(super) base_commit: CommitId,
    /// The tip of the branch as the run knows it.
    pub(super) head: CommitId,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Option<Timestamp>,
    /// The moment of the last change.
    pub(super) updated_at: Timestamp,
    pub(super) machine: Autopilot,
    pub(super) last_test_results: Option<TestResultsView>,
    /// The statuses of the task and its subtasks before the run, for giving up.
    pub(super) statuses_before: BTreeMap<TaskId, Status>,
    /// What tm measured of the RED under way, where it runs the tests itself.
    pub(super) red_proven: Option<RedCommit>,
    /// What RED left, whoever ran its tests; none before it holds.
    pub(super) red_kept: Option<KeptRed>,
    /// The tree with which GREEN held; none before it does, and where a part of it may be committed.
    pub(super) green_kept: Option<String>,
    /// Pieces of work that were handed out.
    pub(super) work_units: Vec<UnitRecord>,
    /// How many events there have been.
    pub(super) event_count: u64,
    /// The events of the last change, for a log that a crash kept from hearing of them.
    pub(super) last_events: Vec<Value>,
}

/// The work of a RED that holds: its commit is on no branch.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptRed {
    pub(super) commit: CommitId,
    /// The files of its tests.
    pub(super) files: Vec<String>,
}

impl RunState {
    /// Forgets what was kept of the subtask that has ended, or begins anew.
    pub(super) fn forget_subtask(&mut self) {
        (self.red_proven, self.red_kept, self.green_kept) = (None, None, None);
    }

    /// Refuses a state of another version.
    pub(super) fn checked(self) -> Result<Self, Error> {
        if self.version == VERSION {
            return Ok(self);
        }
        Err(Error::Version {
            run: self.run_id,
            found: self.version,
            supported: VERSION,
        })
    }

    pub(super) fn status(&self) -> PointerStatus {
        match self.machine.stage() {
            Stage::Complete => PointerStatus::Completed,
            Stage::Aborted => PointerStatus::Aborted,
            Stage::Paused { .. } => PointerStatus::Paused,
            Stage::Preflight | Stage::BranchSetup | Stage::SubtaskLoop(_) | Stage::Finalize => {
                PointerStatus::InProgress
            }
        }
    }

    pub(super) fn began(&self) -> Began {
        Began {
            branch: self.branch.clone(),
            start_branch: self.start_branch.clone(),
            base_commit: self.base_commit.clone(),
        }
    }

    pub(super) fn pointer(&self) -> CurrentRun {
        CurrentRun {
            run_id: self.run_id.clone(),
            task_id: self.task_id.clone(),
            tag: self.tag.clone(),
            start_time: stamp(self.started_at),
            status: self.status(),
            repository: self.repository.clone(),
        }
    }

    pub(super) fn commits(&self) -> Vec<CommitId> {
        let items = self.machine.items().iter();
        items
            .filter_map(|item| commit_of(&item.progress))
            .cloned()
            .collect()
    }

    /// Returns the run's id as a part of a reference's name.
    pub(super) fn safe_run_id(&self) -> String {
        tm_store::run::safe_name(&self.run_id.as_str().into())
    }

    /// Returns the ids of the subtasks that are so far, in their order.
    pub(super) fn ids(&self, is_wanted: impl Fn(&Progress) -> bool) -> Vec<String> {
        let items = self.machine.items().iter();
        items
            .filter(|item| is_wanted(&item.progress))
            .map(|item| item.id.to_string())
            .collect()
    }

    pub(super) fn completed(&self) -> Vec<String> {
        self.ids(|progress| *progress != Progress::Open)
    }

    pub(super) fn pending(&self) -> Vec<String> {
        self.ids(|progress| *progress == Progress::Open)
    }

    /// Returns how far the run is.
    pub(super) fn progress(&self) -> ProgressView {
        let (completed, total) = (self.completed(), self.machine.items().len());
        let percentage = (completed.len() * 100).checked_div(total);
        ProgressView {
            completed,
            current: self.current(),
            remaining: self.pending(),
            total,
            percentage: percentage.unwrap_or(100),
        }
    }

    /// Returns the last try at GREEN before a pause.
    pub(super) fn max_attempts(&self) -> u32 {
        let (_, allowed) = self.attempts();
        allowed.unwrap_or_else(|| self.machine.rules().max_green_attempts)
    }

    pub(super) fn current(&self) -> Option<String> {
        self.machine.current().map(|item| item.id.to_string())
    }

    /// The stage in Task Master's capitals.
    pub(super) fn phase(&self) -> &'static str {
        match self.machine.checkpoint() {
            Stage::Preflight => "PREFLIGHT",
            Stage::BranchSetup => "BRANCH_SETUP",
            Stage::SubtaskLoop(_) => "SUBTASK_LOOP",
            Stage::Finalize => "FINALIZE",
            Stage::Complete => "COMPLETE",
            Stage::Aborted => "ABORTED",
            Stage::Paused { .. } => "PAUSED",
        }
    }

    /// The step in capitals, of the subtask under way.
    pub(super) fn tdd_phase(&self) -> Option<&'static str> {
        self.machine.step().map(|step| match step {
            Step::Red { .. } => "RED",
            Step::Green { .. } => "GREEN",
            Step::Commit { .. } => "COMMIT",
        })
    }

    /// The step, or the stage where no subtask is under way, in lower case.
    pub(super) fn current_phase(&self) -> String {
        self.tdd_phase()
            .unwrap_or_else(|| self.phase())
            .to_lowercase()
            .replace('_', "-")
    }

    /// The number of the try under way, and the last one before a pause, where there is a limit.
    pub(super) fn attempts(&self) -> (u32, Option<u32>) {
        match self.machine.step() {
            Some(Step::Green {
                attempt, allowed, ..
            }) => (*attempt, Some(*allowed)),
            Some(Step::Red { attempt } | Step::Commit { attempt, .. }) => (*attempt, None),
            None => (1, None),
        }
    }

    /// Takes the events of a change and gives them their numbers.
    pub(super) fn take_events(&mut self, events: &[Value]) {
        if events.is_empty() {
            return;
        }
        self.last_events = events.to_vec();
        for event in &mut self.last_events {
            self.event_count += 1;
            event["seq"] = json!(self.event_count);
        }
    }

    /// Returns `state.json`: what is needed to go on, and the same for readers, with the piece of work under way.
    pub(super) fn file(&self, unit: Option<&WorkUnit>) -> Value {
        let (attempt, _) = self.attempts();
        let next = self.machine.next();
        let mut file = json!({
            "runId": self.run_id, "taskId": self.task_id, "tag": self.tag, "branch": self.branch,
            "status": self.status().as_str(),
            "currentSubtask": self.current(), "currentPhase": self.current_phase(),
            "attemptNumber": attempt, "maxAttempts": self.max_attempts(),
            "completedSubtasks": self.completed(), "failedSubtasks": self.failed(), "pendingSubtasks": self.pending(),
            "nextAction": {"type": kind(&next), "action": next.name(), "subtask": self.current(),
                           "phase": self.current_phase(), "command": next.command(),
                           "context": self.hints(unit)},
            "checkpoint": {"subtaskId": self.current(), "phase": self.tdd_phase(), "attemptNumber": attempt},
            "branchTagMapping": {self.branch.clone(): self.tag},
            "startTime": stamp(self.started_at), "lastUpdated": stamp(self.updated_at),
            "lastUpdateTime": stamp(self.updated_at), "canResume": !self.machine.is_over(),
        });
        let own = serde_json::to_value(self).expect("a state has text keys only");
        if let (Value::Object(file), Value::Object(own)) = (&mut file, own) {
            file.extend(own);
        }
        file
    }

    /// What the next step is about, in short.
    fn hints(&self, unit: Option<&WorkUnit>) -> Value {
        let context = unit.map(|unit| &unit.context);
        let red = context.and_then(|context| context.red_phase.as_ref());
        let green = context.and_then(|context| context.green_phase.as_ref());
        let test_file = red
            .map(|red| &red.test_file)
            .or(green.map(|green| &green.test_file));
        json!({
            "testFile": test_file,
            "failingTests": self.red_proven.as_ref().map(|red| &red.tests),
            "implementationFiles": green.map(|green| &green.expected_files),
        })
    }

    /// A subtask whose tries are used up waits as failed until the run is resumed.
    fn failed(&self) -> Vec<String> {
        match self.machine.stage() {
            Stage::Paused {
                why: PauseReason::AttemptsUsedUp,
                ..
            } => self.current().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns `manifest.json`.
    pub(super) fn manifest(&self, root: &std::path::Path) -> Value {
        json!({
            "runId": self.run_id, "projectRoot": root.display().to_string(), "taskId": self.task_id,
            "tag": self.tag, "branch": self.branch, "baseCommit": self.base_commit,
            "startTime": stamp(self.started_at), "endTime": self.ended_at.map(stamp),
            "status": self.status().as_str(), "currentPhase": self.phase().to_lowercase().replace('_', "-"),
            "currentSubtask": self.current(), "subtasksCompleted": self.completed(),
            "subtasksFailed": self.failed(), "totalCommits": self.commits().len(),
        })
    }
}

/// The kind of work in one word.
const fn kind(action: &Action) -> &'static str {
    match action {
        Action::Red { .. } => "generate-tests",
        Action::Green { .. } => "implement",
        Action::Commit { .. } => "commit",
        Action::Finalize => "finalize",
        Action::Complete => "none",
        Action::Resume => "resume",
        Action::Start { .. } => "start",
    }
}

/// Returns the commit of a subtask.
pub(super) const fn commit_of(progress: &Progress) -> Option<&CommitId> {
    match progress {
        Progress::Committed(commit) => Some(commit),
        Progress::Open | Progress::Skipped => None,
    }
}
