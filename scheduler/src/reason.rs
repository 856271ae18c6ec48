//! The closed list of reasons for which measured work is refused: finer than a failure, which decides the policy.

words! {
    /// Why work is refused.
    pub enum Reason {
        /// Nothing differs from what the attempt started from.
        NothingChanged = "nothing-changed",
        /// The test command can't be started, does not end, or dies.
        CannotRun = "cannot-run",
        /// The test command fails, and its output can't be read test by test.
        ExitStatusOnly = "exit-status-only",
        /// RED: the test command found no test at all.
        NoTestsFound = "no-tests-found",
        /// RED: every test was there before.
        NoNewTest = "no-new-test",
        /// RED: the new tests can't be loaded for a reason of their own, such as a syntax error.
        NewTestsDoNotLoad = "new-tests-do-not-load",
        /// RED: something else than the new tests can't be built or loaded any more.
        ErrorOutsideNewTests = "error-outside-new-tests",
        /// RED: every new test passes without an implementation.
        EverythingPassed = "everything-passed",
        /// RED, strict: some new tests pass without an implementation.
        SomePassed = "some-passed",
        /// A test that passed before fails.
        OldTestFailed = "old-test-failed",
        /// A test that passed before is gone.
        OldTestGone = "old-test-gone",
        /// A test that passed before is skipped.
        OldTestSkipped = "old-test-skipped",
        /// A new test fails.
        NewTestFailed = "new-test-failed",
        /// GREEN: tests of its RED fail.
        RedTestsFail = "red-tests-fail",
        /// GREEN: tests of its RED were not run, or are skipped.
        RedTestsMissing = "red-tests-missing",
        /// GREEN: test files of its RED were changed.
        RedTestsChanged = "red-tests-changed",
        /// GREEN: what decides how tests are found and run was changed.
        TestRunnerChanged = "test-runner-changed",
        /// GREEN: fewer lines are covered than the settings ask for.
        CoverageTooLow = "coverage-too-low",
        /// There is a repository within the worktree.
        NestedRepository = "nested-repository",
        /// The file `.git` of the worktree is not as tm made it.
        GitFilesChanged = "git-files-changed",
        /// git can't take what was left as a tree.
        WorkNotTaken = "work-not-taken",
        /// A symbolic link leads out of the tree.
        LinkOutOfTree = "link-out-of-tree",
        /// GREEN: tests of its RED do not fail any more without GREEN's work.
        RedNotFailing = "red-not-failing",
        /// RED: a new test fails by a mistake of its own, which no implementation mends.
        TestMistake = "test-mistake",
        /// Tests that can't pass are said to pass: the results do not come from the tests.
        ResultsNotFromTests = "results-not-from-tests",
        /// GREEN: files that RED brought, or that its tests read, were changed.
        FrozenFileChanged = "frozen-file-changed",
        /// A gate of the project's own fails, for what was not there before.
        GateFailed = "gate-failed",
        /// A reviewer rejects the work.
        ReviewRejected = "review-rejected",
        /// What was made of a conflict is no resolution of it.
        ConflictNotResolved = "conflict-not-resolved",
    }
}
