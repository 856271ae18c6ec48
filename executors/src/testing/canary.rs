//! Changes a file of tests until its tests can't pass, in its own language.
//!
//! The change stands where a run that goes well comes to, and after what it tests: code under test that ends the process,
//! skips, or prints results on its own keeps it from being told of. Whether that means anything is judged elsewhere.

use super::name_in;
use regex::Regex;
use std::sync::LazyLock;

/// A file of tests that can't pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Canary {
    /// The file's text, with its tests changed.
    pub text: String,
    /// A file that does nothing but fail, in the same place: whether the runner takes that place for a test.
    pub control: String,
    /// Whether every run in which the tests pass comes to the change; where that is not sure, a run that does not tell of
    /// it says nothing.
    pub is_certain: bool,
}

/// How a language says it; `NONCE` stands for the nonce, `PACKAGE` for the line in which a file of Go names its package.
struct Form {
    /// What a file of tests holds.
    sign: &'static LazyLock<Regex>,
    /// What is added.
    addition: &'static str,
    /// Where: before the first match, else at the end.
    before: &'static LazyLock<Regex>,
    /// The control, where it is not what is added.
    control: Option<&'static str>,
    /// What lets a good run end before it, or passes it over.
    escapes: &'static LazyLock<Regex>,
}

patterns! {
    ANY = r"";
    NONE = r"[^\s\S]";
    PYTHON_MAIN = r"(?m)^if\s+__name__\s*==";
    PYTHON_TEST = r"(?m)^\s*(?:async\s+)?def\s+test";
    PYTHON_ESCAPE = r"(?m)\b_exit\(|^(?:sys\.)?exit\(|^quit\(|SystemExit|^(?:unittest|pytest)\.main\(|allow_module_level|importorskip|load_tests|SkipTest";
    SHELL_END = r"(?m)^\s*(?:exit\b.*|done_testing\b.*)\s*\z";
    SHELL_ESCAPE = r"(?m)(?:^|[;&|({]|\bthen\b|\bdo\b|\belse\b)\s*(?:exec\b|exit(?:[ \t]+[^\s1-9]|[ \t]*(?:$|[;)}&|])))";
    PERL_END = r"(?m)^(?:__END__|__DATA__)\b|^\s*exit\b.*\s*\z";
    PERL_ESCAPE = r"(?m)\bexit\b|skip_all|\bexec\b";
    PERL_SIGN = r"(?m)\A#!.*\bperl|^\s*use\s+(?:strict|warnings|Test::|v?5)";
    SCRIPT_TEST = r"\b(?:test|it|describe|suite)\b\s*[.(]";
    SCRIPT_ESCAPE = r"\.only\b|process\.exit|\.run\(|\bskip\b|\bonly\s*:|Deno\.exit|\btodo\b";
    RUBY_ESCAPE = r"(?m)^\s*(?:exit|abort)\b|__END__|\bfocus\b|:focus";
    RUBY_TEST = r"(?m)^\s*(?:def\s+test|it\b|test\b|specify\b|describe\b|RSpec\.)";
    PHP_TEST = r"(?m)function\s+test|#\[Test\]|@test|^\s*(?:it|test)\(";
    PHP_END = r"\?>\s*\z";
    PHP_ESCAPE = r"\bexit\b|\bdie\b|__halt_compiler";
    RUST_TEST = r"(?m)^\s*#\[(?:\w+::)*test\b|#\[rstest\]";
    RUST_ESCAPE = r"(?m)^\s*(?:async )?fn main\(";
    GO_TEST = r"(?m)^func Test\w*\(\w+ \*testing\.T\)";
    GO_PACKAGE = r"(?m)^package \w+";
    GO_ESCAPE = r"(?m)^func TestMain\(";
    BATS_TEST = r"(?m)^@test ";
}

const FORM: Form = Form {
    sign: &ANY,
    addition: "",
    before: &NONE,
    control: None,
    escapes: &NONE,
};

/// Every test of the file fails when it is through: one that is left early, or skipped, is seen by that.
static PYTHON: Form = Form {
    sign: &PYTHON_TEST,
    addition: include_str!("canary.py"),
    before: &PYTHON_MAIN,
    control: Some(
        "import unittest\n\n\nclass zzz_NONCE(unittest.TestCase):\n    def test_zzz_NONCE(self):\n        \
         self.fail('NONCE')\n\n\nif __name__ == '__main__':\n    unittest.main()",
    ),
    escapes: &PYTHON_ESCAPE,
};

