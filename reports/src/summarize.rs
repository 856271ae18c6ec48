//! Computes the summary from the scheduler's state.

use crate::chain::lower_bound;
use crate::cleaned::cleaned;
use crate::compliance::{refactored, tdd_summary};
use crate::moment::moment;
use crate::setup_summary::SetupSummary;
use crate::{
    AttemptSummary, Counts, PauseSummary, ProofSummary, Summary, TaskSummary, Totals, Verdict,
    WallSummary,
};
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{
    AttemptRecord, BranchName, Claim, ClaimStatus, CommitId, Failure, Phase, PlacedTask, Proof,
    ResultFile, RunId, RunStatus, Scheduler, State, Tag, TaskId, TaskView, Timestamp, exit_code,
};

/// Facts about a run that the scheduler does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFacts {
    /// The run.
    pub run_id: RunId,
    /// The name of the folder of the repository.
    pub project: String,
    /// The tag.
    pub tag: Tag,
    /// The commit that the run started from.
    pub base_commit: CommitId,
    /// The integration branch.
    pub integration_branch: BranchName,
    /// Where the integration branch stands.
    pub integration_commit: CommitId,
    /// When the run began.
    pub started_at: Timestamp,
    /// When it ended; now, while it goes on.
    pub ended_at: Timestamp,
    /// What was seen before any agent was started, where somebody looked.
    pub preflight: Option<Preflight>,
    /// The set-ups of checkouts.
    pub setups: SetupSummary,
}

/// Computes the summary. Its texts are safe to show, whoever wrote them, and so is every report that is made of it.
pub fn summarize(scheduler: &Scheduler, facts: &RunFacts) -> Summary {
    cleaned(computed(scheduler, facts))
}

fn computed(scheduler: &Scheduler, facts: &RunFacts) -> Summary {
    let mut views: Vec<TaskView<'_>> = scheduler.tasks().collect();
    views.sort_by_key(|view| {
        let task = &view.placed.task;
        (task.shown_id(), task.phase != Phase::Red, &task.id)
    });
    let tasks: Vec<TaskSummary> = views.iter().map(task_summary).collect();
    let (slots, ended) = (scheduler.limits().slots.get(), scheduler.ended());
    let ids = |wave: &Vec<&PlacedTask>| {
        wave.iter()
            .map(|placed| placed.task.id.to_string())
            .collect()
    };
    Summary {
        version: 1,
        run_id: facts.run_id.to_string(),
        status: ended.map_or("running", RunStatus::as_str).to_owned(),
        exit_code: ended.map(|status| exit_code::of_run(status, scheduler.stop_reason())),
        project: facts.project.clone(),
        tag: facts.tag.to_string(),
        base_commit: facts.base_commit.to_string(),
        integration_branch: facts.integration_branch.clone(),
        integration_commit: facts.integration_commit.to_string(),
        max_parallel: slots,
        tests_at_once: Some(scheduler.limits().tests_at_once.get()),
        dispatch: scheduler.limits().dispatch,
        started_at: moment(facts.started_at),
        ended_at: moment(facts.ended_at),
        wall_ms: facts.ended_at.since(facts.started_at),
        lower_bound_ms: lower_bound(&tasks, scheduler.limits()),
        pauses: scheduler.pauses().iter().map(pause_summary).collect(),
        waves: scheduler.plan().waves().iter().map(ids).collect(),
        walls: cooldown_summaries(scheduler, facts.ended_at),
        doubts: Vec::new(),
        preflight: facts.preflight.clone(),
        setups: facts.setups,
        broken_by: scheduler.broken_by().map(ToOwned::to_owned),
        trouble: scheduler.trouble().map(ToOwned::to_owned),
        landing_behind: scheduler.landing_behind(),
        tdd: tdd_summary(&views),
        totals: Totals::of(&tasks),
        counts: Counts::of(&tasks),
        tasks,
    }
}

fn pause_summary(&(from, to): &(Timestamp, Timestamp)) -> PauseSummary {
    PauseSummary {
        from: moment(from),
        to: moment(to),
    }
}

fn task_summary(view: &TaskView<'_>) -> TaskSummary {
    let task = &view.placed.task;
    let last = view.attempts.last();
    let place = last.and_then(AttemptRecord::place);
    let blocked_by = match view.state {
        State::Blocked { by } => by.iter().map(TaskId::to_string).collect(),
        _ => Vec::new(),
    };
    let verdict = verdict(view);
    TaskSummary {
        id: task.id.to_string(),
        title: task.title.to_string(),
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
            .and_then(AttemptRecord::failed)
            .map(|failed| failed.evidence.clone()),
        landed: matches!(view.state, State::Landed { .. }),
        branch: place.map(|place| place.branch.clone()),
        base_commit: place.map(|place| place.base.to_string()),
        commit: view.state.commit().map(CommitId::to_string),
        blocked_by,
        dependencies: task.dependencies.iter().map(TaskId::to_string).collect(),
        complexity: task.complexity,
        touched: touched(last),
        worked_ms: worked_ms(view),
        diffstat: None,
        diff: None,
        attempts: view
            .attempts
            .iter()
            .map(|record| attempt_summary(record, task.phase))
            .collect(),
    }
}

/// So many files are named of each task.
const MOST_FILES: usize = 24;

