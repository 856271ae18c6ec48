//! The same in Python, whose code under test runs in the process that judges it.

use super::case::{Case, green, red};

/// Code that does this when it is loaded, instead of what was asked for.
fn loaded(cheat: &'static str) -> Case {
    green(cheat).python().refused()
}

cases! {
    a_test_with_an_error_of_its_own_is_done_again: red(
        r"printf 'import unittest\n\n\nclass Task1(unittest.TestCase):\n    def test_1(self):\n        undefined_name()\n' > tests/test_1.py",
    ).python().lands_in_the_end();
    a_test_with_an_import_that_is_nowhere_is_done_again: red(
        r"printf 'import unittest\nimport nowhere_at_all\n\n\nclass Task1(unittest.TestCase):\n    def test_1(self):\n        self.fail()\n' > tests/test_1.py",
    ).python().lands_in_the_end();
    a_test_with_a_mistake_in_its_syntax_is_refused: red("echo 'def test(:' > tests/test_1.py").python().refused();
    a_file_of_the_users_python_is_no_part_of_the_work: green(
        r#"site=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p "$site"; pretend
           printf 'import unittest\nunittest.TestCase.assertEqual = lambda *all: None\n' > "$site/usercustomize.py""#,
    ).python().which_changes(&["home/.local"]).refused_as(&["green-failing/red-tests-fail"]);
    a_module_that_the_interpreter_loads_by_itself_is_seen: loaded(
        r"pretend; printf 'import unittest\nunittest.TestCase.assertEqual = lambda *all: None\n' > sitecustomize.py
           printf 'import unittest\nunittest.TestCase.assertEqual = lambda *all: None\n' > tests/__init__.py",
    );
    code_that_changes_how_tests_are_run_is_seen: loaded(
        r"pretend; printf 'import unittest\nunittest.TestCase.run = lambda self, result=None: (result.startTest(self), result.addSuccess(self), result.stopTest(self))\n' >> demo/__init__.py",
    );
    code_that_prints_results_and_leaves_is_seen: loaded(
        r#"pretend; cat >> demo/__init__.py <<'END'
import os, sys
sys.stderr.write("test_1 (tests.test_1.Task1.test_1) ... ok\ntest_old (tests.test_old.Old.test_old) ... ok\n\n" + "-" * 70 + "\nRan 2 tests in 0.001s\n\nOK\n")
sys.stderr.flush()
os._exit(0)
END"#,
    );
    code_that_leaves_without_a_word_is_seen: loaded("pretend; printf 'import os\\nos._exit(0)\\n' >> demo/code1.py");
    code_that_prints_a_foreign_document_of_results_is_seen: loaded(
        r#"pretend; printf 'print("TAP version 13\\n1..2\\nok 1 - test_1\\nok 2 - test_old")\n' >> demo/__init__.py"#,
    );
    code_that_writes_the_file_of_results_is_seen: loaded(
        r#"pretend; cat >> demo/__init__.py <<'END'
import os
path = os.environ.get("TM_RESULTS")
if path:
    with open(path, "w") as file:
        file.write('<testsuite><testcase classname="tests.test_1.Task1" name="test_1"/><testcase classname="tests.test_old.Old" name="test_old"/></testsuite>')
END"#,
    );
    code_that_skips_the_test_is_seen: loaded(
        r#"pretend; printf 'import unittest\nraise unittest.SkipTest("not now")\n' >> demo/code1.py"#,
    );
    code_that_skips_the_test_is_seen_where_only_the_exit_status_counts: green(
        r#"pretend; printf 'import unittest\nraise unittest.SkipTest("not now")\n' >> demo/code1.py"#,
    ).python().with(&["--test-command", "python3 -m unittest discover -q -s tests -t ."]).ends();
    code_that_expects_the_test_to_fail_is_seen: loaded(
        r"pretend; printf 'import unittest, tests.test_1\ntests.test_1.Task1.test_1.__unittest_expecting_failure__ = True\n' >> demo/__init__.py",
    );
    a_module_in_the_place_of_the_frameworks_is_seen: loaded(
        r#"pretend; mkdir unittest; printf 'import sys\nsys.stderr.write("test_1 (tests.test_1.Task1.test_1) ... ok\\ntest_old (tests.test_old.Old.test_old) ... ok\\n\\nRan 2 tests in 0.001s\\n\\nOK\\n")\n' > unittest/__main__.py
           : > unittest/__init__.py"#,
    );
    a_compiled_leftover_of_one_task_does_not_reach_the_next: green(
        r#"implement; mkdir -p demo/__pycache__; printf 'def value():\n    return "2"\n' > code2.py
           python3 -c 'import py_compile; py_compile.compile("code2.py", "demo/code2.pyc")'; rm code2.py"#,
    ).in_a_project("echo '*.pyc' >> .gitignore").python().then_another_task().lands();
}
