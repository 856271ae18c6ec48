//! Judges reported counts: whether they contradict themselves, and whether they allow the next step.

use serde::{Deserialize, Serialize};

/// Counts of one run of the tests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Tests in all.
    pub total: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were not run on purpose.
    pub skipped: u64,
}

impl TestCounts {
    /// Returns counts that add up.
    pub const fn of(passed: u64, failed: u64, skipped: u64) -> Self {
        Self {
            total: passed.saturating_add(failed).saturating_add(skipped),
            passed,
            failed,
            skipped,
        }
    }

    fn adds_up(&self) -> bool {
        let sum = [self.passed, self.failed, self.skipped]
            .into_iter()
            .try_fold(0_u64, u64::checked_add);
        sum == Some(self.total)
    }
}

words! {
    /// What follows from a report.
    pub enum VerdictKind {
        /// The next step is open.
        Accepted = "accepted",
        /// The phase goes on.
        Refused = "refused",
        /// The report contradicts itself and counts as none.
        Malformed = "malformed",
    }
}

/// What a report came to, in words.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What follows.
    pub kind: VerdictKind,
    /// What was seen.
    pub message: String,
    /// What to do about a refusal.
    pub suggestion: Option<String>,
    /// What is odd about an accepted report.
    pub warnings: Vec<String>,
}

impl Verdict {
    /// Returns an acceptance.
    pub fn accepted(message: impl Into<String>) -> Self {
        Self {
            kind: VerdictKind::Accepted,
            message: message.into(),
            suggestion: None,
            warnings: Vec::new(),
        }
    }

    /// Returns a refusal with what to do about it.
    pub fn refused(message: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self {
            kind: VerdictKind::Refused,
            suggestion: Some(suggestion.into()),
            ..Self::accepted(message)
        }
    }

    fn malformed(message: impl Into<String>, suggestion: &str) -> Self {
        Self {
            kind: VerdictKind::Malformed,
            ..Self::refused(message, suggestion)
        }
    }

    /// Says what is odd about it, where something is.
    fn warned(mut self, warning: Option<String>) -> Self {
        self.warnings.extend(warning);
        self
    }

    /// Tells whether the next step is open.
    pub fn is_accepted(&self) -> bool {
        self.kind == VerdictKind::Accepted
    }
}

/// Judges RED: at least one test fails.
pub fn judge_red(counts: &TestCounts) -> Verdict {
    if let Some(verdict) = contradiction(counts, None) {
        return verdict;
    }
    let TestCounts {
        total,
        passed,
        failed,
        skipped,
    } = *counts;
    if failed == 0 {
        let what = if total == 0 {
            "no test was run"
        } else {
            "no test fails"
        };
        return Verdict::refused(
            format!("RED needs at least one failing test: {what}"),
            "write tests for behaviour that is missing; if it is there already, set the subtask to done in the \
             backlog and resume the run",
        );
    }
    let passing = format!("{passed} tests pass; make sure that every new one fails");
    let skipping = format!("{skipped} tests are skipped");
    Verdict::accepted(format!("RED holds: {failed} failing"))
        .warned((passed > 0).then_some(passing))
        .warned((skipped > 0).then_some(skipping))
}

/// Judges GREEN: nothing fails, something passes, no test of RED is gone, and coverage is high enough where it is known.
pub fn judge_green(
    red: &TestCounts,
    counts: &TestCounts,
    coverage: Option<f64>,
    threshold: Option<f64>,
) -> Verdict {
    let verdict = judge_final(counts, coverage, threshold);
    if !verdict.is_accepted() {
        return verdict;
    }
    if counts.total < red.total {
        return Verdict::refused(
            format!("GREEN ran {} tests, RED ran {}", counts.total, red.total),
            "bring the missing tests back: an implementation removes none",
        );
    }
    let (now, before) = (counts.skipped, red.skipped);
    let skipping = format!("{now} tests are skipped, {before} were in RED");
    let mut green = Verdict::accepted(format!("GREEN holds: {} passing", counts.passed))
        .warned((now > before).then_some(skipping));
    green.warnings.extend(verdict.warnings);
    green
}

