//! Judges RED: new tests exist, were found, ran, and fail because the behaviour is missing.

use super::Strictness;
use super::compared::{
    base_cannot_run, bounded, cannot_run, command_failed, counted, evidence, load_evidence,
    mistakes_evidence, regressed, with_rerun,
};
use super::paths::without_extension;
use crate::{
    CommandEnd, Detail, Failure, LoadCause, LoadError, Proof, Reason, Strength, TestMistake,
    TestReport,
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
const NONE_FOUND: &str = "the test command found no tests";
const SOME_PASS: &str = "some new tests pass without an implementation";

/// Judges RED.
pub fn judge_red(work: &RedWork<'_>, strictness: Strictness) -> Proof {
    let RedWork { base, after, .. } = *work;
    let proof = with_rerun(base, after, work.rerun);
    let failure = Failure::RedCannotRun;
    if let Some(why) = command_failed(after) {
        return proof.refuse(failure, Reason::CannotRun, evidence(&why, after));
    }
    if let Some(why) = base_cannot_run(base, after) {
        let why = format!("the tests can't be run where RED started, without its work: {why}");
        return proof.refuse(failure, Reason::CannotRun, evidence(&why, base));
    }
    let mistakes = mistakes_in(work.test_files, base, after);
    if !mistakes.is_empty() {
        let why = "new tests fail by a mistake of their own, which no implementation mends";
        let evidence = mistakes_evidence(why, &mistakes);
        return proof.refuse(failure, Reason::TestMistake, evidence);
    }
    let is_new = |error: &&LoadError| !base.load_errors.contains(error);
    let errors: Vec<&LoadError> = after.load_errors.iter().filter(is_new).collect();
    if !errors.is_empty() && !after.end.succeeded() {
        return does_not_load(proof, work, &errors, strictness);
    }
    if after.tests.is_empty()
        && base.tests.is_empty()
        && after.end == CommandEnd::Exited(Some(NO_TESTS))
    {
        return proof.refuse(failure, Reason::NoTestsFound, evidence(NONE_FOUND, after));
    }
    if let Some(why) = cannot_run(after) {
        return proof.refuse(failure, Reason::CannotRun, evidence(&why, after));
    }
    if after.detail == Detail::ExitStatusOnly {
        return by_exit_status(proof, base, after, strictness);
    }
    if !proof.regressions.is_empty() {
        return regressed(proof, Failure::Regression, after, after);
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
    let new = after.new_since(base);
    let fails = |name: &&String| after.fails(name) && !proof.flaky.contains(name);
    let failing = new.clone().filter(fails).count();
    let (failure, reason, why) = match (new.count(), failing, strictness) {
        (0, _, _) if after.tests.is_empty() => {
            (Failure::RedCannotRun, Reason::NoTestsFound, NONE_FOUND)
        }
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
        (count, failing, Strictness::Strict) if failing < count => {
            (Failure::RedPassed, Reason::SomePassed, SOME_PASS)
        }
        (count, failing, _) => {
            if failing < count || count == 0 {
                proof = proof.noted(format!("{failing} of {count} new tests fail"));
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
    proof.refuse(failure, reason, evidence(why, after))
}

/// The new tests, or something else, can't be built or loaded. That is right when all errors are in RED's test files
/// and name items of the project that are missing, and everything else is as it was.
fn does_not_load(
    proof: Proof,
    work: &RedWork<'_>,
    errors: &[&LoadError],
    strictness: Strictness,
) -> Proof {
    let (base, after, failure) = (work.base, work.after, Failure::RedCannotRun);
    let is_of_red = |file: &String| work.test_files.contains(file);
    let is_new_test = |error: &&LoadError| error.file.as_ref().is_none_or(is_of_red);
    let (new, elsewhere): (Vec<&LoadError>, Vec<&LoadError>) =
        errors.iter().copied().partition(is_new_test);
    if !elsewhere.is_empty() {
        let why = "something else than the new tests can't be built or loaded";
        let evidence = load_evidence(why, &elsewhere);
        return proof.refuse(failure, Reason::ErrorOutsideNewTests, evidence);
    }
    let is_mistake = |error: &&LoadError| error.cause == LoadCause::Other;
    let mistakes: Vec<&LoadError> = new.iter().copied().filter(is_mistake).collect();
    if !mistakes.is_empty() {
        let why = "the new tests can't be loaded, and not for a missing implementation";
        let evidence = load_evidence(why, &mistakes);
        return proof.refuse(failure, Reason::NewTestsDoNotLoad, evidence);
    }
    let mut proof = with_broken(proof, work);
    if !proof.regressions.is_empty() {
        let seen = work.without_tests.unwrap_or(after);
        return regressed(proof, Failure::Regression, seen, after);
    }
    proof.unloaded = unloaded_files(&new, work.test_files);
    let is_test =
        |name: &&String| !names_a_file(name, &proof.unloaded) && !says_one_of(after, name, &new);
    proof.new = bounded(after.new_since(base).filter(is_test));
    if proof.new.iter().any(|name| after.passes(name)) && strictness == Strictness::Strict {
        let evidence = evidence(SOME_PASS, after);
        return proof.refuse(Failure::RedPassed, Reason::SomePassed, evidence);
    }
    // What can't be loaded, file by file and for what is missing, is as good as tests that fail by name.
    (proof.seen_failing, proof.strength) = (true, Strength::PerTest);
    proof
        .notes
        .extend(new.iter().take(5).map(|error| not_there_yet(error)));
    proof
}

/// Names what passed before and does not now. Tests in files that do not load yet are gone for now; whether GREEN brings
/// them back is judged there.
fn with_broken(proof: Proof, work: &RedWork<'_>) -> Proof {
    let (base, after) = (work.base, work.after);
    let mut regressions = work
        .without_tests
        .map(|without| counted(base, without))
        .unwrap_or_default()
        .regressions;
    let is_broken =
        |name: &&String| base.passes(name) && !after.passes(name) && !proof.flaky.contains(name);
    regressions.extend(after.tests.keys().filter(is_broken).cloned());
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
    let mut said = after
        .messages
        .get(name)
        .into_iter()
        .flat_map(|said| said.lines());
    let is_error = |line: &str| {
        errors
            .iter()
            .any(|error| error.file.is_none() && error.text == line)
    };
    said.any(is_error)
}

fn not_there_yet(error: &LoadError) -> String {
    let what = error.text.lines().next().unwrap_or_default();
    let file = error.file.as_deref().unwrap_or("a new test");
    format!("{file} can't be loaded yet: {what}")
}

/// Frameworks that report a file which can't be loaded as a failed test name it after the file, as a path or a module.
fn names_a_file(name: &str, files: &[String]) -> bool {
    files.iter().any(|file| {
        let module = without_extension(file).replace('/', ".");
        name.ends_with(file) || name.ends_with(&module)
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
    let is_relaxed = strictness == Strictness::Relaxed;
    if after.end.succeeded() {
        let reason = Reason::EverythingPassed;
        if !is_relaxed {
            let evidence = evidence("the test command passes", after);
            return proof.refuse(Failure::RedPassed, reason, evidence);
        }
        proof.waived.push(reason);
    }
    if !base.end.succeeded() {
        let reason = Reason::ExitStatusOnly;
        if !is_relaxed {
            let why = "the test command failed before already, and its output can't be read test by test; before, it said";
            return proof.refuse(Failure::RedCannotRun, reason, evidence(why, base));
        }
        proof.waived.push(reason);
    }
    proof.noted("judged by exit status only, which can't tell a new failure from an old one")
}
