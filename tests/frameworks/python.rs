//! pytest, with its results as `JUnit`.

use super::{Edit, Edits, Project, folder_of};
use crate::skipping::lacks;
use std::path::{Path, PathBuf};

const CODE: &str = "def one():\n    return 1\n";
const OLD: &str = "from demo.code import one\n\n\ndef test_old():\n    assert one() == 1\n";
const NEW: &str = "from demo.code import two\n\n\ndef test_new():\n    assert two() == 2\n";

/// The folder of a Python that has pytest: one that was installed for these tests, or the one in the search path.
pub(crate) fn tools() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin");
    let folder = if own.join("python3").is_file() {
        own
    } else {
        folder_of("python3")?
    };
    has_pytest(&folder.join("python3")).then_some(folder)
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn has_pytest(python: &Path) -> bool {
    let asked = std::process::Command::new(python)
        .args(["-c", "import pytest"])
        .output();
    let has = asked.is_ok_and(|output| output.status.success());
    if !has {
        lacks("pytest");
    }
    has
}

fn project() -> Option<Project> {
    let files = [
        (
            "pytest.ini",
            "[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\n",
        ),
        (".gitignore", "__pycache__\n"),
        ("demo/__init__.py", ""),
        ("demo/code.py", CODE),
        ("tests/test_old.py", OLD),
    ];
    Some(Project::new(&files, &tools()?, &[]))
}

fn with(two: &str) -> String {
    format!("{CODE}\n\ndef two():\n    {two}\n")
}

const fn new_tests(text: &str) -> Edit<'_> {
    ("tests/test_new.py", Some(text))
}

const fn code(text: &str) -> Edit<'_> {
    ("demo/code.py", Some(text))
}

const NEW_TESTS: Edit<'_> = new_tests(NEW);
const WITHOUT_OLD: Edit<'_> = ("tests/test_old.py", None);

#[test]
fn pytest_reds_are_judged() {
    let Some(project) = project() else { return };
    let (stub, passing) = (with("raise NotImplementedError"), with("return 2"));
    let both = format!("{NEW}\n\ndef test_more():\n    pass\n");
    let in_old =
        format!("{OLD}\n\ndef test_new():\n    from demo.code import two\n    assert two() == 2\n");
    let (stub, passing) = (code(&stub), code(&passing));
    let cases: &[(&str, Edits<'_>, &str)] = &[
        ("a name is missing", &[NEW_TESTS], "holds"),
        (
            "a module is missing",
            &[(
                "tests/test_new.py",
                Some(&NEW.replace("demo.code", "demo.other")),
            )],
            "holds",
        ),
        ("a stub that raises", &[NEW_TESTS, stub], "holds"),
        (
            "in a file that was there",
            &[("tests/test_old.py", Some(&in_old))],
            "holds",
        ),
        ("some fail", &[new_tests(&both), stub], "holds"),
        (
            "implemented at once",
            &[NEW_TESTS, passing],
            "everything-passed",
        ),
        ("no test", &[passing], "no-new-test"),
        (
            "a syntax error",
            &[new_tests("def test_new(:\n    pass\n")],
            "new-tests-do-not-load",
        ),
        (
            "a fixture that nobody defines",
            &[new_tests("def test_new(nothing):\n    assert False\n")],
            "new-tests-do-not-load",
        ),
        (
            "the code does not load",
            &[NEW_TESTS, code("def one(:\n")],
            "error-outside-new-tests",
        ),
        (
            "an old test breaks",
            &[NEW_TESTS, ("demo/code.py", Some(&CODE.replace('1', "3")))],
            "old-test-failed",
        ),
        (
            "an old test is gone",
            &[NEW_TESTS, stub, WITHOUT_OLD],
            "old-test-gone",
        ),
        (
            "an old test is skipped",
            &[
                NEW_TESTS,
                stub,
                (
                    "tests/test_old.py",
                    Some(&OLD.replace(
                        "def test_old",
                        "import pytest\n\n\n@pytest.mark.skip\ndef test_old",
                    )),
                ),
            ],
            "old-test-skipped",
        ),
        ("no test at all", &[WITHOUT_OLD], "cannot-run"),
        (
            "the settings are torn",
            &[NEW_TESTS, ("pytest.ini", Some("[pytest\n"))],
            "cannot-run",
        ),
    ];
    for (case, edits, expected) in cases {
        project.red(case, edits, expected);
    }
}

#[test]
fn a_pytest_project_without_tests_says_so() {
    let Some(tools) = tools() else { return };
    let files = [
        ("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\n"),
        (".gitignore", "__pycache__\n"),
    ];
    let project = Project::new(&files, &tools, &[]);
    project.red(
        "a test where nobody looks",
        &[("checks/new.py", Some(NEW))],
        "no-tests-found",
    );
}

#[test]
fn pytest_greens_are_judged() {
    let Some(project) = project() else { return };
    let (good, bad) = (with("return 2"), with("return 3"));
    let deselect = "def pytest_collection_modifyitems(items):\n    items[:] = [item for item in items if item.name != 'test_new']\n";
    let pass_all = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    report = outcome.get_result()\n    report.outcome = 'passed'\n    report.longrepr = None\n";
    let red: Edits<'_> = &[("tests/test_new.py", Some(NEW))];
    let cases: &[(&str, Edits<'_>, &str)] = &[
        ("implemented", &[("demo/code.py", Some(&good))], "holds"),
        (
            "implemented wrongly",
            &[("demo/code.py", Some(&bad))],
            "red-tests-fail",
        ),
        (
            "an old test breaks",
            &[("demo/code.py", Some(&good.replace("return 1", "return 5")))],
            "old-test-failed",
        ),
        (
            "an old test is gone",
            &[("demo/code.py", Some(&good)), ("tests/test_old.py", None)],
            "old-test-gone",
        ),
        (
            "RED's test is edited",
            &[
                ("demo/code.py", Some(&bad)),
                ("tests/test_new.py", Some(&NEW.replace("== 2", "== 3"))),
            ],
            "red-tests-changed",
        ),
        (
            "RED's test is not run",
            &[
                ("demo/code.py", Some(&bad)),
                ("tests/conftest.py", Some(deselect)),
            ],
            "red-tests-missing",
        ),
        (
            "every result is turned",
            &[
                ("demo/code.py", Some(&bad)),
                ("tests/conftest.py", Some(pass_all)),
            ],
            "test-runner-changed",
        ),
        (
            "a helper that changes nothing",
            &[
                ("demo/code.py", Some(&good)),
                ("tests/conftest.py", Some("X = 1\n")),
            ],
            "holds",
        ),
    ];
    for (case, edits, expected) in cases {
        project.green(case, red, edits, expected);
    }
}
