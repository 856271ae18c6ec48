//! Judges RED: new tests exist, were found, ran, and fail because the behaviour is missing.

use super::Strictness;
use super::compared::{
    base_cannot_run, bounded, cannot_run, command_failed, counted, refused, with_rerun, worst,
};
use super::evidence::{load_evidence, mistakes_evidence};
use crate::{
    CommandEnd, Detail, Failure, LoadCause, LoadError, Proof, Reason, Strength, TestMistake,
    TestOutcome, TestReport,
};

/// What was measured of a RED.
#[derive(Clone, Copy, Debug)]
pub struct RedWork<'a> {
    /// The results at the base.
    pub base: &'a TestReport,
    /// The results with the work.
    pub after: &'a TestReport,
    /// A second run of the same work, made when `old_tests_got_worse` says so.
    pub rerun: Option<&'a TestReport>,
    /// The results with the work, but for its test files, which are as at the base. Wanted only where `after` has load
    /// errors and RED changed more than test files; otherwise these are the results at the base.
    pub without_tests: Option<&'a TestReport>,
    /// The test files that RED added or changed.
    pub test_files: &'a [String],
}

/// The exit code by which pytest, and unittest since Python 3.12, say that they found no tests.
const NO_TESTS: i32 = 5;

/// Judges RED.
pub fn judge_red(work: &RedWork<'_>, strictness: Strictness) -> Proof {
    let RedWork { base, after, .. } = *work;
    let proof = with_rerun(base, after, work.rerun);
    let can_not_run = |proof: Proof, reason: Reason, why: &str, seen: &TestReport| {
        refused(proof, Failure::RedCannotRun, reason, why, seen, &[])
    };
    if let Some(why) = command_failed(after) {
        return can_not_run(proof, Reason::CannotRun, &why, after);
    }
    if let Some(why) = base_cannot_run(base, after) {
        let why = format!("the tests can't be run where RED started, without its work: {why}");
        return can_not_run(proof, Reason::CannotRun, &why, base);
    }
    let mistakes = mistakes_in(work.test_files, base, after);
    if !mistakes.is_empty() {
        let why = "new tests fail by a mistake of their own, which no implementation mends";
        let evidence = mistakes_evidence(why, &mistakes);
        return with_failure(proof, Reason::TestMistake, evidence);
    }
    let errors: Vec<&LoadError> = after
        .load_errors
        .iter()
        .filter(|error| !base.load_errors.contains(error))
        .collect();
    if !errors.is_empty() && !after.end.succeeded() {
        return does_not_load(proof, work, &errors, strictness);
    }
    if after.tests.is_empty()
        && base.tests.is_empty()
        && after.end == CommandEnd::Exited(Some(NO_TESTS))
    {
        let why = "the test command found no tests";
        return can_not_run(proof, Reason::NoTestsFound, why, after);
    }
    if let Some(why) = cannot_run(after) {
        return can_not_run(proof, Reason::CannotRun, &why, after);
    }
    if after.detail == Detail::ExitStatusOnly {
        return by_exit_status(proof, base, after, strictness);
    }
    if !proof.regressions.is_empty() {
        let broken = proof.regressions.clone();
        let (reason, why) = (worst(&broken, after), "tests that passed before do not now");
        return refused(proof, Failure::Regression, reason, why, after, &broken);
    }
    new_tests_fail(proof, base, after, strictness)
}

/// Mistakes in these files that were not there before.
pub(super) fn mistakes_in<'a>(
    files: &[String],
    base: &TestReport,
    after: &'a TestReport,
) -> Vec<&'a TestMistake> {
    let is_new =
        |mistake: &&TestMistake| files.contains(&mistake.file) && !base.mistakes.contains(mistake);
    after.mistakes.iter().filter(is_new).collect()
}

