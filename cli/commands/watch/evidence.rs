//! What is known of a task, as lines: its place, each attempt with claim, proof and failure. Pure.

use crate::screen::clock;
use crate::words;
use itertools::Itertools as _;
use std::iter::once;
use tm_scheduler::{
    AgentReport, AttemptEnd, AttemptRecord, ClaimStatus, Proof, ResultFile, State, TaskView,
};

/// Returns the lines.
pub(super) fn evidence(view: &TaskView<'_>) -> Vec<String> {
    let task = &view.placed.task;
    let needs = task.dependencies.iter().join(", ");
    let needs = (!needs.is_empty()).then(|| format!("depends on {needs}"));
    let is_new = view.attempts.is_empty();
    let unstarted = is_new.then(|| "it has not been started".to_owned());
    let attempts = view.attempts.iter().rev();
    once(format!("{} is {}", task.id, view.state.as_str()))
        .chain(needs)
        .chain(work(view.state))
        .chain(unstarted)
        .chain(attempts.flat_map(|record| once(String::new()).chain(attempt(record))))
        .collect()
}

fn work(state: &State) -> Option<String> {
    if let State::Landed { commit, merge } = state {
        return Some(format!("commit {commit:.10}, landed as {merge:.10}"));
    }
    let commit = state.commit()?;
    Some(format!("commit {commit:.10}"))
}

fn attempt(record: &AttemptRecord) -> Vec<String> {
    let place = record.place();
    let place = place.map(|place| format!("branch {}, from {:.10}", place.branch, place.base));
    let said = record.report().map(said).unwrap_or_default();
    let proof = record.proof().map(proof_lines).unwrap_or_default();
    let evidence = record.evidence();
    let evidence = (!evidence.is_empty()).then(|| evidence.to_owned());
    let known = place.into_iter().chain(said).chain(proof);
    let mut known = known.chain(landing(record)).chain(evidence);
    let known = known.join("\n");
    let known = known.lines().map(|line| format!("  {line}"));
    once(heading(record)).chain(known).collect()
}

/// What its agent claims, and what it spent.
fn said(report: &AgentReport) -> Vec<String> {
    let (ended, claim) = (ended(report), claim(&report.result));
    let tokens = report.tokens;
    let tokens = tokens.map(|of| format!("{} tokens read, {} written", of.input, of.output));
    once(format!("{}: {ended}, claims {claim}", report.agent))
        .chain(tokens)
        .chain(report.noticed.iter().cloned())
        .collect()
}

/// What came in the way of its work, and what became of it.
fn landing(record: &AttemptRecord) -> impl Iterator<Item = String> {
    let ahead = record.ahead();
    let ahead = ahead.map(|ahead| words::ahead(&ahead.files, &ahead.with));
    let mends = record.mends.as_ref();
    let mends = mends.map(|_| "it puts proven work together with what has landed".to_owned());
    let resolution = record.resolution();
    let resolution = resolution.map(|how| format!("landed{}", words::resolved(how)));
    let refactored = record.refactored().map(|refactor| match &refactor.dropped {
        None => "a further agent improved the code".to_owned(),
        Some(why) => format!("the work of a further agent was dropped: {why}"),
    });
    [ahead, mends, resolution, refactored].into_iter().flatten()
}

fn heading(record: &AttemptRecord) -> String {
    let took = record
        .ended_at()
        .map(|ended| ended.since(record.started_at));
    let took = took.map(|took| format!(", {}", clock(took)));
    let end = match &record.end {
        AttemptEnd::Failed(failed) if failed.charged => failed.failure.to_string(),
        AttemptEnd::Failed(failed) => format!("{}, does not count", failed.failure),
        AttemptEnd::Over { .. } => "over".to_owned(),
        AttemptEnd::UnderWay { .. } => "under way".to_owned(),
    };
    format!(
        "attempt {}: {end}{}",
        record.number,
        took.unwrap_or_default()
    )
}

fn ended(report: &AgentReport) -> String {
    match report.ended.exit_code() {
        Some(code) => format!("exited with {code}"),
        None => report.ended.as_str().to_owned(),
    }
}

fn claim(result: &ResultFile) -> &'static str {
    match result {
        ResultFile::Claimed(claim) => ClaimStatus::as_str(claim.status),
        ResultFile::Missing => "nothing",
        ResultFile::Malformed(_) => "what can't be read",
    }
}

fn proof_lines(proof: &Proof) -> Vec<String> {
    let mut lines = vec![format!("tests: {}", proof.describe())];
    for (what, tests) in [
        ("new", &proof.new),
        ("broken", &proof.regressions),
        ("flaky", &proof.flaky),
    ] {
        lines.extend(tests.iter().map(|test| format!("  {what}: {test}")));
    }
    lines.extend(proof.notes.iter().cloned());
    lines
}
