//! Finds the test command of a project by looking at its files.
//!
//! Where there is a choice, the command is the one whose results can be read test by test. How its runner is asked for
//! them is not decided here.

use super::{TestCommand, has, matching, package_of, text_of};
use std::path::Path;
use tm_scheduler::ResultFormat;

/// A test command that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DetectedTestCommand {
    /// The command.
    pub command: TestCommand,
    /// What it was found by.
    pub because: String,
}

/// How a test command is found.
struct Rule {
    /// Any of these files tells of it, in this order; they may have wildcards.
    files: &'static [&'static str],
    /// Whether such a file does.
    tells: fn(&Path, &str) -> bool,
    /// What it was found by, in words, where that is not the file.
    because: Option<&'static str>,
    /// The command; `{}` stands for the program, or how it is called.
    command: &'static str,
    /// What stands for it where a file is there and holds a word; the first counts.
    programs: &'static [(&'static str, &'static str, &'static str)],
    /// What stands for it elsewhere.
    otherwise: &'static str,
    format: ResultFormat,
    /// Where it leaves its results, when it writes them into the tree.
    results: Option<&'static str>,
}

const RULE: Rule = Rule {
    files: &[],
    tells: |_, _| true,
    because: None,
    command: "",
    programs: &[],
    otherwise: "",
    format: ResultFormat::Auto,
    results: None,
};

/// Every rule; the first that fits counts.
const RULES: [Rule; 16] = [
    Rule {
        files: &["run-tests.sh"],
        command: "sh run-tests.sh",
        ..RULE
    },
    Rule {
        files: &["package.json"],
        tells: |root, _| has_test_script(root),
        because: Some("the `test` script of package.json"),
        command: "{}",
        programs: &[
            ("pnpm-lock.yaml", "", "pnpm run test"),
            ("yarn.lock", "", "yarn run test"),
            ("bun.lock", "", "bun run test"),
            ("bun.lockb", "", "bun run test"),
        ],
        otherwise: "npm test --silent",
        ..RULE
    },
    Rule {
        files: &[".config/nextest.toml"],
        tells: |root, _| has(root, "Cargo.toml") && which::which("cargo-nextest").is_ok(),
        command: "cargo nextest run --no-fail-fast",
        format: ResultFormat::Nextest,
        ..RULE
    },
    Rule {
        files: &["Cargo.toml"],
        command: "cargo test --no-fail-fast",
        format: ResultFormat::Cargo,
        ..RULE
    },
    Rule {
        files: &[
            "pytest.ini",
            "conftest.py",
            "tests/conftest.py",
            "tox.ini",
            "pyproject.toml",
            "setup.cfg",
            "requirements.txt",
            "requirements-dev.txt",
            "Pipfile",
        ],
        tells: |root, file| {
            ["pytest.ini", "conftest.py", "tests/conftest.py"].contains(&file)
                || mentions(root, file, "pytest")
        },
        command: "{} pytest",
        programs: &[("uv.lock", "", "uv run"), ("poetry.lock", "", "poetry run")],
        otherwise: "python3 -m",
        ..RULE
    },
    Rule {
        files: &["tests/test*.py"],
        because: Some("test files in Python"),
        command: "python3 -m unittest discover -v -s tests{}",
        programs: &[("tests/__init__.py", "", " -t .")],
        format: ResultFormat::Unittest,
        ..RULE
    },
    Rule {
        files: &["test/test*.py"],
        because: Some("test files in Python"),
        command: "python3 -m unittest discover -v -s test{}",
        programs: &[("test/__init__.py", "", " -t .")],
        format: ResultFormat::Unittest,
        ..RULE
    },
    Rule {
        files: &["go.mod"],
        command: "go test -json ./...",
        format: ResultFormat::Go,
        ..RULE
    },
    Rule {
        files: &["pom.xml"],
        command: "{} --batch-mode test",
        programs: &[("mvnw", "", "./mvnw")],
        otherwise: "mvn",
        format: ResultFormat::Junit,
        results: Some("**/target/surefire-reports/TEST-*.xml"),
        ..RULE
    },
    Rule {
        files: &["build.gradle", "build.gradle.kts"],
        command: "{} test --continue",
        programs: &[("gradlew", "", "./gradlew")],
        otherwise: "gradle",
        format: ResultFormat::Junit,
        results: Some("**/build/test-results/test/TEST-*.xml"),
        ..RULE
    },
    Rule {
        files: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
        command: "{} --log-junit \"$TM_RESULTS\"",
        programs: &[
            ("composer.json", "phpunit/phpunit", "vendor/bin/phpunit"),
            ("composer.lock", "phpunit/phpunit", "vendor/bin/phpunit"),
        ],
        otherwise: "phpunit",
        format: ResultFormat::Junit,
        ..RULE
    },
    Rule {
        files: &[".rspec", "spec/*_spec.rb"],
        because: Some("spec/"),
        command: "{}rspec",
        programs: &[("Gemfile.lock", "", "bundle exec ")],
        ..RULE
    },
    Rule {
        files: &["*.sln", "*.slnx", "*.csproj", "*.fsproj"],
        because: Some("a project of .NET"),
        command: "dotnet test --no-restore",
        format: ResultFormat::ExitStatus,
        ..RULE
    },
    Rule {
        files: &["Package.swift"],
        command: "swift test --parallel --xunit-output \"$TM_RESULTS\"",
        format: ResultFormat::Junit,
        ..RULE
    },
    Rule {
        files: &["Makefile", "makefile", "GNUmakefile"],
        tells: has_test_target,
        because: Some("the `test` target of the Makefile"),
        command: "make test",
        ..RULE
    },
    Rule {
        files: &["t/*.t"],
        because: Some("t/*.t"),
        command: EACH_TAP_FILE,
        format: ResultFormat::Tap,
        ..RULE
    },
];

