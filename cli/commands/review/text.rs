//! The branch of a task, for a person and for programs.

use crate::commands::worktrees::landed;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tm_app::TaskBranch;
use tm_reports::{AttemptSummary, ProofSummary};
use tm_scheduler::Phase;
use tm_store::run::{Decision, Review};

/// Returns the branch as JSON.
pub(crate) fn as_json(branch: &TaskBranch, conflicts: &[String]) -> Value {
    let last = branch.task.attempts.last();
    json!({
        "id": branch.task.id, "title": branch.task.title, "phase": branch.task.phase, "pair": branch.task.pair,
        "verdict": branch.task.verdict, "landed": branch.task.landed, "attempts": branch.task.attempts.len(),
        "branch": branch.branch, "base_commit": branch.base, "commit": branch.commit,
        "diffstat": branch.task.diffstat, "claim": last.map(|last| &last.claim),
        "differences": last.map(|last| &last.differences), "proof": last.map(|last| &last.proof),
        "conflicts_ahead": conflicts, "review": branch.review, "built_on_rejected": branch.built_on_rejected,
    })
}

/// Returns the branch as lines for a person.
pub(crate) fn as_text(branch: &TaskBranch, conflicts: &[String], onto: &str) -> String {
    let task = &branch.task;
    let phase = match task.phase {
        Phase::Red => " RED",
        Phase::Green => " GREEN",
        Phase::None => "",
    };
    let (verdict, attempts) = (task.verdict.as_str(), task.attempts.len());
    let several = if attempts == 1 { "" } else { "s" };
    let mut rows = vec![
        ("branch", format!("{}, {}", branch.branch, landed(task))),
        (
            "verdict",
            format!("{verdict} after {attempts} attempt{several}"),
        ),
    ];
    rows.extend(
        task.attempts
            .last()
            .into_iter()
            .flat_map(claim_beside_proof),
    );
    rows.extend(task.diffstat.map(|stat| {
        let (files, more, less) = (stat.files, stat.insertions, stat.deletions);
        ("change", format!("{files} file(s), +{more} −{less} lines"))
    }));
    let conflicts = match conflicts {
        [] => format!("none with `{onto}`"),
        files => format!("with `{onto}` in `{}`", files.join("`, `")),
    };
    rows.push(("conflicts", conflicts));
    rows.push(("review", review(branch.review.as_ref())));
    rows.iter().fold(
        format!("{}{phase} · {}\n", task.id, task.title),
        |text, (name, value)| format!("{text}  {name:9} {value}\n"),
    )
}

fn claim_beside_proof(last: &AttemptSummary) -> Vec<(&'static str, String)> {
    let proven = [
        ("claim", last.claim.clone()),
        ("proof", proof(last.proof.as_ref())),
    ];
    let but = last
        .differences
        .iter()
        .map(|difference| ("but", difference.clone()));
    let noted = last.proof.iter().flat_map(|proof| &proof.notes);
    let noted = noted
        .chain(&last.noticed)
        .map(|note| ("note", note.clone()));
    proven.into_iter().chain(but).chain(noted).collect()
}

fn review(review: Option<&Review>) -> String {
    let Some(Review { decision, at, .. }) = review else {
        return "none yet".to_owned();
    };
    match decision {
        Decision::Approved => format!("approved {at}"),
        Decision::Rejected { reason } => {
            format!("rejected {at}: {}", reason.replace('\n', "\n            "))
        }
    }
}

fn proof(proof: Option<&ProofSummary>) -> String {
    let Some(proof) = proof else {
        return "no tests were run".to_owned();
    };
    let (passed, failed, new) = (proof.passed, proof.failed, proof.new.len());
    let mut text = format!("{passed} passed, {failed} failed, {new} new");
    if proof.baseline_failed > 0 {
        let _ = write!(text, ", {} failed before", proof.baseline_failed);
    }
    if !proof.flaky.is_empty() {
        let _ = write!(text, ", {} flaky", proof.flaky.len());
    }
    if !proof.waived.is_empty() {
        let _ = write!(text, "; waived: {}", proof.waived.iter().join(", "));
    }
    text
}
