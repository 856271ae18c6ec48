//! `node --test`.

use super::{Edit, Edits, Project, folder_of};

const PACKAGE: &str =
    r#"{"name": "demo", "type": "module", "scripts": {"test": "node --test --test-reporter=tap"}}"#;
const CODE: &str = "export const one = () => 1;\n";
const OLD: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { one } from '../src/code.js';\ntest('old', () => assert.equal(one(), 1));\n";
const NEW: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { two } from '../src/code.js';\ntest('new', () => assert.equal(two(), 2));\n";

fn project() -> Option<Project> {
    let tools = folder_of("node")?;
    folder_of("npm")?;
    let files = [
        ("package.json", PACKAGE),
        (".gitignore", "node_modules\n"),
        ("src/code.js", CODE),
        ("test/old.test.js", OLD),
    ];
    Some(Project::new(&files, &tools, &[]))
}

const NEW_TESTS: Edit<'_> = ("test/new.test.js", Some(NEW));
const WITHOUT_OLD: Edit<'_> = ("test/old.test.js", None);

#[test]
fn node_reds_are_judged() {
    let Some(project) = project() else { return };
    let with = |two: &str| format!("{CODE}export const two = () => {two};\n");
    let (stub, passing) = (with("{ throw new Error('missing'); }"), with("2"));
    let (stub, passing) = (
        ("src/code.js", Some(stub.as_str())),
        ("src/code.js", Some(passing.as_str())),
    );
    let cases: &[(&str, Edits<'_>, &str)] = &[
        ("an export is missing", &[NEW_TESTS], "holds"),
        (
            "a module is missing",
            &[(
                "test/new.test.js",
                Some(&NEW.replace("code.js", "other.js")),
            )],
            "holds",
        ),
        ("a stub that throws", &[NEW_TESTS, stub], "holds"),
        (
            "implemented at once",
            &[NEW_TESTS, passing],
            "everything-passed",
        ),
        ("no test", &[passing], "no-new-test"),
        (
            "a syntax error",
            &[("test/new.test.js", Some("test('new', () => {\n"))],
            "new-tests-do-not-load",
        ),
        (
            "a package that is not there",
            &[(
                "test/new.test.js",
                Some("import x from 'no-such-package';\n"),
            )],
            "new-tests-do-not-load",
        ),
        (
            "the code does not load",
            &[NEW_TESTS, ("src/code.js", Some("export const one = (\n"))],
            "error-outside-new-tests",
        ),
        (
            "an old test breaks",
            &[NEW_TESTS, ("src/code.js", Some(&CODE.replace('1', "3")))],
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
                    "test/old.test.js",
                    Some(&OLD.replace("test('old'", "test.skip('old'")),
                ),
            ],
            "old-test-skipped",
        ),
        ("all tests are gone", &[WITHOUT_OLD], "old-test-gone"),
        (
            "the command is broken",
            &[NEW_TESTS, ("package.json", Some("{"))],
            "cannot-run",
        ),
    ];
    for (case, edits, expected) in cases {
        project.red(case, edits, expected);
    }
}

#[test]
fn a_node_project_without_tests_says_so() {
    let Some(tools) = folder_of("node") else {
        return;
    };
    let project = Project::new(&[("package.json", PACKAGE)], &tools, &[]);
    project.red(
        "a test where nobody looks",
        &[("checks/new.js", Some(NEW))],
        "no-tests-found",
    );
}

#[test]
fn node_greens_are_judged() {
    let Some(project) = project() else { return };
    let with = |two: &str| format!("{CODE}export const two = () => {two};\n");
    let (good, bad) = (with("2"), with("3"));
    let red: Edits<'_> = &[("test/new.test.js", Some(NEW))];
    let cases: &[(&str, Edits<'_>, &str)] = &[
        ("implemented", &[("src/code.js", Some(&good))], "holds"),
        (
            "implemented wrongly",
            &[("src/code.js", Some(&bad))],
            "red-tests-fail",
        ),
        (
            "an old test breaks",
            &[("src/code.js", Some(&good.replace("=> 1", "=> 5")))],
            "old-test-failed",
        ),
        (
            "an old test is gone",
            &[("src/code.js", Some(&good)), ("test/old.test.js", None)],
            "old-test-gone",
        ),
        (
            "an old test is skipped",
            &[
                ("src/code.js", Some(&good)),
                (
                    "test/old.test.js",
                    Some(&OLD.replace("test('old'", "test.skip('old'")),
                ),
            ],
            "old-test-skipped",
        ),
        (
            "RED's test is edited",
            &[
                ("src/code.js", Some(&bad)),
                ("test/new.test.js", Some(&NEW.replace("2)", "3)"))),
            ],
            "red-tests-changed",
        ),
        (
            "the script is another",
            &[
                ("src/code.js", Some(&bad)),
                (
                    "package.json",
                    Some(&PACKAGE.replace("node --test", "node --test test/old.test.js")),
                ),
            ],
            "test-runner-changed",
        ),
    ];
    for (case, edits, expected) in cases {
        project.green(case, red, edits, expected);
    }
}
