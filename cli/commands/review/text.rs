//! The branch of a task, for a person and for programs.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tm_app::TaskBranch;
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
    let mut text = format!("{}{phase} · {}\n", task.id, task.title);
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:9} {value}");
    };
    let landed = if task.landed {
        "landed"
    } else {
        task.state.as_str()
    };
    row("branch", &format!("{}, {landed}", branch.branch));
    let attempts = task.attempts.len();
    row(
        "verdict",
        &format!(
            "{} after {attempts} attempt{}",
            task.verdict.as_str(),
            if attempts == 1 { "" } else { "s" }
        ),
    );
    if let Some(last) = task.attempts.last() {
        row("claim", &last.claim);
        row("proof", &proof(last.proof.as_ref()));
        last.differences
            .iter()
            .for_each(|difference| row("but", difference));
        let noted = last
            .proof
            .iter()
            .flat_map(|proof| &proof.notes)
            .chain(&last.noticed);
        noted.for_each(|note| row("note", note));
    }
    if let Some(stat) = task.diffstat {
        row(
            "change",
            &format!(
                "{} file(s), +{} −{} lines",
                stat.files, stat.insertions, stat.deletions
            ),
        );
    }
    row(
        "conflicts",
        &match conflicts {
            [] => format!("none with `{onto}`"),
            files => format!("with `{onto}` in `{}`", files.join("`, `")),
        },
    );
    row(
        "review",
        &match &branch.review {
            None => "none yet".to_owned(),
            Some(Review {
                decision: Decision::Approved,
                at,
                ..
            }) => format!("approved {at}"),
            Some(Review {
                decision: Decision::Rejected { reason },
                at,
                ..
            }) => {
                format!("rejected {at}: {}", reason.replace('\n', "\n            "))
            }
        },
    );
    text
}

fn proof(proof: Option<&tm_reports::ProofSummary>) -> String {
    let Some(proof) = proof else {
        return "no tests were run".to_owned();
    };
    let mut text = format!(
        "{} passed, {} failed, {} new",
        proof.passed,
        proof.failed,
        proof.new.len()
    );
    if proof.baseline_failed > 0 {
        let _ = write!(text, ", {} failed before", proof.baseline_failed);
    }
    if !proof.flaky.is_empty() {
        let _ = write!(text, ", {} flaky", proof.flaky.len());
    }
    if !proof.waived.is_empty() {
        let waived: Vec<&str> = proof.waived.iter().map(|reason| reason.as_str()).collect();
        let _ = write!(text, "; waived: {}", waived.join(", "));
    }
    text
}