fn touched(last: Option<&AttemptRecord>) -> Vec<String> {
    let proof = last.and_then(AttemptRecord::proof_of_commit);
    let files = proof.filter(|proof| proof.holds());
    files.map_or_else(Vec::new, |proof| {
        proof.touched.iter().take(MOST_FILES).cloned().collect()
    })
}

/// What limits of services, crashes and orders of people cost says nothing of the task; what conflicts cost does.
fn worked_ms(view: &TaskView<'_>) -> Option<u64> {
    let is_proven = matches!(view.state, State::Held { .. } | State::Landed { .. });
    let counts = |record: &&AttemptRecord| match record.failure() {
        None => record.evidence().is_empty(),
        Some(Failure::Conflict) => true,
        Some(_) => record.is_charged(),
    };
    let reports = view.attempts.iter().filter(counts);
    let reports = reports.filter_map(AttemptRecord::report);
    is_proven.then(|| {
        reports
            .map(|report| report.ended_at.since(report.started_at))
            .sum()
    })
}

fn verdict(view: &TaskView<'_>) -> Verdict {
    match view.state {
        State::Held { .. } | State::Landed { .. } => {
            match view
                .attempts
                .last()
                .and_then(claim)
                .map(|claim| claim.status)
            {
                Some(ClaimStatus::Partial) => Verdict::Partial,
                Some(ClaimStatus::Pass | ClaimStatus::Fail) | None => Verdict::Pass,
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

fn claim(record: &AttemptRecord) -> Option<&Claim> {
    match &record.report()?.result {
        ResultFile::Claimed(claim) => Some(claim),
        ResultFile::Missing | ResultFile::Malformed(_) => None,
    }
}

fn attempt_summary(record: &AttemptRecord, phase: Phase) -> AttemptSummary {
    let (report, failed) = (record.report(), record.failed());
    let (tokens, cost_usd) = record.spent();
    let claim = claim(record).map_or("none", |claim| claim.status.as_str());
    AttemptSummary {
        n: record.number.0,
        agent: Some(report.map_or_else(|| record.agent.to_string(), |report| report.agent.clone())),
        place: report.and_then(|report| report.place.clone()),
        waits: None,
        ended: report.map(|report| report.ended.as_str().to_owned()),
        exit_code: report.and_then(|report| report.ended.exit_code()),
        started_at: moment(record.started_at),
        ended_at: record.ended_at().map(moment),
        agent_started_at: report.map(|report| moment(report.started_at)),
        agent_ended_at: report.map(|report| moment(report.ended_at)),
        queued_at: record.queued_at.map(moment),
        landing_at: record.landing_at.map(moment),
        failure: record.failure(),
        evidence: failed.map(|failed| failed.evidence.clone()),
        claim: claim.to_owned(),
        resolution: record.resolution(),
        conflict_ahead: record
            .ahead()
            .map(|ahead| ahead.files.clone())
            .unwrap_or_default(),
        differences: differences(record, phase),
        noticed: report
            .map(|report| report.noticed.clone())
            .unwrap_or_default(),
        proof: record.proof().map(proof_summary),
        unreviewed: record.unreviewed.clone(),
        refactor: refactored(record),
        tokens,
        cost_usd,
        log: None,
    }
}

fn proof_summary(proof: &Proof) -> ProofSummary {
    ProofSummary {
        reason: proof.reason,
        unloaded: proof.unloaded.clone(),
        coverage: proof.coverage,
        strength: proof.rests_on(),
        sandbox: proof.sandbox.clone(),
        waived: proof.waived.clone(),
        tests_ms: proof.tests_ms,
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
    let claimed = claim(record).zip(record.proof());
    claimed.map_or_else(Vec::new, |(claim, proof)| claim.differences(proof, phase))
}

impl Totals {
    pub(crate) fn of(tasks: &[TaskSummary]) -> Self {
        let count = |verdict: Verdict| tasks.iter().filter(|task| task.verdict == verdict).count();
        let attempts = || tasks.iter().flat_map(|task| &task.attempts);
        let tokens = attempts().filter_map(|attempt| attempt.tokens);
        let costs = attempts().filter_map(|attempt| attempt.cost_usd);
        Self {
            passed: count(Verdict::Pass),
            partial: count(Verdict::Partial),
            failed: count(Verdict::Fail),
            blocked: count(Verdict::Blocked),
            skipped: tasks.iter().filter(|task| task.is_skipped()).count(),
            tokens: tokens.map(|tokens| tokens.input + tokens.output).sum(),
            cost_usd: costs.reduce(|sum, more| sum + more),
        }
    }
}

/// Returns the limits that stand at a moment; those of a run that has settled hold up nobody.
fn cooldown_summaries(scheduler: &Scheduler, now: Timestamp) -> Vec<WallSummary> {
    let is_waited_for = scheduler.tasks().any(|view| !view.state.is_settled());
    let standing = scheduler
        .cooldowns()
        .filter(|(_, wall)| is_waited_for && wall.until > now);
    let summaries = standing.map(|(account, wall)| WallSummary {
        account: account.to_string(),
        agent: wall.agent.to_string(),
        until: moment(wall.until),
        left_ms: wall.until.since(now),
    });
    summaries.collect()
}
