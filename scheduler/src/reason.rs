//! The closed list of reasons for which measured work is refused: finer than a failure, which decides the policy.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why work is refused.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Nothing differs from what the attempt started from.
    NothingChanged,
    /// The test command can't be started, does not end, or dies.
    CannotRun,
    /// The test command fails, and its output can't be read test by test.
    ExitStatusOnly,
    /// RED: the test command found no test at all.
    NoTestsFound,
    /// RED: every test was there before.
    NoNewTest,
    /// RED: the new tests can't be loaded for a reason of their own, such as a syntax error.
    NewTestsDoNotLoad,
    /// RED: something else than the new tests can't be built or loaded any more.
    ErrorOutsideNewTests,
    /// RED: every new test passes without an implementation.
    EverythingPassed,
    /// RED, strict: some new tests pass without an implementation.
    SomePassed,
    /// A test that passed before fails.
    OldTestFailed,
    /// A test that passed before is gone.
    OldTestGone,
    /// A test that passed before is skipped.
    OldTestSkipped,
    /// A new test fails.
    NewTestFailed,
    /// GREEN: tests of its RED fail.
    RedTestsFail,
    /// GREEN: tests of its RED were not run, or are skipped.
    RedTestsMissing,
    /// GREEN: test files of its RED were changed.
    RedTestsChanged,
    /// GREEN: what decides how tests are found and run was changed.
    TestRunnerChanged,
    /// GREEN: fewer lines are covered than the settings ask for.
    CoverageTooLow,
    /// There is a repository within the worktree.
    NestedRepository,
    /// The file `.git` of the worktree is not as tm made it.
    GitFilesChanged,
    /// git can't take what was left as a tree.
    WorkNotTaken,
    /// A symbolic link leads out of the tree.
    LinkOutOfTree,
    /// GREEN: tests of its RED do not fail any more without GREEN's work.
    RedNotFailing,
    /// RED: a new test fails by a mistake of its own, which no implementation mends.
    TestMistake,
    /// Tests that can't pass are said to pass: the results do not come from the tests.
    ResultsNotFromTests,
    /// GREEN: files that RED brought, or that its tests read, were changed.
    FrozenFileChanged,
    /// A gate of the project's own fails, for what was not there before.
    GateFailed,
    /// A reviewer rejects the work.
    ReviewRejected,
    /// What was made of a conflict is no resolution of it.
    ConflictNotResolved,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 29] = [
        Self::NothingChanged,
        Self::CannotRun,
        Self::ExitStatusOnly,
        Self::NoTestsFound,
        Self::NoNewTest,
        Self::NewTestsDoNotLoad,
        Self::ErrorOutsideNewTests,
        Self::EverythingPassed,
        Self::SomePassed,
        Self::OldTestFailed,
        Self::OldTestGone,
        Self::OldTestSkipped,
        Self::NewTestFailed,
        Self::RedTestsFail,
        Self::RedTestsMissing,
        Self::RedTestsChanged,
        Self::TestRunnerChanged,
        Self::CoverageTooLow,
        Self::NestedRepository,
        Self::GitFilesChanged,
        Self::WorkNotTaken,
        Self::LinkOutOfTree,
        Self::RedNotFailing,
        Self::TestMistake,
        Self::ResultsNotFromTests,
        Self::FrozenFileChanged,
        Self::GateFailed,
        Self::ReviewRejected,
        Self::ConflictNotResolved,
    ];

    /// Returns the name used in files and on the screen.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NothingChanged => "nothing-changed",
            Self::CannotRun => "cannot-run",
            Self::ExitStatusOnly => "exit-status-only",
            Self::NoTestsFound => "no-tests-found",
            Self::NoNewTest => "no-new-test",
            Self::NewTestsDoNotLoad => "new-tests-do-not-load",
            Self::ErrorOutsideNewTests => "error-outside-new-tests",
            Self::EverythingPassed => "everything-passed",
            Self::SomePassed => "some-passed",
            Self::OldTestFailed => "old-test-failed",
            Self::OldTestGone => "old-test-gone",
            Self::OldTestSkipped => "old-test-skipped",
            Self::NewTestFailed => "new-test-failed",
            Self::RedTestsFail => "red-tests-fail",
            Self::RedTestsMissing => "red-tests-missing",
            Self::RedTestsChanged => "red-tests-changed",
            Self::TestRunnerChanged => "test-runner-changed",
            Self::CoverageTooLow => "coverage-too-low",
            Self::NestedRepository => "nested-repository",
            Self::GitFilesChanged => "git-files-changed",
            Self::WorkNotTaken => "work-not-taken",
            Self::LinkOutOfTree => "link-out-of-tree",
            Self::RedNotFailing => "red-not-failing",
            Self::TestMistake => "test-mistake",
            Self::ResultsNotFromTests => "results-not-from-tests",
            Self::FrozenFileChanged => "frozen-file-changed",
            Self::GateFailed => "gate-failed",
            Self::ReviewRejected => "review-rejected",
            Self::ConflictNotResolved => "conflict-not-resolved",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
