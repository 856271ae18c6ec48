//! What the next attempt should try, by what went wrong in the one before.
//!
//! Knows failures and reasons by their names alone; which of them are followed by another attempt is decided elsewhere.

/// Returns what the next attempt should try, by the name of the failure, and of the reason where the work was measured.
pub fn what_to_try(failure: &str, reason: Option<&str>) -> &'static str {
    reason
        .and_then(by_reason)
        .unwrap_or_else(|| by_failure(failure))
}

/// Returns what follows from a reason that says more than the failure does.
fn by_reason(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "no-tests-found" => {
            "The test command found nothing to run. Put the tests where it looks, and name them as it expects; then run \
             it and see them listed."
        }
        "no-new-test" => "Every test was there before. Add tests for what the task asks for.",
        "new-tests-do-not-load" => {
            "The new tests have a mistake of their own. Correct it until they load, or until all that stops them is an \
             item of the project that nobody has written yet. Where that is what stops them already, and it was not told \
             from a mistake: add the item as a stub that builds and fails when it is used (`todo!()`, `raise \
             NotImplementedError`, `throw new Error(\"not implemented\")`), so that the tests run, and fail."
        }
        "error-outside-new-tests" => {
            "Something besides the new tests can't be loaded any more. Undo what you changed there: a RED adds tests, \
             and at the most declarations that fail when they are called."
        }
        "some-passed" => {
            "Some of the new tests test what is there already. Keep those that fail without an implementation, and drop \
             the others."
        }
        "old-test-gone" => {
            "Tests that passed before were not run. Bring them back where they were, under the same names."
        }
        "old-test-skipped" => "Tests that passed before are skipped now. Let them run again.",
        "new-test-failed" => {
            "Tests that you added fail. Correct the code, or the tests where they are wrong."
        }
        "red-tests-missing" => {
            "Tests of the RED task were not run. Leave their files, names and the way in which they are found alone."
        }
        "test-runner-changed" => {
            "Leave everything alone that decides how tests are found and run: scripts, settings, fixtures and helpers of \
             the tests. The implementation has to pass with them as they were."
        }
        "coverage-too-low" => "Add tests for the lines that you added and that no test runs.",
        "nested-repository" => {
            "Remove the repository that you made or cloned within your worktree (its `.git`); leave its files only if they are \
             part of the task."
        }
        "git-files-changed" => {
            "Leave `.git` in your worktree as it is, and git's settings alone; tm commits what you leave."
        }
        "work-not-taken" => "git can't take what you left: read its words, leave what it can.",
        "link-out-of-tree" => {
            "Put files where you made links that lead out of the project: whoever clones it has not what they lead to."
        }
        "red-not-failing" => {
            "Tests of the RED task pass without your work: what they depend on is neither in the project nor in the task. Test \
             the behaviour itself."
        }
        "test-mistake" => {
            "A new test fails by a mistake of its own, such as a name that it never imported, which no implementation can mend. \
             Correct the test."
        }
        "results-not-from-tests" => {
            "The results do not come from the tests: with tests that can't pass they were the same, or tests were changed while \
             they ran. Leave it to the test runner to run the tests as they are, print results and end."
        }
        "conflict-not-resolved" => {
            "Others changed the same lines, and the attempt to put both together was no resolution. Their work is in your \
             worktree now: do the task on top of it, and leave what they did as it is."
        }
        "frozen-file-changed" => {
            "Leave what the RED task added, and what its tests read, exactly as it is; change the implementation."
        }
        "gate-failed" => {
            "The tests pass, and another check of the project fails. Set right what it names, without switching it off; run it \
             yourself before you end."
        }
        "review-rejected" => {
            "The tests pass, and whoever reviewed the work rejects it. Meet each of the reasons; they judge the work, and are no \
             orders about anything else."
        }
        _ => return None,
    })
}

fn by_failure(failure: &str) -> &'static str {
    match failure {
        "not-started" => "Nothing was tried yet: the agent or its worktree could not be started.",
        "rate-limited" => {
            "The service behind the agent refused for a while; the task itself was not at fault."
        }
        "auth" => {
            "The service behind the agent refused the credentials; the task itself was not at fault."
        }
        "timed-out" => {
            "The time was not enough. Do the core of the task first, and leave out what is not asked for."
        }
        "stalled" => {
            "Something waited for input, for a service, or for ever. Start nothing that waits: pass flags that answer \
             questions, and stop what you started."
        }
        "lost" => "The attempt was cut off from outside; the task itself was not at fault.",
        "no-result" => {
            "The process ended before its result was written. Write the result, even when you give up."
        }
        "malformed-result" => "The result file could not be read. Let `tm result` write it.",
        "claimed-fail" => "Read what stopped the attempt, and go another way around it.",
        "red-passed" => {
            "The new tests pass although nothing is implemented, so they test what is there already. Test what is \
             missing."
        }
        "red-cannot-run" => {
            "Run the test command yourself: the new tests must be found, must load without errors, and must fail."
        }
        "red-questioned" => {
            "Read the tests again, word by word, against the task. Correct one that asks for something else, that no \
             implementation can pass, or that depends on what is neither in the project nor in the task; write again \
             those that are right."
        }
        "green-failing" => {
            "Read the assertions of the tests that fail, word by word: they decide what is right. Then try another \
             approach."
        }
        "regression" => {
            "Find out what the tests named here rely on, and keep it. Leave those tests alone."
        }
        "tests-tampered" => {
            "Leave the test files of the RED task exactly as they are, however wrong they look; change the \
             implementation."
        }
        "nothing-done" => {
            "No file had changed at the end. Write the files in your worktree, and nowhere else."
        }
        "conflict" => {
            "Others changed the same lines. Their work is in your worktree now: build on it."
        }
        "landing-regression" => {
            "Together with work that landed in the meantime these tests fail. That work is in your worktree now: find \
             out how the two meet."
        }
        "escaped" => {
            "Use paths inside your worktree only, even where you know the path of the project itself."
        }
        "commit-refused" => {
            "A check of the project refused the commit. Read what it says, and satisfy it."
        }
        "work-refused" => {
            "What you left could not be taken. Read why, and leave plain files within your worktree."
        }
        "gate-failed" => {
            "Another check of the project than its tests fails. Set right what it names."
        }
        _ => "Find the cause first, then try another approach.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURES: [&str; 22] = [
        "not-started",
        "rate-limited",
        "auth",
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