static PYTHON_SCRIPT: Form = Form {
    addition: "print('not ok - NONCE', flush=True)\nraise SystemExit(97)",
    before: &PYTHON_MAIN,
    escapes: &PYTHON_ESCAPE,
    ..FORM
};

static JAVASCRIPT: Form = Form {
    sign: &SCRIPT_TEST,
    addition: "// @ts-ignore\n;(typeof test === 'function' ? test : typeof it === 'function' ? it : (_, run) => run())\
               ('zzz NONCE', () => { throw new Error('NONCE'); });",
    escapes: &SCRIPT_ESCAPE,
    ..FORM
};

static SHELL: Form = Form {
    addition: "printf 'not ok - %s\\n' NONCE\nexit 97",
    before: &SHELL_END,
    escapes: &SHELL_ESCAPE,
    ..FORM
};

static PERL: Form = Form {
    addition: "print \"not ok - NONCE\\n\";\nexit 97;",
    before: &PERL_END,
    escapes: &PERL_ESCAPE,
    ..FORM
};

static BATS: Form = Form {
    sign: &BATS_TEST,
    addition: "@test \"zzz NONCE\" { false; }",
    ..FORM
};

static RUBY: Form = Form {
    sign: &RUBY_TEST,
    addition: "if defined?(RSpec)\n  RSpec.describe('zzz NONCE') { it('fails') { raise 'NONCE' } }\n\
               elsif defined?(Minitest::Test)\n  class ZzzNONCE < Minitest::Test\n    def test_zzz\n      \
               raise 'NONCE'\n    end\n  end\nelse\n  raise 'NONCE'\nend",
    escapes: &RUBY_ESCAPE,
    ..FORM
};

static PHP: Form = Form {
    sign: &PHP_TEST,
    addition: "throw new \\Exception('NONCE');",
    before: &PHP_END,
    control: Some("<?php\nthrow new \\Exception('NONCE');"),
    escapes: &PHP_ESCAPE,
};

static RUST: Form = Form {
    sign: &RUST_TEST,
    addition: "#[cfg(test)]\n#[test]\nfn zzz_NONCE() {\n    panic!(\"NONCE\");\n}",
    escapes: &RUST_ESCAPE,
    ..FORM
};

static GO: Form = Form {
    sign: &GO_TEST,
    addition: "func TestZzzNONCE(t *testing.T) {\n\tt.Fatal(\"NONCE\")\n}",
    control: Some(
        "PACKAGE\n\nimport \"testing\"\n\nfunc TestZzzNONCE(t *testing.T) {\n\tt.Fatal(\"NONCE\")\n}",
    ),
    escapes: &GO_ESCAPE,
    ..FORM
};

/// Returns the file with tests that can't pass, and `nonce` in what they say; `None` for a file that holds no tests, or in
/// a language of which nothing is known.
pub fn canary(path: &str, text: &str, nonce: &str) -> Option<Canary> {
    let form = form(path, text).filter(|form| form.sign.is_match(text))?;
    let package = GO_PACKAGE.find(text).map_or("", |found| found.as_str());
    let filled = |words: &str| words.replace("NONCE", nonce).replace("PACKAGE", package);
    let at = form.before.find(text);
    let (head, tail) = text.split_at(at.map_or(text.len(), |found| found.start()));
    let control = form.control.unwrap_or(form.addition);
    Some(Canary {
        is_certain: !form.escapes.is_match(head),
        text: format!("{head}\n{}\n{tail}", filled(form.addition)),
        control: filled(control) + "\n",
    })
}

