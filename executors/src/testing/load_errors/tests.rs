//! What real tools printed, and what is to be made of it.

use super::load_errors;
use proptest::prelude::*;

/// The project's files, the output, and the expected errors as `+file: first words` (missing) or `-file: …` (other).
fn check(files: &[(&str, &str)], output: &str, expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(path, text).expect("a file");
    }
    let output = output.replace("ROOT", folder.path().to_str().expect("a path"));
    let folders = [folder.path().to_owned()];
    let errors = load_errors(&output, &folders);
    assert_eq!(load_errors(&coloured(&output), &folders), errors);
    let found: Vec<String> = errors
        .into_iter()
        .map(|error| {
            let sign = if error.cause == tm_scheduler::LoadCause::MissingItem {
                '+'
            } else {
                '-'
            };
            format!(
                "{sign}{}: {}",
                error.file.unwrap_or_default(),
                error.text.lines().next().unwrap_or_default()
            )
        })
        .collect();
    let root = folder.path().to_str().expect("a path");
    let expected: Vec<String> = expected
        .iter()
        .map(|line| line.replace("ROOT", root))
        .collect();
    assert_eq!(found, expected, "{output}");
}

/// As it is printed where colours are asked for.
fn coloured(output: &str) -> String {
    let line = |line: &str| format!("\u{1b}[31m\u{1b}[1m{line}\u{1b}[0m\n");
    output.lines().map(line).collect()
}

const CARGO: (&str, &str) = ("Cargo.toml", "[package]\nname = \"my-demo\"\n");

/// One error as rustc prints it.
fn block(headline: &str, place: &str, note: &str) -> String {
    format!("{headline}\n --> {place}:1:5\n  |\n1 | code\n  | ^^^^ {note}\n\n")
}

#[test]
fn rust_names_the_items_that_are_missing_and_everything_else() {
    let output = [
        block(
            "error[E0432]: unresolved import `my_demo::parser`",
            "tests/a.rs",
            "could not find `parser` in `my_demo`",
        ),
        block(
            "error[E0432]: unresolved import `serde`",
            "tests/a.rs",
            "use of unresolved module or unlinked crate `serde`",
        ),
        block(
            "error[E0432]: unresolved import `my_demo`",
            "tests/b.rs",
            "use of unresolved module or unlinked crate `my_demo`",
        ),
        block(
            "error[E0425]: cannot find function `zap` in module `super`",
            "src/lib.rs",
            "not found in `super`",
        ),
        block(
            "error[E0308]: mismatched types",
            "tests/c.rs",
            "expected `u8`, found `&str`",
        ),
        block(
            "error[E0599]: no method named `go` found for struct `Thing` in the current scope",
            "tests/d.rs",
            "",
        ),
        block(
            "error[E0599]: no method named `lenn` found for struct `Vec<T>` in the current scope",
            "tests/d.rs",
            "",
        ),
        block(
            "error[E0599]: no method named `go` found for reference `&str` in the current scope",
            "tests/d.rs",
            "",
        ),
        block(
            "error: cannot find macro `shout` in this scope",
            "tests/e.rs",
            "",
        ),
        block(
            "error: expected one of `)` or `,`, found `;`",
            "tests/f.rs",
            "",
        ),
        "error: could not compile `my-demo` (test \"a\") due to 7 previous errors\n".to_owned(),
        "error: could not compile `my-demo` (lib test) due to 1 previous error\n".to_owned(),
        "error: could not compile `my-demo` (lib) due to 1 previous error\n".to_owned(),
    ]
    .concat();
    check(
        &[CARGO],
        &output,
        &[
            "+tests/a.rs: error[E0432]: unresolved import `my_demo::parser`",
            "-tests/a.rs: error[E0432]: unresolved import `serde`",
            "+tests/b.rs: error[E0432]: unresolved import `my_demo`",
            "+src/lib.rs: error[E0425]: cannot find function `zap` in module `super`",
            "-tests/c.rs: error[E0308]: mismatched types",
            "+tests/d.rs: error[E0599]: no method named `go` found for struct `Thing` in the current scope",
            "-tests/d.rs: error[E0599]: no method named `lenn` found for struct `Vec<T>` in the current scope",
            "-tests/d.rs: error[E0599]: no method named `go` found for reference `&str` in the current scope",
            "+tests/e.rs: error: cannot find macro `shout` in this scope",
            "-tests/f.rs: error: expected one of `)` or `,`, found `;`",
            "-`my-demo` (lib): could not compile `my-demo` (lib)",
        ],
    );
    check(
        &[CARGO],
        "error[E0432]: printed by a test\n --> a.rs:1:1\ntest result: ok\n",
        &[],
    );
}