/// New tests exist, and fail.
fn new_tests_fail(
    mut proof: Proof,
    base: &TestReport,
    after: &TestReport,
    strictness: Strictness,
) -> Proof {
    let new: Vec<&String> = after
        .tests
        .keys()
        .filter(|name| !base.tests.contains_key(*name))
        .collect();
    let fails =
        |name: &&&String| after.tests[**name] == TestOutcome::Failed && !proof.flaky.contains(name);
    let failing = new.iter().filter(fails).count();
    let (failure, reason, why) = match (new.len(), failing, strictness) {
        (0, _, _) if after.tests.is_empty() => (
            Failure::RedCannotRun,
            Reason::NoTestsFound,
            "the test command found no tests",
        ),
        (0, _, Strictness::Strict | Strictness::Normal) => (
            Failure::RedPassed,
            Reason::NoNewTest,
            "there is no new test",
        ),
        (_, 0, Strictness::Strict | Strictness::Normal) => (
            Failure::RedPassed,
            Reason::EverythingPassed,
            "every new test passes without an implementation",
        ),
        (count, failing, Strictness::Strict) if failing < count => (
            Failure::RedPassed,
            Reason::SomePassed,
            "some new tests pass without an implementation",
        ),
        (count, failing, _) => {
            if failing < count || count == 0 {
                proof
                    .notes
                    .push(format!("{failing} of {count} new tests fail"));
            }
            proof.seen_failing = failing > 0;
            proof.waived.extend(match (count, failing) {
                (0, _) => Some(Reason::NoNewTest),
                (_, 0) => Some(Reason::EverythingPassed),
                (_, _) => None,
            });
            return proof;
        }
    };
    refused(proof, failure, reason, why, after, &[])
}

/// The new tests, or something else, can't be built or loaded. That is right when all errors are in RED's test files
/// and name items of the project that are missing, and everything else is as it was.
fn does_not_load(
    proof: Proof,
    work: &RedWork<'_>,
    errors: &[&LoadError],
    strictness: Strictness,
) -> Proof {
    let (base, after) = (work.base, work.after);
    let is_new_test = |error: &LoadError| {
        error
            .file
            .as_ref()
            .is_none_or(|file| work.test_files.contains(file))
    };
    let (new, elsewhere): (Vec<&LoadError>, Vec<&LoadError>) =
        errors.iter().partition(|error| is_new_test(error));
    if !elsewhere.is_empty() {
        let why = "something else than the new tests can't be built or loaded";
        let evidence = load_evidence(why, &elsewhere);
        return with_failure(proof, Reason::ErrorOutsideNewTests, evidence);
    }
    let is_mistake = |error: &&LoadError| error.cause == LoadCause::Other;
    let mistakes: Vec<&LoadError> = new.iter().copied().filter(is_mistake).collect();
    if !mistakes.is_empty() {
        let why = "the new tests can't be loaded, and not for a missing implementation";
        let evidence = load_evidence(why, &mistakes);
        return with_failure(proof, Reason::NewTestsDoNotLoad, evidence);
    }
    let mut proof = with_broken(proof, work);
    if !proof.regressions.is_empty() {
        let broken = proof.regressions.clone();
        let reason = worst(&broken, work.without_tests.unwrap_or(after));
        let why = "tests that passed before do not now";
        return refused(proof, Failure::Regression, reason, why, after, &broken);
    }
    proof.unloaded = unloaded_files(&new, work.test_files);
    let is_test =
        |name: &&String| !names_a_file(name, &proof.unloaded) && !says_one_of(after, name, &new);
    proof.new = bounded(
        after
            .tests
            .keys()
            .filter(|name| !base.tests.contains_key(*name))
            .filter(is_test),
    );
    let passing = proof
        .new
        .iter()
        .filter(|name| after.tests[*name] == TestOutcome::Passed)
        .count();
    if passing > 0 && strictness == Strictness::Strict {
        let why = "some new tests pass without an implementation";
        let (failure, reason) = (Failure::RedPassed, Reason::SomePassed);
        return refused(proof, failure, reason, why, after, &[]);
    }
    // What can't be loaded, file by file and for what is missing, is as good as tests that fail by name.
    (proof.seen_failing, proof.strength) = (true, Strength::PerTest);
    proof
        .notes
        .extend(new.iter().take(5).map(|error| not_there_yet(error)));
    proof
}

