//! Decides at whose door it lies that a merged tree fails tests again and again: the work that is to land, or what it lands
//! on, which passed before and fails now as well. A test that passes when it is run again is at nobody's.

use super::compared::cannot_run;
use crate::{Proof, Reason, TestOutcome, TestReport};

/// Whose fault it is that a merge is worse than what it merges.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Blame {
    /// It is not worse.
    Nobody,
    /// That of the work: what has landed passes without it, now too.
    Work,
    /// What has landed fails by itself now, although it passed before: something around the tests is another, or tests fail
    /// now and then. Nothing is known of the work.
    Base,
}

/// Returns whose fault it is, by what has landed as it was measured once more, without the work.
pub fn blame(proof: &Proof, base_now: &TestReport) -> Blame {
    if proof.holds() {
        return Blame::Nobody;
    }
    let all = |is_of_base: &dyn Fn(&String) -> bool| proof.regressions.iter().all(is_of_base);
    let is_of_base = match proof.reason {
        Some(Reason::OldTestFailed) => all(&|name| !base_now.passes(name)),
        // A test that fails there is there, and the work takes it out of sight.
        Some(Reason::OldTestGone | Reason::OldTestSkipped) => {
            all(&|name| !base_now.passes(name) && !base_now.fails(name))
        }
        Some(Reason::ExitStatusOnly) => !base_now.end.succeeded(),
        Some(Reason::CannotRun) => cannot_run(base_now).is_some(),
        _ => false,
    };
    if is_of_base { Blame::Base } else { Blame::Work }
}

impl TestReport {
    /// Tells whether the tests as a whole could be run.
    pub fn could_be_run(&self) -> bool {
        cannot_run(self).is_none()
    }

    /// Returns the report with what passed in an earlier one of the same tree taken as passed: a test that passes in either
    /// is not broken.
    #[must_use]
    pub fn or_as_in(mut self, earlier: &Self) -> Self {
        for name in earlier.names(TestOutcome::Passed) {
            self.tests.insert(name.to_owned(), TestOutcome::Passed);
        }
        if earlier.end.succeeded() {
            self.end = earlier.end.clone();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::judge_landing;
    use crate::{CommandEnd, Detail};

    fn report(tests: &[(&str, TestOutcome)]) -> TestReport {
        let is_red = tests
            .iter()
            .any(|(_, outcome)| *outcome == TestOutcome::Failed);
        let end = CommandEnd::Exited(Some(i32::from(is_red)));
        TestReport {
            detail: Detail::PerTest,
            tests: (tests
                .iter()
                .map(|(name, outcome)| ((*name).to_owned(), *outcome)))
            .collect(),
            ..TestReport::without_results(end)
        }
    }

    const PASSED: TestOutcome = TestOutcome::Passed;
    const FAILED: TestOutcome = TestOutcome::Failed;

    /// Whose fault it is that a merge has failed, and again, by what the base says before and now.
    fn of(before: &TestReport, merged: &TestReport, again: &TestReport, now: &TestReport) -> Blame {
        blame(&judge_landing(before, before, merged, Some(again)), now)
    }

    #[test]
    fn work_is_to_blame_where_what_has_landed_passes_without_it() {
        let (green, red) = (
            report(&[("a", PASSED), ("b", PASSED)]),
            report(&[("a", FAILED), ("b", PASSED)]),
        );
        assert_eq!(of(&green, &red, &red, &green), Blame::Work);
        let other = report(&[("a", PASSED), ("b", FAILED)]);
        assert_eq!(of(&green, &red, &red, &other), Blame::Work, "another test");
        let gone = report(&[("b", PASSED)]);
        assert_eq!(of(&green, &gone, &gone, &red), Blame::Work, "`a` is gone");
    }

    #[test]
    fn what_has_landed_is_to_blame_where_it_fails_the_same_tests_by_now() {
        let green = report(&[("a", PASSED), ("b", PASSED)]);
        let red = report(&[("a", FAILED), ("b", PASSED)]);
        assert_eq!(of(&green, &red, &red, &red), Blame::Base);
        let both = report(&[("a", FAILED), ("b", FAILED)]);
        assert_eq!(
            of(&green, &both, &both, &red),
            Blame::Work,
            "`b` is the work's"
        );
        let gone = TestReport::without_results(CommandEnd::TimedOut);
        assert_eq!(of(&green, &red, &red, &gone), Blame::Base);
        assert_eq!(of(&green, &gone, &gone, &gone), Blame::Base);
        assert_eq!(of(&green, &gone, &gone, &green), Blame::Work);
    }

    #[test]
    fn what_has_landed_is_to_blame_where_it_hides_the_same_tests_by_now() {
        let green = report(&[("a", PASSED), ("b", PASSED)]);
        let skipped = report(&[("a", TestOutcome::Skipped), ("b", PASSED)]);
        let gone = report(&[("b", PASSED)]);
        for hidden in [&skipped, &gone] {
            assert_eq!(of(&green, hidden, hidden, hidden), Blame::Base);
            assert_eq!(of(&green, hidden, hidden, &green), Blame::Work);
            let red = report(&[("a", FAILED), ("b", PASSED)]);
            assert_eq!(of(&green, hidden, hidden, &red), Blame::Work);
            assert_eq!(of(&green, &red, &red, hidden), Blame::Base);
        }
    }

    #[test]
    fn an_exit_status_alone_is_compared_as_well() {
        let exited = |code| TestReport::without_results(CommandEnd::Exited(Some(code)));
        let (green, red) = (exited(0), exited(1));
        assert_eq!(of(&green, &red, &red, &red), Blame::Base);
        assert_eq!(of(&green, &red, &red, &green), Blame::Work);
        assert_eq!(of(&green, &red, &green, &red), Blame::Nobody);
    }

    #[test]
    fn tests_that_fail_now_and_then_are_at_nobodys_door() {
        let green = report(&[("a", PASSED), ("b", PASSED)]);
        let (a, b) = (
            report(&[("a", FAILED), ("b", PASSED)]),
            report(&[("a", PASSED), ("b", FAILED)]),
        );
        assert_eq!(of(&green, &a, &b, &green), Blame::Nobody);
        let both = report(&[("a", FAILED), ("b", FAILED)]);
        assert_eq!(
            of(&green, &both, &b, &green),
            Blame::Work,
            "`b` failed twice"
        );
        let either = a.or_as_in(&b);
        assert_eq!(of(&green, &both, &either, &green), Blame::Nobody);
        let exited = |code| TestReport::without_results(CommandEnd::Exited(Some(code)));
        assert!(exited(1).or_as_in(&exited(0)).end.succeeded());
    }
}