#[test]
fn python_names_modules_that_can_not_be_imported() {
    let pytest = "==== ERRORS ====\n\
        ____ ERROR collecting tests/test_a.py ____\nImportError while importing test module 'ROOT/tests/test_a.py'.\n\
        tests/test_a.py:1: in <module>\n    from calc import add\nE   ModuleNotFoundError: No module named 'calc'\n\
        ____ ERROR collecting tests/test_b.py ____\nE     File \"ROOT/tests/test_b.py\", line 1\n\
        E       def test_b(: pass\nE   SyntaxError: invalid syntax\n\
        ____ ERROR collecting tests/test_c.py ____\nE   ImportError: cannot import name 'add' from 'calc' (ROOT/calc.py)\n\
        ____ ERROR collecting tests/test_d.py ____\nE   ModuleNotFoundError: No module named 'numpy.linalg'\n\
        ===== short test summary info =====\nE   SyntaxError: not part of any\n";
    check(
        &[("requirements.txt", "numpy>=1.2\n")],
        pytest,
        &[
            "+tests/test_a.py: ModuleNotFoundError: No module named 'calc'",
            "-tests/test_b.py: SyntaxError: invalid syntax",
            "+tests/test_c.py: ImportError: cannot import name 'add' from 'calc' (ROOT/calc.py)",
            "-tests/test_d.py: ModuleNotFoundError: No module named 'numpy.linalg'",
        ],
    );
}

#[test]
fn unittest_names_the_file_at_the_end_of_the_traceback() {
    let output = "======\nERROR: tests.test_a (unittest.loader._FailedTest.tests.test_a)\n------\n\
        ImportError: Failed to import test module: tests.test_a\nTraceback (most recent call last):\n  \
        File \"/usr/lib/python3.11/unittest/loader.py\", line 407, in _find_test_path\n  \
        File \"ROOT/tests/test_a.py\", line 1, in <module>\n    from calc import add\n\
        ModuleNotFoundError: No module named 'calc'\n======\n";
    check(
        &[],
        output,
        &["+tests/test_a.py: ModuleNotFoundError: No module named 'calc'"],
    );
}

#[test]
fn a_fixture_that_nobody_defines_is_a_mistake_of_the_test() {
    let output = "____ ERROR at setup of test_d ____\nfile ROOT/tests/test_c.py, line 3\n  def test_d(nofix): pass\n\
        E       fixture 'nofix' not found\n";
    check(
        &[],
        output,
        &["-tests/test_c.py: fixture 'nofix' not found"],
    );
}