/// The form of the language that a file is in.
fn form(path: &str, text: &str) -> Option<&'static Form> {
    let name = name_in(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_test_in_python = || {
        let ends = ["_test.py", "_tests.py"];
        name != "conftest.py"
            && (name.starts_with("test") || ends.iter().any(|end| name.ends_with(end)))
    };
    Some(match extension {
        "py" if PYTHON_TEST.is_match(text) => &PYTHON,
        "py" if is_test_in_python() => &PYTHON_SCRIPT,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => &JAVASCRIPT,
        "sh" | "bash" | "zsh" => &SHELL,
        "t" if PERL_SIGN.is_match(text) => &PERL,
        "pl" => &PERL,
        "t" if !text.starts_with("#!") || is_of_shell(text) => &SHELL,
        "" if is_of_shell(text) => &SHELL,
        "bats" => &BATS,
        "rb" => &RUBY,
        "php" => &PHP,
        "rs" => &RUST,
        "go" => &GO,
        _ => return None,
    })
}

fn is_of_shell(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && first.ends_with("sh")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_certain(path: &str, text: &str) -> Option<bool> {
        canary(path, text, "n0").map(|canary| canary.is_certain)
    }

    #[test]
    fn each_language_has_its_own_form_and_files_without_tests_have_none() {
        for (path, text, expected) in [
            ("tests/test_a.py", "def test_a():\n    pass\n", Some(true)),
            ("tests/test_a.py", "print('ok - a')\n", Some(true)),
            ("tests/helper.py", "def help():\n    pass\n", None),
            ("tests/conftest.py", "X = 1\n", None),
            (
                "tests/test_a.py",
                "import pytest\npytest.importorskip('x')\ndef test_a(): pass\n",
                Some(false),
            ),
            (
                "tests/test_a.py",
                "def test_a(): pass\nif __name__ == '__main__':\n    unittest.main()\n",
                Some(true),
            ),
            ("t/a.t", ". t/check.sh\ncheck 1 1 1\n", Some(true)),
            (
                "t/a.t",
                "fail() { echo no; exit 1; }\ncheck || fail\nexit 0\n",
                Some(true),
            ),
            ("t/a.t", "if true; then exit 0; fi\n", Some(false)),
            ("t/a.t", "exec ./other\n", Some(false)),
            (
                "t/a.t",
                "use Test::More;\nok(1);\ndone_testing();\n",
                Some(true),
            ),
            (
                "t/a.t",
                "#!/usr/bin/env perl\nplan skip_all => 1;\n",
                Some(false),
            ),
            ("t/a.t", "#!/usr/bin/env lua\n", None),
            ("test/a.test.js", "test('a', () => {});\n", Some(true)),
            ("test/a.test.js", "test.only('a', () => {});\n", Some(false)),
            ("test/data.js", "export const x = 1;\n", None),
            ("tests/a.rs", "#[test]\nfn a() {}\n", Some(true)),
            (
                "tests/a.rs",
                "fn main() {}\n#[test]\nfn a() {}\n",
                Some(false),
            ),
            ("tests/common/mod.rs", "pub fn help() {}\n", None),
            (
                "a_test.go",
                "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
                Some(true),
            ),
            ("a_test.go", "package a\n", None),
            ("tests/a.bats", "@test \"a\" { true; }\n", Some(true)),
            (
                "tests/ATest.php",
                "<?php class ATest { function testA() {} }\n?>\n",
                Some(true),
            ),
            ("test/a_test.rb", "def test_a\nend\n", Some(true)),
            ("tests/data.json", "{}", None),
            ("tests/a.snap", "", None),
        ] {
            assert_eq!(is_certain(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn the_change_stands_before_what_ends_a_file() {
        let text = |path, text| canary(path, text, "n0").expect("a canary").text;
        assert_eq!(
            text("t/a.t", "check\nexit 0\n"),
            "check\n\nprintf 'not ok - %s\\n' n0\nexit 97\nexit 0\n"
        );
        let python = text(
            "test_a.py",
            "def test_a(): pass\nif __name__ == '__main__':\n    main()\n",
        );
        assert!(
            python.ends_with("if __name__ == '__main__':\n    main()\n") && python.contains("n0"),
            "{python}"
        );
        assert!(text("a.pl", "ok(1);\n__END__\nwords").ends_with("exit 97;\n__END__\nwords"));
    }

    proptest! {
        #[test]
        fn anything_can_be_changed(name in "[a-z_]{0,6}\\.(py|js|sh|t|pl|rs|go|rb|php|bats|x)", text in "(?s).{0,80}") {
            if let Some(canary) = canary(&name, &text, "n0") {
                prop_assert!(canary.text.contains("n0") && canary.control.contains("n0"));
            }
        }
    }
}
