//! What the next attempt should try, by what went wrong in the one before.
//!
//! Knows failures and reasons by their names alone; which of them are followed by another attempt is decided elsewhere.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The words, by name.
#[derive(Deserialize)]
struct Advice {
    /// Of reasons that say more than the failure does.
    reasons: BTreeMap<String, String>,
    failures: BTreeMap<String, String>,
    otherwise: String,
}

static ADVICE: LazyLock<Advice> = LazyLock::new(|| {
    serde_yaml::from_str(include_str!("../advice.yaml")).expect("the embedded advice is valid")
});

/// Returns what the next attempt should try, by the name of the failure, and of the reason where the work was measured.
pub fn what_to_try(failure: &str, reason: Option<&str>) -> &'static str {
    reason
        .and_then(|reason| ADVICE.reasons.get(reason))
        .or_else(|| ADVICE.failures.get(failure))
        .unwrap_or(&ADVICE.otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURES: [&str; 26] = [
        "not-started",
        "rate-limited",
        "auth",
        "context-too-long",
        "refused-by-model",
        "service-error",
        "connection-lost",
        "timed-out",
        "stalled",
        "lost",
        "no-result",
        "malformed-result",
        "claimed-fail",
        "red-passed",
        "red-cannot-run",
        "red-questioned",
        "green-failing",
        "regression",
        "tests-tampered",
        "nothing-done",
        "conflict",
        "landing-regression",
        "escaped",
        "commit-refused",
        "work-refused",
        "gate-failed",
    ];

    #[test]
    fn every_failure_has_advice_of_its_own() {
        let advice: std::collections::BTreeSet<&str> = FAILURES
            .into_iter()
            .map(|failure| what_to_try(failure, None))
            .collect();
        assert_eq!(advice.len(), FAILURES.len());
        assert!(!advice.contains(what_to_try("something else", None)));
    }

    #[test]
    fn a_reason_says_more_than_its_failure() {
        let of_failure = what_to_try("regression", None);
        assert_ne!(what_to_try("regression", Some("old-test-gone")), of_failure);
        assert_eq!(
            what_to_try("regression", Some("old-test-failed")),
            of_failure
        );
    }
}