#[test]
fn what_plug_and_play_can_not_resolve_is_told_by_whoever_asked() {
    let output = "# Error: Qualified path resolution failed: we looked for these\n# Source path: ROOT/src/a.js\n\
        # Not found: ROOT/src/a.js\n# Require stack:\n# - ROOT/test/a.test.cjs\n\
        # Error: Qualified path resolution failed: we looked for these\n# Source path: ROOT/src/b.js\n\
        #     at makeError (ROOT/.pnp.cjs:5736:34)\n# Subtest: ROOT/test/b.test.js\n\
        # Error: Your application tried to access lodash, but it isn't declared\n# Required package: lodash\n\
        # Required by: ROOT/test/c.test.js\n";
    check(
        &[("package.json", r#"{"name": "demo"}"#)],
        output,
        &[
            "+test/a.test.cjs: Error: Qualified path resolution failed: we looked for these",
            "+test/b.test.js: Error: Qualified path resolution failed: we looked for these",
            "-test/c.test.js: Error: Your application tried to access lodash, but it isn't declared",
        ],
    );
}

#[test]
fn javascript_tells_own_modules_from_packages() {
    let output = "# file://ROOT/test/a.test.js:2\n# import { two } from '../src/a.js';\n#          ^^^\n\
        # SyntaxError: The requested module '../src/a.js' does not provide an export named 'two'\n\
        # Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'ROOT/src/b.js' imported from ROOT/test/b.test.js\n\
        # Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lodash' imported from ROOT/test/c.test.js\n\
        # ROOT/test/d.test.cjs:3\n# SyntaxError: Unexpected end of input\n\
        # Error: Cannot find module '../src/missing'\n# Require stack:\n# - ROOT/test/e.test.cjs\n\
        \x20   Cannot find module '../src/f' from 'test/f.test.js'\n\
        Error: Failed to resolve import \"../src/g.js\" from \"test/g.test.js\". Does the file exist?\n\
        src/h.test.ts:3:10 - error TS2305: Module '\"./h\"' has no exported member 'two'.\n\
        src/i.test.ts(3,10): error TS2307: Cannot find module 'lodash' or its corresponding type declarations.\n\
        src/j.test.ts(4,1): error TS2322: Type 'string' is not assignable to type 'number'.\n";
    check(
        &[("package.json", r#"{"name": "demo"}"#)],
        output,
        &[
            "+test/a.test.js: SyntaxError: The requested module '../src/a.js' does not provide an export named 'two'",
            "+test/b.test.js: Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'ROOT/src/b.js' imported from ROOT/test/b.test.js",
            "-test/c.test.js: Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lodash' imported from ROOT/test/c.test.js",
            "-test/d.test.cjs: SyntaxError: Unexpected end of input",
            "+test/e.test.cjs: Error: Cannot find module '../src/missing'",
            "+test/f.test.js: Cannot find module '../src/f' from 'test/f.test.js'",
            "+test/g.test.js: Error: Failed to resolve import \"../src/g.js\" from \"test/g.test.js\". Does the file exist?",
            "+src/h.test.ts: src/h.test.ts:3:10 - error TS2305: Module '\"./h\"' has no exported member 'two'.",
            "-src/i.test.ts: src/i.test.ts(3,10): error TS2307: Cannot find module 'lodash' or its corresponding type declarations.",
            "-src/j.test.ts: src/j.test.ts(4,1): error TS2322: Type 'string' is not assignable to type 'number'.",
        ],
    );
}

#[test]
fn other_compilers_are_read_line_by_line() {
    let go = "# example.org/demo [example.org/demo.test]\n./parse_test.go:5:9: undefined: Parse\n\
        ./parse_test.go:6:4: p.Go undefined (type Thing has no field or method Go)\n\
        ./type_test.go:7:2: cannot use \"a\" (untyped string constant) as int value in assignment\n\
        a_test.go:4:2: no required module provides package github.com/x/y; to add it:\n\
        b_test.go:4:2: package example.org/demo/parser is not in std\nFAIL\texample.org/demo [build failed]\n";
    check(
        &[("go.mod", "module example.org/demo\n\ngo 1.22\n")],
        go,
        &[
            "+parse_test.go: ./parse_test.go:5:9: undefined: Parse",
            "+parse_test.go: ./parse_test.go:6:4: p.Go undefined (type Thing has no field or method Go)",
            "-type_test.go: ./type_test.go:7:2: cannot use \"a\" (untyped string constant) as int value in assignment",
            "-a_test.go: a_test.go:4:2: no required module provides package github.com/x/y; to add it:",
            "+b_test.go: b_test.go:4:2: package example.org/demo/parser is not in std",
        ],
    );
    let c = "t/a.c:3:5: error: implicit declaration of function 'parse' [-Wimplicit-function-declaration]\n\
        t/b.c:1:10: fatal error: parse.h: No such file or directory\nt/c.c:9:1: error: expected ';' before '}' token\n\
        /usr/bin/ld: t/d.c:4: undefined reference to `parse'\n";
    check(
        &[],
        c,
        &[
            "+t/a.c: t/a.c:3:5: error: implicit declaration of function 'parse' [-Wimplicit-function-declaration]",
            "+t/b.c: t/b.c:1:10: fatal error: parse.h: No such file or directory",
            "-t/c.c: t/c.c:9:1: error: expected ';' before '}' token",
            "+t/d.c: undefined reference to `parse'",
        ],
    );
    let java = "[ERROR] COMPILATION ERROR :\n[ERROR] ROOT/src/test/java/AppTest.java:[5,9] cannot find symbol\n\
        [ERROR] ROOT/src/test/java/BTest.java:[5,9] ';' expected\n";
    check(
        &[],
        java,
        &[
            "+src/test/java/AppTest.java: [ERROR] ROOT/src/test/java/AppTest.java:[5,9] cannot find symbol",
            "-src/test/java/BTest.java: [ERROR] ROOT/src/test/java/BTest.java:[5,9] ';' expected",
        ],
    );
}

#[test]
fn gradle_is_read_although_its_own_words_stand_before_those_of_the_compiler() {
    let gradle = ":compileTestJavaROOT/src/test/java/demo/Part1Test.java:5: error: cannot find symbol\n    \
        @Test public void part() { assertEquals(\"1\", Part1.value()); }\n  symbol:   variable Part1\n\
        ROOT/src/test/java/demo/Part2Test.java:2: error: package demo.part does not exist\n\
        ROOT/src/test/java/demo/Part3Test.java:2: error: package com.google.gson does not exist\n\
        ROOT/src/test/java/demo/Part4Test.java:2: error: ';' expected\n2 errors\n FAILED\n\n\
        FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':compileTestJava'.\n\
        > Compilation failed; see the compiler error output for details.\n";
    check(
        &[("src/main/java/demo/part/Old.java", "")],
        gradle,
        &[
            "+src/test/java/demo/Part1Test.java: :compileTestJavaROOT/src/test/java/demo/Part1Test.java:5: error: cannot find symbol",
            "+src/test/java/demo/Part2Test.java: ROOT/src/test/java/demo/Part2Test.java:2: error: package demo.part does not exist",
            "-src/test/java/demo/Part3Test.java: ROOT/src/test/java/demo/Part3Test.java:2: error: package com.google.gson does not exist",
            "-src/test/java/demo/Part4Test.java: ROOT/src/test/java/demo/Part4Test.java:2: error: ';' expected",
        ],
    );
}

#[test]
fn rspec_says_of_each_file_what_its_loading_ended_with() {
    let rspec = "\nAn error occurred while loading ./spec/a_spec.rb. - Did you mean?\n                    rspec ./spec/b_spec.rb\n\n\
        Failure/Error: require \"part1\"\n\nLoadError:\n  cannot load such file -- part1\n\
        # ./spec/a_spec.rb:1:in `<top (required)>'\n\n\
        An error occurred while loading ./spec/b_spec.rb.\nFailure/Error:\n  RSpec.describe Part3 do\n  end\n\nNameError:\n  \
        uninitialized constant Part3\n\n  RSpec.describe Part3 do\n                 ^^^^^\n# ./spec/b_spec.rb:1:in `<top (required)>'\n\n\
        An error occurred while loading ./spec/c_spec.rb.\nFailure/Error: __send__(method, file)\n\nSyntaxError:\n  \
        ROOT/spec/c_spec.rb:2: syntax error, unexpected end-of-input, expecting ')'\n# rspec/core/configuration.rb:2117:in `load'\n\n\
        An error occurred while loading ./spec/d_spec.rb.\nFailure/Error: require \"active_support/all\"\n\nLoadError:\n  \
        cannot load such file -- active_support/all\n\n\
        An error occurred while loading ./spec/e_spec.rb.\nFailure/Error: require_relative \"../lib/gone\"\n\nLoadError:\n  \
        cannot load such file -- ROOT/lib/gone\n# ./spec/e_spec.rb:1:in `require_relative'\n\n\
        0 examples, 0 failures, 5 errors occurred outside of examples\n";
    check(
        &[("Gemfile", "gem 'active_support'\n")],
        rspec,
        &[
            "+spec/a_spec.rb: LoadError: cannot load such file -- part1",
            "+spec/b_spec.rb: NameError: uninitialized constant Part3",
            "-spec/c_spec.rb: SyntaxError: ROOT/spec/c_spec.rb:2: syntax error, unexpected end-of-input, expecting ')'",
            "-spec/d_spec.rb: LoadError: cannot load such file -- active_support/all",
            "+spec/e_spec.rb: LoadError: cannot load such file -- ROOT/lib/gone",
        ],
    );
}

#[test]
fn bun_is_read_file_by_file() {
    let bun = "\ntest/a.test.js:\n\n# Unhandled error between tests\n-------------------------------\n\
        error: Cannot find module '../src/part1.js' from 'ROOT/test/a.test.js'\n-------------------------------\n\n\n\
        test/old.test.js:\n(pass) old [0.81ms]\n\ntest/b.test.js:\n\n# Unhandled error between tests\n\
        -------------------------------\n1 | test('\n         ^\nerror: Unterminated string literal\n    \
        at ROOT/test/b.test.js:1:6\n-------------------------------\n\n\ntest/c.test.js:\n\n\
        # Unhandled error between tests\n-------------------------------\n\
        SyntaxError: Export named 'other' not found in module 'ROOT/src/old.js'.\n-------------------------------\n\n\
        test/d.test.js:\n\n# Unhandled error between tests\n-------------------------------\n\
        SyntaxError: Export named 'x' not found in module 'ROOT/node_modules/ms/index.js'.\n-------------------------------\n";
    check(
        &[],
        bun,
        &[
            "+test/a.test.js: error: Cannot find module '../src/part1.js' from 'ROOT/test/a.test.js'",
            "-test/b.test.js: error: Unterminated string literal",
            "+test/c.test.js: SyntaxError: Export named 'other' not found in module 'ROOT/src/old.js'.",
            "-test/d.test.js: SyntaxError: Export named 'x' not found in module 'ROOT/node_modules/ms/index.js'.",
        ],
    );
}

proptest! {
    #[test]
    fn anything_can_be_read(output in "(?s)(error(\\[E0425\\])?: |could not compile|ERROR collecting |E   |SyntaxError: |.|\n){0,60}") {
        let _any = load_errors(&output, &["/nowhere".into()]);
    }
}

/// The project's files, the output, and the expected mistakes as `file:line: first words`.
fn check_mistakes(files: &[(&str, &str)], output: &str, expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(path, text).expect("a file");
    }
    let output = output.replace("ROOT", folder.path().to_str().expect("a path"));
    let folders = [folder.path().to_owned()];
    let mistakes = super::mistakes(&output, &folders);
    assert_eq!(super::mistakes(&coloured(&output), &folders), mistakes);
    let found: Vec<String> = mistakes
        .into_iter()
        .map(|mistake| format!("{}:{}: {}", mistake.file, mistake.line, mistake.text))
        .collect();
    assert_eq!(found, expected, "{output}");
}

#[test]
fn a_name_that_a_python_test_never_binds_is_its_mistake() {
    let files = [
        ("tests/test_a.py", "def test_a():\n    foo()\n"),
        ("tests/test_b.py", "from calc import *\n"),
        ("calc.py", ""),
    ];
    let plain = |file: &str, error: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"ROOT/{file}\", line 2, in test_a\n    foo()\n    ^^^\n{error}\n"
        )
    };
    let name = "NameError: name 'foo' is not defined";
    check_mistakes(
        &files,
        &plain("tests/test_a.py", name),
        &[&format!("tests/test_a.py:2: {name}")],
    );
    check_mistakes(&files, &plain("tests/test_b.py", name), &[]);
    let deeper = "Traceback (most recent call last):\n  File \"ROOT/tests/test_a.py\", line 2, in test_a\n    go()\n  \
        File \"ROOT/calc.py\", line 1, in go\n    foo\nNameError: name 'foo' is not defined\n";
    check_mistakes(
        &files,
        deeper,
        &["calc.py:1: NameError: name 'foo' is not defined"],
    );
    let pytest = "    def test_a():\n>       foo()\nE       NameError: name 'foo' is not defined\n\ntests/test_a.py:2: NameError\n";
    check_mistakes(
        &files,
        pytest,
        &["tests/test_a.py:2: NameError: name 'foo' is not defined"],
    );
    let within = "tests/test_a.py:2: \n_ _ _\n\n    def go():\n>       foo\nE       NameError: name 'foo' is not defined\n\ncalc.py:1: NameError\n";
    check_mistakes(
        &files,
        within,
        &["calc.py:1: NameError: name 'foo' is not defined"],
    );
    let collecting = "____ ERROR collecting tests/test_a.py ____\ntests/test_a.py:1: in <module>\n    @pytest.mark.x\n\
        E   NameError: name 'pytest' is not defined\n";
    check_mistakes(
        &files,
        collecting,
        &["tests/test_a.py:1: NameError: name 'pytest' is not defined"],
    );
}

#[test]
fn an_import_that_an_installed_module_does_not_have_is_a_mistake_and_one_of_the_project_is_none() {
    let files = [("tests/test_a.py", "import x\n"), ("calc.py", "")];
    let output = |error: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"ROOT/tests/test_a.py\", line 1, in <module>\n    x\n{error}\n"
        )
    };
    for (error, is_mistake) in [
        (
            "ImportError: cannot import name 'lods' from 'json' (/usr/lib/python3.11/json/__init__.py)",
            true,
        ),
        (
            "ImportError: cannot import name 'x' from 'lib' (/opt/venv/lib/site-packages/lib.py)",
            true,
        ),
        (
            "ImportError: cannot import name 'add' from 'calc' (/opt/venv/lib/site-packages/calc.py)",
            false,
        ),
        (
            "ImportError: cannot import name 'add' from 'calc' (/elsewhere/calc.py)",
            false,
        ),
        (
            "ImportError: cannot import name 'add' from 'calc' (unknown location)",
            false,
        ),
        (
            "ModuleNotFoundError: No module named 'json.foo'; 'json' is not a package",
            true,
        ),
        ("ModuleNotFoundError: No module named 'calculator'", false),
        ("AttributeError: module 'os' has no attribute 'pth'", true),
        (
            "AttributeError: module 'calc' has no attribute 'add'",
            false,
        ),
        (
            "AttributeError: 'Calc' object has no attribute 'add'",
            false,
        ),
    ] {
        let expected = format!("tests/test_a.py:1: {error}");
        let expected: Vec<&str> = is_mistake
            .then_some(expected.as_str())
            .into_iter()
            .collect();
        check_mistakes(&files, &output(error), &expected);
    }
}

