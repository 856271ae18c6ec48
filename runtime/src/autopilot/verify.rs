//! `autopilot.verify: run`: tm runs the tests in the checkout and judges them as it judges any other work.
//!
//! What RED left is kept as a commit on no branch, so that GREEN is held to those very tests.

use super::error::Error;
use super::project::Project;
use super::session::Session;
use crate::preflight::{BrokenBase, look_first};
use crate::{Checkouts, RedCommit, StepError, TestResultCache, Work, describe, prove};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tm_config::Verify;
use tm_scheduler::autopilot::{TestCounts, Verdict, judge_final};
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{CommandEnd, CommitId, Coverage, Phase, Proof, Task, TddHalf, TestOutcome};
use tm_store::run::{read_json, write_json};
use tm_worktrees::{TreeId, WorktreePool};

/// What tm saw of a phase.
pub(super) struct Seen {
    pub(super) counts: TestCounts,
    pub(super) coverage: Option<f64>,
    pub(super) verdict: Verdict,
    pub(super) proof: Proof,
}

/// Runs the tests and judges what is seen.
pub(super) async fn measure(
    session: &mut Session<'_>,
    phase: TddHalf,
    tree: &TreeId,
) -> Result<Seen, Error> {
    // The agent may have committed its work itself: it is judged since the run's last commit.
    let head = session.state.head.clone();
    let project = session.project;
    let proven = session.state.red_proven.clone();
    let red = proven.filter(|_| phase == TddHalf::Green);
    let work = Work {
        phase: match phase {
            TddHalf::Red => Phase::Red,
            TddHalf::Green => Phase::Green,
        },
        base: red.as_ref().map_or(&head, |red| &red.commit).clone(),
        tree: tree.clone(),
        red,
        command: session.command().cloned(),
        rules: crate::rules(&project.settings),
        scratch: scratch(session),
    };
    let result_cache = own_result_cache(session)?;
    let proof = prove(&work, &result_cache).await;
    close(&result_cache).await;
    let proof = proof.map_err(measuring)?;
    if phase == TddHalf::Red && proof.holds() {
        session.state.red_proven = Some(RedCommit {
            base: head,
            commit: session.keep_red(tree)?,
            tests: proof.new.clone(),
            unloaded: proof.unloaded.clone(),
        });
    }
    Ok(Seen {
        counts: TestCounts::of(proof.passed, proof.failed, 0),
        coverage: proof.coverage.map(|coverage| coverage.after),
        verdict: verdict(phase, &proof),
        proof,
    })
}

fn measuring(trouble: StepError) -> Error {
    Error::Measuring(trouble.into())
}

fn scratch(session: &Session<'_>) -> PathBuf {
    session.run.path().join("test-results")
}

async fn close(result_cache: &TestResultCache) {
    for warning in result_cache.close().await {
        tracing::warn!("{warning}");
    }
}

/// What measures in checkouts of the run's own.
fn own_result_cache(session: &Session<'_>) -> Result<TestResultCache, Error> {
    let worktrees = session.run.path().join("worktrees");
    let head = &session.state.head;
    result_cache(session.project, &worktrees, &scratch(session), head)
}

/// What measures in checkouts of tm's own, in a folder.
fn result_cache(
    project: &Project,
    folder: &Path,
    scratch: &Path,
    head: &CommitId,
) -> Result<TestResultCache, Error> {
    let repository = project
        .repository
        .with_content(crate::content_rules(&project.settings.worktree));
    let holder = crate::filter_holder(&project.waves, &project.repository, &project.settings);
    let pool = WorktreePool::open(&repository.with_held_filters(holder), folder)?;
    let executor = crate::executor(&project.waves, &project.repository, &project.settings);
    let checkouts = Checkouts::open(
        pool,
        head.clone(),
        &project.settings,
        scratch.join("prepared"),
        vec![project.waves.path().to_owned()],
        executor.clone(),
    );
    let checkouts = checkouts.map_err(|error| Error::Measuring(describe(&error)))?;
    let scratch = scratch.to_owned();
    Ok(TestResultCache::new(checkouts, scratch, executor))
}

/// Judges the whole suite at the end by running it. A coverage that the tests wrote counts more than one that was told.
pub(super) async fn suite(
    session: &Session<'_>,
    told: Option<f64>,
    threshold: Option<f64>,
) -> Result<(TestCounts, Verdict), Error> {
    let command = session.command().ok_or(Error::NoTestCommand)?;
    let (head, scratch) = (&session.state.head, scratch(session));
    let result_cache = own_result_cache(session)?;
    let report = result_cache
        .measure(head, command, (&scratch, "final-suite"))
        .await;
    close(&result_cache).await;
    let report = report.map_err(measuring)?;
    let number = |outcome| u64::try_from(report.count(outcome)).unwrap_or(u64::MAX);
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

fn verdict(phase: TddHalf, proof: &Proof) -> Verdict {
    let seen = format!("{} passed, {} failed", proof.passed, proof.failed);
    if proof.holds() {
        let mut verdict = Verdict::accepted(format!("{} is proven: {seen}", phase.in_capitals()));
        verdict.warnings.clone_from(&proof.notes);
        return verdict;
    }
    let why = proof.evidence.trim();
    let advice = match phase {
        TddHalf::Red => "write tests for behaviour that is missing, and change nothing else",
        TddHalf::Green => "go on with the implementation; leave the tests of RED as they are",
    };
    Verdict::refused(
        format!("{} is not proven ({seen}): {why}", phase.in_capitals()),
        advice,
    )
}

/// A look that was good, which is not taken again at the same tree with the same command and set-up. No proof rests on
/// it: what RED and GREEN are judged by is measured anew.
#[derive(Debug, Deserialize, Serialize)]
struct GoodLook {
    /// Everything that it depends on and that can be named.
    of: String,
    seen: Preflight,
}

/// Looks at what a run would start from, as waves look before theirs, and returns what was seen, in lines. Where results are reported, tm runs nothing.
pub(super) async fn look(
    project: &Project,
    task: &Task,
    base: &CommitId,
    broken: BrokenBase,
) -> Result<Vec<String>, Error> {
    let Some(command) = project
        .test_command(Some(task))
        .filter(|_| project.settings.autopilot.verify == Verify::Run)
    else {
        return Ok(Vec::new());
    };
    let tree = project.repository.tree_of(base)?;
    let of = format!(
        "{tree} {} {:?}",
        command.identity(),
        project.settings.worktree
    );
    let file = project.folder.good_look();
    match read_json::<GoodLook>(&file) {
        Ok(known) if known.of == of => return Ok(known.seen.lines()),
        Ok(_) | Err(_) => {}
    }
    let scratch =
        tempfile::tempdir().map_err(|error| Error::Measuring(format!("make a folder: {error}")))?;
    let folder = project.checkouts_to_look()?;
    let result_cache = result_cache(project, &folder, scratch.path(), base)?;
    let seen = look_first(base, &[command], &result_cache, scratch.path()).await;
    close(&result_cache).await;
    let seen = broken.noted(seen.map_err(measuring)?);
    if seen.is_good() {
        let seen = seen.clone();
        write_json(&file, &GoodLook { of, seen })?;
    } else {
        // A hint may name a file in it.
        let _kept = scratch.keep();
    }
    Ok(broken.decided(seen).map_err(Error::BrokenBase)?.lines())
}
