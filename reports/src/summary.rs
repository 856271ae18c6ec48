//! The summary of a run, computed from the scheduler's state: the content of `summary.json`.
//!
//! The format is versioned: keys may be added, never renamed.

use crate::cleaned::cleaned;
use crate::compliance::{TddSummary, tdd_summary};
use crate::doubts::DoubtSummary;
use crate::facts::RunFacts;
use crate::foundation::SetupSummary;
use crate::lower_bound::lower_bound;
use crate::moment::moment;
use crate::walls::{WallSummary, wall_summaries};
use serde::{Deserialize, Serialize};
use tm_scheduler::merging::Resolution;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{
    AttemptRecord, ClaimStatus, CommitId, CoverageChange, Dispatch, Failure, GateResult, Phase,
    Proof, Reason, ResultFile, RunStatus, Scheduler, State, Strength, TaskId, TaskView,
};

/// What became of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The proof holds.
    Pass,
    /// The proof holds; the agent names open points.
    Partial,
    /// The attempts are exhausted.
    Fail,
    /// Something that it needs failed.
    Blocked,
    /// It has not come to an end.
    NotRun,
}

impl Verdict {
    /// Returns the word of the JSON format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Partial => "partial",
            Self::Fail => "fail",
            Self::Blocked => "blocked",
            Self::NotRun => "not-run",
        }
    }
}

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The version of this format.
    pub version: u32,
    /// The run.
    pub run_id: String,
    /// `completed`, `failed`, `interrupted`, `stopped`, or of a run that goes on `running` or `paused`.
    pub status: String,
    /// The exit code of `tm waves run`; `null` while the run goes on.
    pub exit_code: Option<u8>,
    /// The tag.
    pub tag: String,
    /// The commit that the run started from.
    pub base_commit: String,
    /// The integration branch.
    pub integration_branch: String,
    /// Where the integration branch stands.
    pub integration_commit: String,
    /// Agents at the same time.
    pub max_parallel: u32,
    /// `rolling` or `barrier`.
    pub dispatch: Dispatch,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// When it ended.
    pub ended_at: String,
    /// Milliseconds between the two.
    pub wall_ms: u64,
    /// The least time in which the attempts that settled the tasks could have been run with so many slots.
    pub lower_bound_ms: u64,
    /// Ids by wave.
    pub waves: Vec<Vec<String>>,
    /// Limits of services that stand, in the order of the accounts.
    #[serde(default)]
    pub walls: Vec<WallSummary>,
    /// Landings that the journal tells of and git does not show; they count as not landed.
    #[serde(default)]
    pub doubts: Vec<DoubtSummary>,
    /// Every task, in the order of its id.
    pub tasks: Vec<TaskSummary>,
    /// What was seen before any agent was started.
    #[serde(default)]
    pub preflight: Option<Preflight>,
    /// The set-ups of checkouts.
    #[serde(default)]
    pub setups: SetupSummary,
    /// What attempts in a row had in common, where nothing more was started because of that.
    #[serde(default)]
    pub broken_by: Option<String>,
    /// Pairs.
    pub tdd: TddSummary,
    /// Sums.
    pub totals: Totals,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// The id within the run.
    pub id: String,
    /// One line.
    pub title: String,
    /// The kind of work.
    pub phase: Phase,
    /// The other half of its pair.
    pub pair: Option<String>,
    /// Its wave.
    pub wave: u32,
    /// What became of it.
    pub verdict: Verdict,
    /// Where it stands now, in one word.
    pub state: String,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The evidence of the last failure, bounded.
    pub reason: Option<String>,
    /// Whether it is on the integration branch.
    pub landed: bool,
    /// Its branch.
    pub branch: Option<String>,
    /// What its last attempt started from.
    pub base_commit: Option<String>,
    /// The commit of the proven work.
    pub commit: Option<String>,
    /// What blocks it.
    pub blocked_by: Vec<String>,
    /// What it depends on, within the run.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// How much the proven work changes; `null` when there is none.
    #[serde(default)]
    pub diffstat: Option<DiffstatSummary>,
    /// Its attempts.
    pub attempts: Vec<AttemptSummary>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptSummary {
    /// The number.
    pub n: u32,
    /// The recipe.
    pub agent: Option<String>,
    /// How the process ended; `null` while it lives.
    pub ended: Option<String>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// When it began.
    pub started_at: String,
    /// When it was over.
    pub ended_at: Option<String>,
    /// When its agent was started.
    #[serde(default)]
    pub agent_started_at: Option<String>,
    /// When its agent was gone.
    #[serde(default)]
    pub agent_ended_at: Option<String>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The evidence of the failure, bounded; `null` when it did not fail.
    #[serde(default)]
    pub evidence: Option<String>,
    /// What the agent claims: `pass`, `partial`, `fail`, `none`.
    pub claim: String,
    /// How it landed, where merging lines alone gave no tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The files in which its work, while under way, conflicts with what has landed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflict_ahead: Vec<String>,
    /// Where the claim says more than the proof shows.
    pub differences: Vec<String>,
    /// What else was noticed while the agent worked.
    pub noticed: Vec<String>,
    /// What tm saw.
    pub proof: Option<ProofSummary>,
    /// Reviews that came to no verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreviewed: Vec<GateResult>,
    /// What came of the further agent that may improve the code: `kept`, or why its work was dropped.
    pub refactor: Option<String>,
    /// Tokens of the attempt: of its agent, and of those that reviewed or improved its work.
    pub tokens: Option<TokensSummary>,
    /// The cost of all of them in US dollars.
    pub cost_usd: Option<f64>,
}