#[test]
fn a_name_that_a_script_never_binds_is_its_mistake() {
    let files = [
        (
            "test/a.test.js",
            "import test from 'node:test';\ntest('a', () => foo());\n",
        ),
        (
            "test/b.test.js",
            "import '../src/globals.js';\ntest('a', () => foo());\n",
        ),
        ("src/a.js", "foo();\n"),
    ];
    let stack = |file: &str| {
        format!(
            "ReferenceError: foo is not defined\n    at Object.<anonymous> (ROOT/{file}:2:17)\n    at node:x:1:1\n"
        )
    };
    check_mistakes(
        &files,
        &stack("test/a.test.js"),
        &["test/a.test.js:2: ReferenceError: foo is not defined"],
    );
    check_mistakes(&files, &stack("test/b.test.js"), &[]);
    check_mistakes(
        &files,
        &stack("src/a.js"),
        &["src/a.js:2: ReferenceError: foo is not defined"],
    );
    let tap = "not ok 1 - a\n  ---\n  error: 'foo is not defined'\n  code: 'ERR_TEST_FAILURE'\n  name: 'ReferenceError'\n  \
        stack: |-\n    TestContext.<anonymous> (file://ROOT/test/a.test.js:2:17)\n    Test.run (node:internal:1:1)\n  ...\n";
    check_mistakes(
        &files,
        tap,
        &["test/a.test.js:2: ReferenceError: foo is not defined"],
    );
}

