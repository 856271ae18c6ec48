//! The summary of a run, computed from the scheduler's state: the content of `summary.json`.
//!
//! The format is versioned: keys may be added, never renamed.

use crate::compliance::TddSummary;
use crate::setup_summary::SetupSummary;
use serde::{Deserialize, Serialize};
use std::fmt;
use tm_scheduler::merging::Resolution;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{
    BranchName, Complexity, CoverageChange, Dispatch, Failure, GateResult, Phase, Reason, Strength,
    Tokens,
};

tm_scheduler::words! {
    /// What became of a task.
    pub enum Verdict {
        /// The proof holds.
        Pass = "pass",
        /// The proof holds; the agent names open points.
        Partial = "partial",
        /// The attempts are exhausted.
        Fail = "fail",
        /// Something that it needs failed.
        Blocked = "blocked",
        /// It has not come to an end.
        NotRun = "not-run",
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
    /// The name of the folder of the repository.
    #[serde(default)]
    pub project: String,
    /// The tag.
    pub tag: String,
    /// The commit that the run started from.
    pub base_commit: String,
    /// The integration branch.
    pub integration_branch: BranchName,
    /// Where the integration branch stands.
    pub integration_commit: String,
    /// Agents at the same time.
    pub max_parallel: u32,
    /// Set-ups and runs of tests at the same time, at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_at_once: Option<u32>,
    /// `rolling` or `barrier`.
    pub dispatch: Dispatch,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// When it ended.
    pub ended_at: String,
    /// Milliseconds between the two.
    pub wall_ms: u64,
    /// The least time in which the attempts that settled the tasks fit into so many slots and places for tests.
    pub lower_bound_ms: u64,
    /// When nobody carried it out: between the end of one process and the start of the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseSummary>,
    /// Ids by wave.
    pub waves: Vec<Vec<String>>,
    /// Limits of services that stand, in the order of the accounts.
    #[serde(default)]
    pub walls: Vec<WallSummary>,
    /// Landings that the journal tells of and git does not show; they count as not landed.
    #[serde(default)]
    pub doubts: Vec<DoubtSummary>,
    /// Every task, in the order of its id, a RED before its GREEN.
    pub tasks: Vec<TaskSummary>,
    /// What was seen before any agent was started.
    pub preflight: Option<Preflight>,
    /// The set-ups of checkouts.
    #[serde(default)]
    pub setups: SetupSummary,
    /// What attempts in a row had in common, where nothing more was started because of that.
    pub broken_by: Option<String>,
    /// What outside of all tasks stood in the way, when the run stopped for it.
    pub trouble: Option<String>,
    /// How many tasks wait for their proof or to land, where nothing more is started because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing_behind: Option<u32>,
    /// Pairs.
    pub tdd: TddSummary,
    /// Sums, over all that the run carries out: a pair is two.
    pub totals: Totals,
    /// Sums over the tasks as people count them: a pair is one.
    #[serde(default)]
    pub counts: Counts,
}

/// A time in which nobody carried the run out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseSummary {
    /// When the last thing happened before.
    pub from: String,
    /// When the run was taken up.
    pub to: String,
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
    pub branch: Option<BranchName>,
    /// What its last attempt started from.
    pub base_commit: Option<String>,
    /// The commit of the proven work.
    pub commit: Option<String>,
    /// What blocks it.
    pub blocked_by: Vec<String>,
    /// What it depends on, within the run.
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// The size in the backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// Files that the proven work touches, some where they are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
    /// How long its agents worked until it was proven, in milliseconds: what later runs expect of tasks like it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked_ms: Option<u64>,
    /// How much the proven work changes; `null` when there is none.
    pub diffstat: Option<DiffstatSummary>,
    /// The beginning of that change, where somebody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<Excerpt>,
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
    /// Where it runs, or ran, where that is another machine: a node, and the job as its engine calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Why it waits for a place on another machine, while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
    /// How the process ended; `null` while it lives.
    pub ended: Option<String>,
    /// Its exit code.
    pub exit_code: Option<i32>,
    /// When it began.
    pub started_at: String,
    /// When it was over.
    pub ended_at: Option<String>,
    /// When its agent was started.
    pub agent_started_at: Option<String>,
    /// When its agent was gone.
    pub agent_ended_at: Option<String>,
    /// When its work began to wait for its turn to land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_at: Option<String>,
    /// When its landing began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing_at: Option<String>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The evidence of the failure, bounded; `null` when it did not fail.
    pub evidence: Option<String>,
    /// What the agent claims: `pass`, `partial`, `fail`, `none`.
    pub claim: String,
    /// How it landed, where merging lines alone gave no tree.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    pub tokens: Option<Tokens>,
    /// The cost of all of them in US dollars.
    pub cost_usd: Option<f64>,
    /// The end of what its agent said, where somebody asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Excerpt>,
}

/// A part of a text that may be long, safe to show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Excerpt {
    /// The part.
    pub text: String,
    /// So many lines are left out.
    pub left_out: u64,
}

/// What tm saw of an attempt's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProofSummary {
    /// Milliseconds for which set-ups, tests, gates and hooks ran, without what they waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_ms: Option<u64>,
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
    /// By which means the tests were held, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
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

/// Sums over the tasks of a run as people count them: a pair is one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub tasks: usize,
    /// Those that have come to an end.
    pub settled: usize,
    /// Those that are on the integration branch.
    pub landed: usize,
    /// Those whose proof holds, without open points.
    pub passed: usize,
    /// Those whose proof holds and whose agents name open points.
    pub partial: usize,
    /// Those of which a half is given up.
    pub failed: usize,
    /// Those that can't be done without another one.
    pub blocked: usize,
    /// Those that somebody left out.
    pub skipped: usize,
}

impl TaskSummary {
    /// Tells whether somebody left it out.
    pub(crate) fn is_skipped(&self) -> bool {
        self.state == "skipped"
    }
}

/// A limit of the service behind an account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallSummary {
    /// The account.
    pub account: String,
    /// The agent that ran into it first.
    pub agent: String,
    /// When the service may be asked again.
    pub until: String,
    /// Milliseconds until then.
    pub left_ms: u64,
}

/// Something that a journal says of landed work and that can't be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoubtSummary {
    /// The task; `null` for a commit that no task of the run landed by.
    pub task: Option<String>,
    /// The commit.
    pub commit: String,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for DoubtSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, commit, why } = self;
        match task {
            Some(task) => write!(
                formatter,
                "task {task} is said to have landed by `{commit:.12}`, and git does not show it: {why}"
            ),
            None => write!(formatter, "`{commit:.12}`: {why}"),
        }
    }
}
