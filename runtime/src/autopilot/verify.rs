//! `autopilot.verify: run`: tm runs the tests in the checkout and judges them as it judges any other work.
//!
//! What RED left is kept as a commit on no branch, so that GREEN is held to those very tests.

use super::error::Error;
use super::project::Project;
use super::session::Session;
use super::state::ProvenRed;
use crate::step_error::describe;
use crate::{Checkouts, RedCommit, TestResultCache, Work, prove};
use std::path::{Path, PathBuf};
use tm_scheduler::autopilot::{PhaseReport, TddPhase, TestCounts, Verdict, judge_final};
use tm_scheduler::{CommandEnd, CommitId, Coverage, Phase, Proof, TestOutcome};
use tm_worktrees::{TreeId, WorktreePool};

/// Runs the tests and fills the report with what was seen.
pub(super) async fn measure(
    session: &mut Session<'_>,
    phase: TddPhase,
    tree: &TreeId,
    report: &mut PhaseReport,
) -> Result<(), Error> {
    // The agent may have committed its work itself: it is judged since the run's last commit.
    let head = session.open.state.head.clone();
    let project = session.project();
    let result_cache = result_cache(project, &worktrees(session), &scratch(session), &head)?;
    let red = session.open.state.red_proven.clone();
    let work = Work {
        phase: if phase == TddPhase::Red {
            Phase::Red
        } else {
            Phase::Green
        },
        base: red
            .as_ref()
            .filter(|_| phase == TddPhase::Green)
            .map_or_else(|| head.clone(), |red| red.commit.clone()),
        tree: tree.clone(),
        red: red.filter(|_| phase == TddPhase::Green).map(red_commit),
        command: project.test_command(Some(&session.open.task())),
        rules: crate::rules(&session.project().settings),
        scratch: scratch(session),
    };
    let proof = prove(&work, &result_cache).await;
    close(&result_cache).await;
    let proof = proof.map_err(|trouble| Error::Measuring(trouble.into()))?;
    if phase == TddPhase::Red && proof.holds() {
        session.open.state.red_proven = Some(proven_red(session, tree, &head, &proof)?);
    }
    report.counts = TestCounts::of(proof.passed, proof.failed, 0);
    report.coverage = proof
        .coverage
        .map(|coverage| coverage.after)
        .or(report.coverage);
    report.proven = Some(verdict(phase, &proof));
    Ok(())
}

fn scratch(session: &Session<'_>) -> PathBuf {
    session.open.run.path().join("test-results")
}

pub(super) async fn close(result_cache: &TestResultCache) {
    for warning in result_cache.close().await {
        tracing::warn!("{warning}");
    }
}

fn worktrees(session: &Session<'_>) -> PathBuf {
    session.open.run.path().join("worktrees")
}

/// What measures in checkouts of tm's own, in a folder.
pub(super) fn result_cache(
    project: &Project,
    folder: &Path,
    scratch: &Path,
    head: &CommitId,
) -> Result<TestResultCache, Error> {
    let repository = project
        .checkout
        .repository()
        .with_content(crate::content_rules(&project.settings.worktree));
    let pool = WorktreePool::open(&repository, folder)?;
    let (executor, own_folders) = (
        crate::executor(&project.waves),
        vec![project.waves.path().to_owned()],
    );
    let copies = scratch.join("prepared");
    let checkouts = Checkouts::open(
        pool,
        head.clone(),
        &project.settings,
        copies,
        own_folders,
        executor.clone(),
    )
    .map_err(|error| Error::Measuring(describe(&error)))?;
    Ok(TestResultCache::new(
        checkouts,
        scratch.to_owned(),
        executor,
    ))
}

/// Judges the whole suite at the end by running it. A coverage that the tests wrote counts more than one that was told.
pub(super) async fn suite(
    session: &Session<'_>,
    told: Option<f64>,
    threshold: Option<f64>,
) -> Result<(TestCounts, Verdict), Error> {
    let project = session.project();
    let command = project
        .test_command(Some(&session.open.task()))
        .ok_or(Error::NoTestCommand)?;
    let head = session.open.state.head.clone();
    let result_cache = result_cache(project, &worktrees(session), &scratch(session), &head)?;
    let report = result_cache
        .measure(&head, &command, &scratch(session), "final-suite")
        .await;
    close(&result_cache).await;
    let report = report.map_err(|trouble| Error::Measuring(trouble.into()))?;
    let number = |outcome| count(report.count(outcome));
    let counts = TestCounts::of(
        number(TestOutcome::Passed),
        number(TestOutcome::Failed),
        number(TestOutcome::Skipped),
    );
    let coverage = report.coverage.as_ref().map(Coverage::percent).or(told);
    if report.end == CommandEnd::Exited(Some(0)) && report.broken.is_none() {
        // Where nothing but the exit status tells, it tells of one test.
        let tells_little = report.tests.is_empty();
        let judged = if tells_little {
            TestCounts::of(1, 0, 0)
        } else {
            counts
        };
        let mut verdict = judge_final(&judged, coverage, threshold);
        if tells_little && verdict.is_accepted() {
            verdict
                .warnings
                .push("nothing but the exit status tells that the suite passes".to_owned());
        }
        return Ok((counts, verdict));
    }
    let message = format!(
        "the whole suite does not pass: `{command}` says\n{}",
        report.output_tail.trim()
    );
    Ok((counts, Verdict::refused(message, "make it pass")))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn red_commit(red: ProvenRed) -> RedCommit {
    RedCommit {
        base: red.base,
        commit: red.commit,
        tests: red.tests,
        unloaded: red.unloaded,
    }
}

fn proven_red(
    session: &mut Session<'_>,
    tree: &TreeId,
    head: &CommitId,
    proof: &Proof,
) -> Result<ProvenRed, Error> {
    let commit = session.keep_red(tree)?;
    let (tests, unloaded) = (proof.new.clone(), proof.unloaded.clone());
    Ok(ProvenRed {
        base: head.clone(),
        commit,
        tests,
        unloaded,
    })
}

fn verdict(phase: TddPhase, proof: &Proof) -> Verdict {
    let seen = format!("{} passed, {} failed", proof.passed, proof.failed);
    if proof.holds() {
        let mut verdict = Verdict::accepted(format!("{} is proven: {seen}", phase.as_str()));
        verdict.warnings.clone_from(&proof.notes);
        return verdict;
    }
    let why = proof.evidence.trim();
    let advice = match phase {
        TddPhase::Red => "write tests for behaviour that is missing, and change nothing else",
        TddPhase::Green => "go on with the implementation; leave the tests of RED as they are",
    };
    Verdict::refused(
        format!("{} is not proven ({seen}): {why}", phase.as_str()),
        advice,
    )
}