#[test]
fn a_line_of_tap_names_what_a_test_could_not_load_and_other_errors_are_failures() {
    let output = "1..5\nnot ok 1 - test_1: ModuleNotFoundError: No module named 'lib.parser'\n\
        not ok 2 - b: AssertionError: 1 != 2\nnot ok 3 - c: ImportError: boom\n\
        ok 4 - d: ModuleNotFoundError: No module named 'lib'\n\
        not ok 5 - e: ModuleNotFoundError: No module named 'requests'\n";
    let requirements = ("requirements.txt", "requests\n");
    check(
        &[requirements],
        output,
        &["+: ModuleNotFoundError: No module named 'lib.parser'"],
    );
    let output = "1..1\n    not ok 1 - x: Error: Cannot find module '../lib/x.js' imported by it\n";
    check(
        &[],
        output,
        &["+: Error: Cannot find module '../lib/x.js' imported by it"],
    );
}

#[test]
fn files_are_named_from_the_folder_in_which_the_command_works() {
    let output = "error[E0425]: cannot find function `value` in crate `demo`\n --> tests/one.rs:2:4\n\n\
                  error: could not compile `demo` (test \"one\") due to 1 previous error\n";
    let folder = tempfile::tempdir().expect("a folder");
    let sub = folder.path().join("sub");
    std::fs::create_dir_all(sub.join("tests")).expect("a folder");
    std::fs::File::create(sub.join("tests/one.rs")).expect("a file");
    for (folders, expected) in [
        (vec![folder.path().to_owned()], "tests/one.rs"),
        (vec![folder.path().to_owned(), sub], "sub/tests/one.rs"),
    ] {
        let found = load_errors(output, &folders);
        let files: Vec<_> = found.iter().map(|error| error.file.as_deref()).collect();
        assert_eq!(files, [Some(expected)]);
    }
}