/// Judges the whole suite at the end: as GREEN, against nothing.
pub fn judge_final(counts: &TestCounts, coverage: Option<f64>, threshold: Option<f64>) -> Verdict {
    if let Some(verdict) = contradiction(counts, coverage) {
        return verdict;
    }
    if counts.failed > 0 {
        return Verdict::refused(
            format!("GREEN is not reached: {} tests still fail", counts.failed),
            "go on with the implementation until every test passes",
        );
    }
    if counts.passed == 0 {
        return Verdict::refused(
            "GREEN needs at least one passing test: none was run",
            "run the tests that RED wrote, and report what they say",
        );
    }
    let accepted = Verdict::accepted(format!("the whole suite passes: {} passing", counts.passed));
    match (coverage, threshold) {
        (Some(coverage), Some(threshold)) if coverage < threshold => Verdict::refused(
            format!("the coverage of {coverage} % is below {threshold} %"),
            "test what is not covered yet",
        ),
        (None, Some(threshold)) => accepted.warned(Some(format!(
            "coverage is not reported; {threshold} % are asked for"
        ))),
        (_, _) => accepted,
    }
}

/// What can't be: counts that don't add up, a coverage that is no percentage.
fn contradiction(counts: &TestCounts, coverage: Option<f64>) -> Option<Verdict> {
    if !counts.adds_up() {
        let TestCounts {
            total,
            passed,
            failed,
            skipped,
        } = counts;
        return Some(Verdict::malformed(
            format!(
                "{passed} passed, {failed} failed and {skipped} skipped are not {total} in all"
            ),
            "report the counts as the test command prints them",
        ));
    }
    let coverage = coverage.filter(|coverage| !(0.0..=100.0).contains(coverage))?;
    Some(Verdict::malformed(
        format!("a coverage of {coverage} % can't be"),
        "report it in percent, 0 to 100",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use VerdictKind::{Accepted, Malformed, Refused};

    #[test]
    fn red_needs_a_failing_test() {
        let kinds = [(0, 0), (4, 0), (0, 3), (12, 3)].map(|(passed, failed)| {
            let verdict = judge_red(&TestCounts::of(passed, failed, 0));
            (
                verdict.kind,
                verdict.warnings.len(),
                verdict.suggestion.is_some(),
            )
        });
        assert_eq!(
            kinds,
            [
                (Refused, 0, true),
                (Refused, 0, true),
                (Accepted, 0, false),
                (Accepted, 1, false)
            ]
        );
    }

    #[test]
    fn green_needs_a_passing_test_none_failing_and_all_of_red() {
        let red = TestCounts::of(0, 3, 0);
        let kinds = [(3, 0), (4, 0), (2, 1), (0, 0), (2, 0)].map(|(passed, failed)| {
            judge_green(&red, &TestCounts::of(passed, failed, 0), None, None).kind
        });
        assert_eq!(kinds, [Accepted, Accepted, Refused, Refused, Refused]);
        let skipping = judge_green(&red, &TestCounts::of(2, 0, 1), None, None);
        assert_eq!((skipping.kind, skipping.warnings.len()), (Accepted, 1));
        assert_eq!(
            judge_green(&red, &TestCounts::of(0, 0, 3), None, None).kind,
            Refused
        );
    }

    #[test]
    fn coverage_counts_where_it_is_known() {
        let (red, green) = (TestCounts::of(0, 1, 0), TestCounts::of(1, 0, 0));
        let judge = |coverage, threshold| judge_green(&red, &green, coverage, threshold);
        assert_eq!(judge(Some(79.9), Some(80.0)).kind, Refused);
        assert_eq!(judge(Some(80.0), Some(80.0)).kind, Accepted);
        assert_eq!(judge(None, Some(80.0)).warnings.len(), 1);
        assert_eq!(judge(Some(1.0), None).kind, Accepted);
        for impossible in [101.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                judge(Some(impossible), None).kind,
                Malformed,
                "{impossible}"
            );
        }
    }

    #[test]
    fn counts_that_do_not_add_up_are_no_report() {
        let wrong = [
            TestCounts {
                total: 5,
                ..TestCounts::of(1, 1, 1)
            },
            TestCounts {
                total: 0,
                ..TestCounts::of(0, 3, 0)
            },
            TestCounts::of(u64::MAX, 1, 0),
        ];
        for counts in wrong {
            assert_eq!(judge_red(&counts).kind, Malformed, "{counts:?}");
            assert_eq!(
                judge_green(&TestCounts::default(), &counts, None, None).kind,
                Malformed,
                "{counts:?}"
            );
            assert_eq!(
                judge_final(&counts, None, None).kind,
                Malformed,
                "{counts:?}"
            );
        }
    }
}
