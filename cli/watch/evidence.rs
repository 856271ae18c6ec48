//! What is known of a task, as lines: its place, each attempt with claim, proof and failure. Pure.

use crate::screen::clock;
use crate::words::{self, short};
use itertools::Itertools as _;
use tm_scheduler::{AttemptEnd, AttemptRecord, ClaimStatus, Proof, ResultFile, State, TaskView};

/// Returns the lines.
pub(crate) fn evidence(view: &TaskView<'_>) -> Vec<String> {
    let task = &view.placed.task;
    let mut lines = vec![format!("{} is {}", task.id, view.state.as_str())];
    if !task.dependencies.is_empty() {
        lines.push(format!(
            "depends on {}",
            task.dependencies.iter().join(", ")
        ));
    }
    match view.state {
        State::Landed { commit, merge } => {
            lines.push(format!(
                "commit {}, landed as {}",
                short(commit.as_str()),
                short(merge.as_str())
            ));
        }
        state => lines.extend(
            state
                .commit()
                .map(|commit| format!("commit {}", short(commit.as_str()))),
        ),
    }
    if view.attempts.is_empty() {
        lines.push("it has not been started".to_owned());
    }
    for record in view.attempts.iter().rev() {
        lines.push(String::new());
        lines.extend(attempt(record));
    }
    lines
}

fn attempt(record: &AttemptRecord) -> Vec<String> {
    let mut lines = vec![heading(record)];
    let mut say = |words: String| lines.extend(words.lines().map(|line| format!("  {line}")));
    if let Some(place) = record.place() {
        say(format!(
            "branch {}, from {}",
            place.branch,
            short(place.base.as_str())
        ));
    }
    if let Some(report) = record.report() {
        say(format!(
            "{}: {}, claims {}",
            report.agent,
            ended(report),
            claim(&report.result)
        ));
        if let Some(tokens) = report.tokens {
            say(format!(
                "{} tokens read, {} written",
                tokens.input, tokens.output
            ));
        }
        report
            .noticed
            .iter()
            .for_each(|noticed| say(noticed.clone()));
    }
    if let Some(proof) = record.proof() {
        proof_lines(proof).into_iter().for_each(&mut say);
    }
    if let Some(ahead) = record.ahead() {
        say(words::ahead(&ahead.files, &ahead.with));
    }
    if record.mends.is_some() {
        say("it puts proven work together with what has landed".to_owned());
    }
    if let Some(resolution) = record.resolution() {
        say(format!("landed{}", words::resolved(resolution)));
    }
    if let Some(refactor) = record.refactored() {
        say(match &refactor.dropped {
            None => "a further agent improved the code".to_owned(),
            Some(why) => format!("the work of a further agent was dropped: {why}"),
        });
    }
    if !record.evidence().is_empty() {
        say(record.evidence().to_owned());
    }
    lines
}

fn heading(record: &AttemptRecord) -> String {
    let took = record
        .ended_at()
        .map(|ended| format!(", {}", clock(ended.since(record.started_at))))
        .unwrap_or_default();
    let end = match &record.end {
        AttemptEnd::Failed(failed) if failed.charged => failed.failure.to_string(),
        AttemptEnd::Failed(failed) => format!("{}, does not count", failed.failure),
        AttemptEnd::Over { .. } => "over".to_owned(),
        AttemptEnd::UnderWay { .. } => "under way".to_owned(),
    };
    format!("attempt {}: {end}{took}", record.number)
}

fn ended(report: &tm_scheduler::AgentReport) -> String {
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