fn with_failure(proof: Proof, reason: Reason, evidence: String) -> Proof {
    Proof {
        failure: Some(Failure::RedCannotRun),
        reason: Some(reason),
        evidence,
        ..proof
    }
}

/// Names what passed before and does not now. Tests in files that do not load yet are gone for now; whether GREEN brings
/// them back is judged there.
fn with_broken(proof: Proof, work: &RedWork<'_>) -> Proof {
    let (base, after) = (work.base, work.after);
    let mut regressions = work
        .without_tests
        .map_or_else(Vec::new, |without| counted(base, without).regressions);
    let does_not_pass = |name: &&str| {
        let outcome = after.tests.get(*name);
        outcome.is_some_and(|outcome| *outcome != TestOutcome::Passed)
    };
    let broken = base
        .names(TestOutcome::Passed)
        .filter(does_not_pass)
        .filter(|name| !proof.flaky.iter().any(|flaky| flaky == name));
    regressions.extend(broken.map(ToOwned::to_owned));
    Proof {
        regressions,
        ..proof
    }
}

/// The files that can't be loaded; where an error names none, it may be any of RED's.
fn unloaded_files(errors: &[&LoadError], test_files: &[String]) -> Vec<String> {
    let mut files: Vec<String> = errors
        .iter()
        .filter_map(|error| error.file.clone())
        .collect();
    if errors.iter().any(|error| error.file.is_none()) {
        files.extend_from_slice(test_files);
        files.sort();
    }
    files.dedup();
    files
}

/// A test that failed with a load error has not run: what stands there may be no test's name, and binds nobody.
fn says_one_of(after: &TestReport, name: &str, errors: &[&LoadError]) -> bool {
    let Some(said) = after.messages.get(name) else {
        return false;
    };
    errors
        .iter()
        .filter(|error| error.file.is_none())
        .any(|error| said.lines().any(|line| line == error.text))
}

fn not_there_yet(error: &LoadError) -> String {
    let what = error.text.lines().next().unwrap_or_default();
    format!(
        "{} can't be loaded yet: {what}",
        error.file.as_deref().unwrap_or("a new test")
    )
}

/// Frameworks that report a file which can't be loaded as a failed test name it after the file, as a path or a module.
fn names_a_file(name: &str, files: &[String]) -> bool {
    files.iter().any(|file| {
        let module = file
            .rsplit_once('.')
            .map_or(file.as_str(), |(stem, _)| stem)
            .replace('/', ".");
        name.ends_with(file.as_str()) || name.ends_with(&module)
    })
}

/// Without results test by test, that the command passed before and fails now is all there is to see: it counts, and is
/// never called seen.
fn by_exit_status(
    mut proof: Proof,
    base: &TestReport,
    after: &TestReport,
    strictness: Strictness,
) -> Proof {
    match (base.end.succeeded(), after.end.succeeded(), strictness) {
        (_, true, Strictness::Strict | Strictness::Normal) => refused(
            proof,
            Failure::RedPassed,
            Reason::EverythingPassed,
            "the test command passes",
            after,
            &[],
        ),
        (false, false, Strictness::Strict | Strictness::Normal) => {
            let why = "the test command failed before already, and its output can't be read test by test; before, it said";
            refused(
                proof,
                Failure::RedCannotRun,
                Reason::ExitStatusOnly,
                why,
                base,
                &[],
            )
        }
        (true, false, _) | (false, false, Strictness::Relaxed) | (_, true, Strictness::Relaxed) => {
            let weaker =
                "judged by exit status only, which can't tell a new failure from an old one";
            proof.notes.push(weaker.to_owned());
            proof
                .waived
                .extend(after.end.succeeded().then_some(Reason::EverythingPassed));
            proof
                .waived
                .extend((!base.end.succeeded()).then_some(Reason::ExitStatusOnly));
            proof
        }
    }
}