/// What tm saw of an attempt's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProofSummary {
    /// Tests that failed at the base already.
    pub baseline_failed: u64,
    /// Why the work is refused, from the closed list of reasons; `null` when the proof holds.
    pub reason: Option<Reason>,
    /// Tests that are new.
    pub new: Vec<String>,
    /// Files of new tests that can't be loaded before their implementation is there.
    pub unloaded: Vec<String>,
    /// Tests that pass.
    pub passed: u64,
    /// Tests that fail.
    pub failed: u64,
    /// Tests that passed before and do not now.
    pub regressions: Vec<String>,
    /// Tests that failed once and passed when run again.
    pub flaky: Vec<String>,
    /// Covered lines in percent.
    pub coverage: Option<CoverageChange>,
    /// How much it rests on.
    #[serde(default)]
    pub strength: Strength,
    /// Rules that the work breaks and that relaxed strictness lets pass.
    pub waived: Vec<Reason>,
    /// What people should know.
    pub notes: Vec<String>,
    /// What the gates of the project said.
    #[serde(default)]
    pub gates: Vec<GateResult>,
}

/// The size of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiffstatSummary {
    /// Files that differ.
    pub files: usize,
    /// Lines that are new.
    pub insertions: usize,
    /// Lines that are gone.
    pub deletions: usize,
}

/// Tokens of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokensSummary {
    /// Read by the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

/// Sums over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Tasks with verdict `pass`.
    pub passed: usize,
    /// Tasks with verdict `partial`.
    pub partial: usize,
    /// Tasks with verdict `fail`.
    pub failed: usize,
    /// Tasks with verdict `blocked`.
    pub blocked: usize,
    /// Tasks that somebody left out.
    #[serde(default)]
    pub skipped: usize,
    /// Tokens, read and written together.
    pub tokens: u64,
    /// Cost in US dollars; `null` when no agent reports it.
    pub cost_usd: Option<f64>,
}

impl TaskSummary {
    /// Tells whether somebody left it out.
    pub(crate) fn is_skipped(&self) -> bool {
        self.state == "skipped"
    }
}

/// Computes the summary. Its texts are safe to show, whoever wrote them, and so is every report that is made of it.
pub fn summarize(scheduler: &Scheduler, facts: &RunFacts) -> Summary {
    cleaned(computed(scheduler, facts))
}

fn computed(scheduler: &Scheduler, facts: &RunFacts) -> Summary {
    let mut views: Vec<TaskView<'_>> = scheduler.tasks().collect();
    views.sort_by(|left, right| left.placed.task.id.cmp(&right.placed.task.id));
    let tasks: Vec<TaskSummary> = views.iter().map(task_summary).collect();
    let waves = scheduler.plan().waves();
    Summary {
        version: 1,
        run_id: facts.run_id.to_string(),
        status: scheduler
            .ended()
            .map_or("running", RunStatus::as_str)
            .to_owned(),
        exit_code: scheduler.ended().map(|status| scheduler.exit_code(status)),
        tag: facts.tag.to_string(),
        base_commit: facts.base_commit.to_string(),
        integration_branch: facts.integration_branch.clone(),
        integration_commit: facts.integration_commit.to_string(),
        max_parallel: scheduler.limits().slots.get(),
        dispatch: scheduler.limits().dispatch,
        started_at: moment(facts.started_at),
        ended_at: moment(facts.ended_at),
        wall_ms: facts.ended_at.since(facts.started_at),
        lower_bound_ms: lower_bound(&views, scheduler.limits().slots.get()),
        waves: waves
            .iter()
            .map(|wave| {
                wave.iter()
                    .map(|placed| placed.task.id.to_string())
                    .collect()
            })
            .collect(),
        walls: wall_summaries(scheduler, facts.ended_at),
        doubts: Vec::new(),
        preflight: facts.preflight.clone(),
        setups: facts.setups,
        broken_by: scheduler.broken_by().map(ToOwned::to_owned),
        tdd: tdd_summary(&views),
        totals: totals(&tasks),
        tasks,
    }
}

