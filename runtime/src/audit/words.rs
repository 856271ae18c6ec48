//! What is said of commits that were judged again.

use tm_scheduler::merging::Resolution;
use tm_scheduler::{AuditKind, CommandEnd, Proof, TestReport};

/// What is wanting where there is no test command.
pub(super) const NO_COMMAND: &str =
    "there is no test command, and none was found: set `test.command`, or pass `--test-command`";
/// What is wanting where nothing runs.
pub(super) const NOTHING_RUNS: &str = "the tests can't be run in a clean checkout here, before it neither: install what they need, \
                            or name another command with `--test-command`";
/// What is said of a merge that brings a RED to where its GREEN begins.
pub(super) const BASE_WITH_RED: &str =
    "its tree is what its parents give; the GREEN that begins there is judged with it";
/// What is said of a merge whose very tree was judged before.
pub(super) const KNOWN_TREE: &str = "its tree is what its parents give, and was shown before";

pub(super) fn last_words(report: &TestReport) -> String {
    if let CommandEnd::NotStarted(why) = &report.end {
        return format!(": {why}");
    }
    let mut lines = report.output_tail.lines().rev().map(str::trim);
    let last = lines.find(|line| !line.is_empty());
    last.map_or_else(String::new, |line| format!(": {line}"))
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
    let waived = proof.waived.iter();
    let mut parts = vec![shown.to_owned()];
    parts.extend(waived.map(|reason| format!("waived: {reason}")));
    parts.extend(proof.notes.iter().cloned());
    parts.join("; ")
}

pub(super) fn refusal(proof: &Proof) -> String {
    let why = proof.evidence.lines().next().unwrap_or_default();
    let why = why.trim_end_matches(':');
    let reason = proof.reason.map(|reason| format!("{reason}: "));
    let of_old = match proof.regressions.as_slice() {
        [] => String::new(),
        names => format!(" ({})", listed(names)),
    };
    format!("{}{why}{of_old}", reason.unwrap_or_default())
}

pub(super) fn listed(names: &[String]) -> String {
    const MOST: usize = 3;
    let first = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
