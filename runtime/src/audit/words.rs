//! What is said of commits that were judged again.

use tm_scheduler::merging::Resolution;
use tm_scheduler::{AuditKind, CommandEnd, Proof, TestReport};

/// What is wanting where there is no test command.
pub(super) const NO_COMMAND: &str =
    "there is no test command, and none was found: set `test.command`, or pass `--test-command`";
/// What is wanting where nothing runs.
pub(super) const NOTHING_RUNS: &str = "the tests can't be run in a clean checkout here, before it neither: install what they need, \
                            or name another command with `--test-command`";
/// What is said of a merge whose very tree was judged before.
pub(super) const KNOWN_TREE: &str = "its tree is what its parents give, and was shown before";

pub(super) fn last_words(report: &TestReport) -> String {
    if let CommandEnd::NotStarted(why) = &report.end {
        return format!(": {why}");
    }
    let last = report
        .output_tail
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!(": {}", line.trim()))
}

/// What is said of a merge whose parents conflict in lines.
pub(super) const fn resolved(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Union => {
            "its tree is what its parents give with the added lines of both, and what passed alone passes merged"
        }
        Resolution::LockFile => {
            "its tree is what its parents give but for lock files in conflict, and what passed alone passes merged"
        }
        Resolution::Driver | Resolution::Agent => {
            "its tree is what its parents give but for files in conflict, and what passed alone passes merged"
        }
    }
}

/// What is said of what holds.
pub(super) const fn shown(kind: AuditKind) -> &'static str {
    match kind {
        AuditKind::Red => "its new tests fail for what is missing",
        AuditKind::Green => {
            "the tests of its RED are unchanged and pass, nothing that passed before fails"
        }
        AuditKind::Work => "nothing that passed before fails",
        AuditKind::Refactor => "no test is changed, nothing that passed before fails",
        AuditKind::Landing | AuditKind::Merge => {
            "its tree is what its parents give, and what passed alone passes merged"
        }
        AuditKind::TakenBack => "its tree is what taking back gives",
        AuditKind::Statuses => "it changes statuses of the backlog and nothing else",
        AuditKind::History | AuditKind::Uncovered => "nothing",
        AuditKind::Whole => {
            "nothing that passed at the beginning fails at the end, and no new test fails"
        }
    }
}

pub(super) fn with_notes(shown: &str, proof: &Proof) -> String {
    let waived = proof
        .waived
        .iter()
        .map(|reason| format!("waived: {reason}"));
    let parts: Vec<String> = std::iter::once(shown.to_owned())
        .chain(waived)
        .chain(proof.notes.clone())
        .collect();
    parts.join("; ")
}

pub(super) fn refusal(proof: &Proof) -> String {
    let why = proof
        .evidence
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches(':');
    let reason = proof
        .reason
        .map_or_else(String::new, |reason| format!("{reason}: "));
    let of_old = if proof.regressions.is_empty() {
        String::new()
    } else {
        format!(" ({})", listed(&proof.regressions))
    };
    format!("{reason}{why}{of_old}")
}

pub(super) fn listed(names: &[String]) -> String {
    const MOST: usize = 3;
    let first: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = names.len().saturating_sub(MOST);
    let rest = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    format!("{}{rest}", first.join(", "))
}