/// Runs every file in `t/` with its own interpreter and names each stream.
const EACH_TAP_FILE: &str = "bad=0; for file in t/*.t; do echo \"# Subtest: $file\"; \
    if [ -x \"$file\" ]; then \"./$file\"; else sh \"$file\"; fi || bad=1; done; exit $bad";

/// Returns the test command of the project in `root`, `None` when nothing tells of one.
pub fn detect_test_command(root: &Path) -> Option<DetectedTestCommand> {
    let is_there =
        |rule: &Rule, file: &str| !matching(root, file).is_empty() && (rule.tells)(root, file);
    let found = |rule: &'static Rule| {
        rule.files
            .iter()
            .find(|file| is_there(rule, file))
            .map(|file| (rule, *file))
    };
    let (rule, file) = RULES.iter().find_map(found)?;
    let holds =
        |(file, word, _): &&(&str, &str, &str)| has(root, file) && mentions(root, file, word);
    let program = rule.programs.iter().find(holds);
    let program = program.map_or(rule.otherwise, |(_, _, program)| program);
    let command = TestCommand {
        format: rule.format,
        results: rule.results.map(ToOwned::to_owned),
        ..TestCommand::shell(&rule.command.replace("{}", program), None)
    };
    Some(DetectedTestCommand {
        command,
        because: rule.because.unwrap_or(file).to_owned(),
    })
}

fn has_test_script(root: &Path) -> bool {
    let package = package_of(root);
    let script = package["scripts"]["test"].as_str();
    script.is_some_and(|script| !script.contains("no test specified"))
}

fn has_test_target(root: &Path, makefile: &str) -> bool {
    let is_target =
        |line: &str| line.starts_with("test:") || line.starts_with("test ") && line.contains(':');
    text_of(root, makefile).is_some_and(|text| text.lines().any(is_target))
}

/// Nothing is mentioned everywhere.
fn mentions(root: &Path, name: &str, word: &str) -> bool {
    word.is_empty() || text_of(root, name).is_some_and(|text| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_project_is_known_by_its_files() {
        let script = |script: &str| format!(r#"{{"scripts":{{"test":"{script}"}}}}"#);
        let (vitest, jest) = (script("vitest run"), script("npx jest"));
        let has_nextest = which::which("cargo-nextest").is_ok();
        let nextest = if has_nextest {
            "cargo nextest run --no-fail-fast"
        } else {
            "cargo test --no-fail-fast"
        };
        for (files, expected) in [
            (vec![("run-tests.sh", "")], Some("sh run-tests.sh")),
            (
                vec![("package.json", vitest.as_str())],
                Some("npm test --silent"),
            ),
            (
                vec![("package.json", jest.as_str()), ("yarn.lock", "")],
                Some("yarn run test"),
            ),
            (
                vec![("package.json", vitest.as_str()), ("pnpm-lock.yaml", "")],
                Some("pnpm run test"),
            ),
            (
                vec![(
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                None,
            ),
            (vec![("package.json", "{")], None),
            (vec![("Cargo.toml", "")], Some("cargo test --no-fail-fast")),
            (
                vec![("Cargo.toml", ""), (".config/nextest.toml", "")],
                Some(nextest),
            ),
            (
                vec![("pyproject.toml", "[tool.pytest.ini_options]")],
                Some("python3 -m pytest"),
            ),
            (
                vec![("pytest.ini", ""), ("uv.lock", "")],
                Some("uv run pytest"),
            ),
            (vec![("pyproject.toml", "[project]")], None),
            (
                vec![("tests/test_a.py", "")],
                Some("python3 -m unittest discover -v -s tests"),
            ),
            (
                vec![("tests/test_a.py", ""), ("tests/__init__.py", "")],
                Some("python3 -m unittest discover -v -s tests -t ."),
            ),
            (vec![("go.mod", "module x")], Some("go test -json ./...")),
            (vec![("Makefile", "all:\ntest: all\n")], Some("make test")),
            (vec![("Makefile", "all:\n")], None),
            (vec![("t/a.t", "")], Some(EACH_TAP_FILE)),
            (vec![], None),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            for (path, text) in &files {
                let path = folder.path().join(path);
                std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
                std::fs::write(path, text).expect("a file");
            }
            let found = detect_test_command(folder.path()).map(|found| found.command.to_string());
            assert_eq!(found.as_deref(), expected, "{files:?}");
        }
    }
}
