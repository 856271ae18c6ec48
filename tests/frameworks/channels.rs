//! What the tests' own surroundings hold, and what counts as their results.

use super::python::tools as pytest_tools;
use super::{Edits, Project, folder_of};

/// Passes only where nothing of the user's is to be seen, and where git knows who commits.
const SURROUNDINGS: &str = r#"import os
import subprocess
import tempfile
import unittest


class Surroundings(unittest.TestCase):
    def test_no_secret_is_there(self):
        self.assertNotIn("SOME_TOKEN", os.environ)
        self.assertEqual(os.environ.get("PASSED"), "by name")

    def test_home_is_fresh(self):
        home = os.environ["HOME"]
        self.assertEqual(os.listdir(home), [".gitconfig"])
        open(os.path.join(home, "left"), "w").close()
        self.assertTrue(tempfile.gettempdir().startswith(os.path.dirname(home)))

    def test_git_commits(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "a"]):
                subprocess.run(["git", *arguments], cwd=folder, check=True)
"#;

#[test]
fn tests_see_nothing_of_the_user_but_what_is_passed_by_name() {
    let Some(tools) = folder_of("python3") else {
        return;
    };
    let project = Project::new(&[("tests/test_surroundings.py", SURROUNDINGS)], &tools, &[])
        .with_variables(&[
            ("SOME_TOKEN", "secret"),
            ("PASSED", "by name"),
            ("TM_TEST_ENV", "{PASSED: null}"),
        ]);
    let proof = project.plain(&[("README.md", Some("more\n"))]);
    assert_eq!(
        (&proof["passed"], &proof["failed"]),
        (&3.into(), &0.into()),
        "{proof:#}"
    );
    assert_eq!(proof["notes"], serde_json::json!([]), "{proof:#}");
    let project = project.with_variables(&[("TM_TEST_HOME", "user")]);
    let proof = project.plain(&[("README.md", Some("more\n"))]);
    // The home of these tests has no name for commits either.
    assert_eq!(proof["baseline_failed"], 3, "{proof:#}");
    assert!(
        proof["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("test.home: user")),
        "{proof:#}"
    );
}

const CODE: &str = "def one():\n    return 1\n";
const OLD: &str = "from demo import one\n\n\ndef test_old():\n    assert one() == 1\n";
const NEW: &str = "from demo import two\n\n\ndef test_new():\n    assert two() == 2\n";

#[test]
fn a_quiet_pytest_is_read_test_by_test() {
    let Some(tools) = pytest_tools() else { return };
    let files = [
        ("demo.py", CODE),
        ("test_old.py", OLD),
        (".gitignore", "__pycache__\n.pytest_cache\n"),
    ];
    for command in ["python3 -m pytest -q", "make test"] {
        let makefile = ("Makefile", "test:\n\tpython3 -m pytest -qx\n");
        let project = Project::new(
            &[&files[..], &[makefile]].concat(),
            &tools,
            &["--test-command", command],
        );
        let red: Edits<'_> = &[("test_new.py", Some(NEW))];
        project.red("a name is missing", red, "holds");
        for (case, two, expected) in [
            ("an honest implementation", "    return 2\n", "holds"),
            (
                "code that skips",
                "    import pytest\n    pytest.skip('later')\n",
                "red-tests-missing",
            ),
            (
                "code that expects to fail",
                "    import pytest\n    pytest.xfail('later')\n",
                "red-tests-missing",
            ),
            (
                "code that exits",
                "    import os\n    print('2 passed in 0.01s')\n    os._exit(0)\n",
                "cannot-run",
            ),
        ] {
            let code = format!("{CODE}\n\ndef two():\n{two}");
            project.green(case, red, &[("demo.py", Some(&code))], expected);
        }
    }
}