fn task_summary(view: &TaskView<'_>) -> TaskSummary {
    let task = &view.placed.task;
    let last = view.attempts.last();
    let place = last.and_then(|record| record.place.as_ref());
    let blocked_by = match view.state {
        State::Blocked { by } => by.iter().map(TaskId::to_string).collect(),
        _ => Vec::new(),
    };
    let verdict = verdict(view);
    TaskSummary {
        id: task.id.to_string(),
        title: task.title.clone(),
        phase: task.phase,
        pair: task.pair.as_ref().map(TaskId::to_string),
        wave: view.placed.wave,
        verdict,
        state: view.state.as_str().to_owned(),
        failure: match view.state {
            State::Failed { failure } => Some(*failure),
            _ => None,
        },
        reason: last
            .filter(|record| record.failure.is_some())
            .map(|record| record.evidence.clone()),
        landed: matches!(view.state, State::Landed { .. }),
        branch: place.map(|place| place.branch.clone()),
        base_commit: place.map(|place| place.base.to_string()),
        commit: view.state.commit().map(CommitId::to_string),
        blocked_by,
        dependencies: task.dependencies.iter().map(TaskId::to_string).collect(),
        diffstat: None,
        attempts: view
            .attempts
            .iter()
            .map(|record| attempt_summary(record, task.phase))
            .collect(),
    }
}

fn verdict(view: &TaskView<'_>) -> Verdict {
    match view.state {
        State::Held { .. } | State::Landed { .. } => {
            if view.attempts.last().and_then(claim) == Some(ClaimStatus::Partial) {
                Verdict::Partial
            } else {
                Verdict::Pass
            }
        }
        State::Failed { .. } => Verdict::Fail,
        State::Blocked { .. } => Verdict::Blocked,
        State::Waiting { .. }
        | State::Ready
        | State::Paused { .. }
        | State::Preparing
        | State::Running
        | State::Proving
        | State::Committing
        | State::Refactoring { .. }
        | State::Landing { .. }
        | State::Skipped { .. } => Verdict::NotRun,
    }
}

fn claim(record: &AttemptRecord) -> Option<ClaimStatus> {
    match &record.report.as_ref()?.result {
        ResultFile::Claimed(claim) => Some(claim.status),
        ResultFile::Missing | ResultFile::Malformed(_) => None,
    }
}

fn attempt_summary(record: &AttemptRecord, phase: Phase) -> AttemptSummary {
    let report = record.report.as_ref();
    let (tokens, cost_usd) = record.spent();
    let claim = claim(record).map_or("none", ClaimStatus::as_str);
    AttemptSummary {
        n: record.number.0,
        agent: report
            .map(|report| report.agent.clone())
            .or_else(|| record.agent.as_ref().map(ToString::to_string)),
        ended: report.map(|report| report.ended.as_str().to_owned()),
        exit_code: report.and_then(|report| report.ended.exit_code()),
        started_at: moment(record.started_at),
        ended_at: record.ended_at.map(moment),
        agent_started_at: report.map(|report| moment(report.started_at)),
        agent_ended_at: report.map(|report| moment(report.ended_at)),
        failure: record.failure,
        evidence: record.failure.map(|_| record.evidence.clone()),
        claim: claim.to_owned(),
        resolution: record.resolution,
        conflict_ahead: record.files_ahead().to_vec(),
        differences: differences(record, phase),
        noticed: report
            .map(|report| report.noticed.clone())
            .unwrap_or_default(),
        proof: record.proof.as_ref().map(proof_summary),
        unreviewed: record.unreviewed.clone(),
        refactor: record.refactor.as_ref().map(|refactored| {
            refactored
                .dropped
                .clone()
                .unwrap_or_else(|| "kept".to_owned())
        }),
        tokens: tokens.map(|tokens| TokensSummary {
            input: tokens.input,
            output: tokens.output,
        }),
        cost_usd,
    }
}

fn proof_summary(proof: &Proof) -> ProofSummary {
    ProofSummary {
        reason: proof.reason,
        unloaded: proof.unloaded.clone(),
        coverage: proof.coverage,
        strength: proof.rests_on(),
        waived: proof.waived.clone(),
        baseline_failed: proof.baseline_failed,
        new: proof.new.clone(),
        passed: proof.passed,
        failed: proof.failed,
        regressions: proof.regressions.clone(),
        flaky: proof.flaky.clone(),
        notes: proof.notes.clone(),
        gates: proof.gates.clone(),
    }
}

fn differences(record: &AttemptRecord, phase: Phase) -> Vec<String> {
    let result = record.report.as_ref().map(|report| &report.result);
    match (result, &record.proof) {
        (Some(ResultFile::Claimed(claim)), Some(proof)) => claim.differences(proof, phase),
        (_, _) => Vec::new(),
    }
}

fn totals(tasks: &[TaskSummary]) -> Totals {
    let count = |verdict: Verdict| tasks.iter().filter(|task| task.verdict == verdict).count();
    let attempts = || tasks.iter().flat_map(|task| &task.attempts);
    let tokens = attempts().filter_map(|attempt| attempt.tokens);
    let costs = attempts().filter_map(|attempt| attempt.cost_usd);
    Totals {
        passed: count(Verdict::Pass),
        partial: count(Verdict::Partial),
        failed: count(Verdict::Fail),
        blocked: count(Verdict::Blocked),
        skipped: tasks.iter().filter(|task| task.is_skipped()).count(),
        tokens: tokens.map(|tokens| tokens.input + tokens.output).sum(),
        cost_usd: costs.reduce(|sum, more| sum + more),
    }
}
