//! Changes a file of tests until its tests can't pass, in its own language.
//!
//! The change stands where a run that goes well comes to, and after what it tests: code under test that ends the process,
//! skips, or prints results on its own keeps it from being told of. Whether that means anything is judged elsewhere.

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

/// How a language says it.
struct Form {
    /// What is added.
    addition: String,
    /// Where: at the end, or before the first match.
    before: Option<&'static LazyLock<Regex>>,
    control: String,
    /// What lets a good run end before it, or passes it over.
    escapes: &'static LazyLock<Regex>,
}

patterns! {
    NO_ESCAPE = r"[^\s\S]";
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

/// Returns the file with tests that can't pass, and `nonce` in what they say; `None` for a file that holds no tests, or in
/// a language of which nothing is known.
pub fn canary(path: &str, text: &str, nonce: &str) -> Option<Canary> {
    let form = form(path, text, nonce)?;
    let at = form
        .before
        .and_then(|before| before.find(text))
        .map_or(text.len(), |found| found.start());
    let (head, tail) = text.split_at(at);
    let changed = format!("{head}\n{}\n{tail}", form.addition);
    Some(Canary {
        is_certain: !form.escapes.is_match(head),
        text: changed,
        control: form.control,
    })
}

fn form(path: &str, text: &str, nonce: &str) -> Option<Form> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "py" => python(name, text, nonce),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => javascript(text, nonce),
        "sh" | "bash" | "zsh" => Some(shell(nonce)),
        "t" if PERL_SIGN.is_match(text) => Some(perl(nonce)),
        "pl" => Some(perl(nonce)),
        "t" if !text.starts_with("#!") || is_of_shell(text) => Some(shell(nonce)),
        "" if is_of_shell(text) => Some(shell(nonce)),
        "bats" => with_test(
            text,
            &BATS_TEST,
            &NO_ESCAPE,
            format!("@test \"zzz {nonce}\" {{ false; }}"),
            None,
        ),
        "rb" => with_test(text, &RUBY_TEST, &RUBY_ESCAPE, ruby(nonce), None),
        "php" => {
            let addition = format!("throw new \\Exception('{nonce}');");
            let control = format!("<?php\n{addition}\n");
            let form = with_test(text, &PHP_TEST, &PHP_ESCAPE, addition, Some(control))?;
            Some(Form {
                before: Some(&PHP_END),
                ..form
            })
        }
        "rs" => {
            let addition =
                format!("#[cfg(test)]\n#[test]\nfn zzz_{nonce}() {{\n    panic!(\"{nonce}\");\n}}");
            with_test(text, &RUST_TEST, &RUST_ESCAPE, addition, None)
        }
        "go" => {
            let addition =
                format!("func TestZzz{nonce}(t *testing.T) {{\n\tt.Fatal(\"{nonce}\")\n}}");
            let package = GO_PACKAGE.find(text)?.as_str();
            let control = format!("{package}\n\nimport \"testing\"\n\n{addition}\n");
            with_test(text, &GO_TEST, &GO_ESCAPE, addition, Some(control))
        }
        _ => None,
    }
}

fn is_of_shell(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.starts_with("#!") && line.ends_with("sh"))
}

/// A further test at the end of a file that holds tests.
fn with_test(
    text: &str,
    sign: &LazyLock<Regex>,
    escapes: &'static LazyLock<Regex>,
    addition: String,
    control: Option<String>,
) -> Option<Form> {
    let control = control.unwrap_or_else(|| format!("{addition}\n"));
    sign.is_match(text).then_some(Form {
        addition,
        before: None,
        control,
        escapes,
    })
}

/// Every test of the file fails when it is through: one that is left early, or skipped, is seen by that.
fn python(name: &str, text: &str, nonce: &str) -> Option<Form> {
    let is_test_file =
        name.starts_with("test") || name.ends_with("_test.py") || name.ends_with("_tests.py");
    let (addition, control) = if PYTHON_TEST.is_match(text) {
        let control = format!(
            "import unittest\n\n\nclass zzz_{nonce}(unittest.TestCase):\n    def test_zzz_{nonce}(self):\n        \
             self.fail('{nonce}')\n\n\nif __name__ == '__main__':\n    unittest.main()\n"
        );
        (include_str!("canary.py").replace("NONCE", nonce), control)
    } else if is_test_file && name != "conftest.py" {
        let fails = format!("print('not ok - {nonce}', flush=True)\nraise SystemExit(97)");
        (fails.clone(), format!("{fails}\n"))
    } else {
        return None;
    };
    Some(Form {
        addition,
        before: Some(&PYTHON_MAIN),
        control,
        escapes: &PYTHON_ESCAPE,
    })
}

fn javascript(text: &str, nonce: &str) -> Option<Form> {
    let addition = format!(
        "// @ts-ignore\n;(typeof test === 'function' ? test : typeof it === 'function' ? it : (_, run) => run())\
         ('zzz {nonce}', () => {{ throw new Error('{nonce}'); }});"
    );
    with_test(text, &SCRIPT_TEST, &SCRIPT_ESCAPE, addition, None)
}

fn shell(nonce: &str) -> Form {
    let addition = format!("printf 'not ok - %s\\n' {nonce}\nexit 97");
    Form {
        control: format!("{addition}\n"),
        addition,
        before: Some(&SHELL_END),
        escapes: &SHELL_ESCAPE,
    }
}

fn perl(nonce: &str) -> Form {
    let addition = format!("print \"not ok - {nonce}\\n\";\nexit 97;");
    Form {
        control: format!("{addition}\n"),
        addition,
        before: Some(&PERL_END),
        escapes: &PERL_ESCAPE,
    }
}

fn ruby(nonce: &str) -> String {
    format!(
        "if defined?(RSpec)\n  RSpec.describe('zzz {nonce}') {{ it('fails') {{ raise '{nonce}' }} }}\n\
         elsif defined?(Minitest::Test)\n  class Zzz{nonce} < Minitest::Test\n    def test_zzz\n      raise '{nonce}'\n    \
         end\n  end\nelse\n  raise '{nonce}'\nend"
    )
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
