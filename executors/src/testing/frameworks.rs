//! The table of test frameworks: by what each is told, where its tests are, what decides how they run, how its runner is
//! started and asked for a report, and what it prints of tests that can't be loaded.

use super::asking::{Report, stops_early};
use super::closure::Call;
use super::command::RESULTS_VARIABLE;
use super::load_errors::{Found, bun, compiled, javascript, python, ruby, rust, tap};
use super::name_in;
use std::path::Path;
use tm_scheduler::ResultFormat;

/// A test framework.
#[derive(Debug)]
pub struct Framework {
    /// Its name.
    pub name: &'static str,
    /// Where its tests usually are.
    pub tests: &'static str,
    /// Where a new test could go; `{}` is the name of what is tested.
    pub new_test: &'static str,
    /// A word in `package.json` that tells of it.
    package: Option<&'static str>,
    /// Files of a project that tell of it.
    files: &'static [&'static str],
    /// Files, by name, that are about nothing but how its tests run; a `*` at the end stands for the rest.
    pub(super) settings: &'static [&'static str],
    /// Finds what it, or the compiler of its language, says of tests that can't be loaded; once for a language.
    pub(super) load_errors: Option<fn(&str, &mut Found<'_>)>,
    /// The program that runs its tests, where tm knows how to ask that for a report.
    pub(super) runner: Option<Runner>,
}

/// A runner that tm knows, and how it is asked for a report. In what it is told, `{file}` stands for the file of the
/// report and `{name}` for what that is to be called.
#[derive(Debug)]
pub(super) struct Runner {
    /// What a call of it begins with; `?` stands for one word, `*` for any number of them.
    started_by: &'static [&'static str],
    /// The formats besides that of its report in which it can write when it is told to.
    pub(super) others: &'static [ResultFormat],
    /// Words in its arguments that say that the user has chosen a report.
    pub(super) choices: &'static [&'static str],
    /// The variable by which it is asked.
    pub(super) variable: Variable,
    /// The arguments by which it is asked.
    pub(super) arguments: &'static [&'static str],
    /// Whether a call of it needs them.
    pub(super) needs_arguments: fn(&Call) -> bool,
    /// Where its report is then.
    pub(super) report: Report,
    /// The command with which its results are read test by test.
    pub(super) advice: &'static str,
}

/// A variable by which a runner is asked for a report.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variable {
    None,
    /// It has this word.
    Word(&'static str, &'static str),
    /// It has these options behind those of the user.
    Options(&'static str, &'static str),
}

const NONE: Framework = Framework {
    name: "",
    tests: "",
    new_test: "",
    package: None,
    files: &[],
    settings: &[],
    load_errors: None,
    runner: None,
};

const RUNNER: Runner = Runner {
    started_by: &[],
    others: &[],
    choices: &[RESULTS_VARIABLE],
    variable: Variable::None,
    arguments: &[],
    needs_arguments: |_| true,
    report: Report::Printed(ResultFormat::Auto),
    advice: "",
};

/// Every framework, in the order in which the files of a project tell of them.
pub(super) static FRAMEWORKS: [Framework; 14] = [
    Framework {
        name: "cargo test",
        tests: "tests/**/*.rs",
        new_test: "tests/{}.rs",
        files: &["Cargo.toml"],
        load_errors: Some(rust::find),
        runner: Some(Runner {
            started_by: &["cargo test", "cargo t", "cargo ? test", "cargo ? t"],
            report: Report::Printed(ResultFormat::Cargo),
            advice: "`cargo test` as the last or only runner",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "nextest",
        tests: "tests/**/*.rs",
        new_test: "tests/{}.rs",
        settings: &["nextest.toml"],
        runner: Some(Runner {
            started_by: &["cargo * nextest * run", "cargo-nextest"],
            variable: Variable::Word("NEXTEST_STATUS_LEVEL", "pass"),
            report: Report::Printed(ResultFormat::Nextest),
            advice: "`cargo nextest run` as the only runner",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "go test",
        tests: "**/*_test.go",
        new_test: "{}_test.go",
        files: &["go.mod"],
        load_errors: Some(compiled::find),
        runner: Some(Runner {
            started_by: &["go test"],
            arguments: &["-json"],
            needs_arguments: |call| !call.says(&["-json", "-v"]),
            report: Report::Printed(ResultFormat::Go),
            advice: "`go test -json`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "junit",
        tests: "src/test/**/*Test.java",
        new_test: "src/test/java/{}Test.java",
        files: &["pom.xml", "build.gradle"],
        ..NONE
    },
    Framework {
        name: "rspec",
        tests: "spec/**/*_spec.rb",
        new_test: "spec/{}_spec.rb",
        files: &[".rspec"],
        settings: &[".rspec"],
        load_errors: Some(ruby::find),
        runner: Some(Runner {
            started_by: &["rspec"],
            others: &[ResultFormat::Junit],
            // What it says of files that can't be loaded is printed.
            variable: Variable::Options(
                "SPEC_OPTS",
                "--no-fail-fast --format progress --format json --out '{file}'",
            ),
            report: Report::File(ResultFormat::Rspec),
            advice: "`rspec --format json --out \"$TM_RESULTS\"`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "pytest",
        tests: "**/test_*.py",
        new_test: "tests/test_{}.py",
        files: &[
            "pytest.ini",
            "conftest.py",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
        settings: &["conftest.py", "pytest.ini", ".pytest.ini"],
        load_errors: Some(python::find),
        runner: Some(Runner {
            started_by: &["pytest", "py.test", "-m pytest"],
            others: &[ResultFormat::Pytest],
            choices: &["junitxml", "junit-xml"],
            // What follows the first failure has to be run as well: what is not run counts as gone.
            variable: Variable::Options(
                "PYTEST_ADDOPTS",
                "--continue-on-collection-errors --maxfail=0 --junitxml='{file}' -o junit_suite_name={name}",
            ),
            arguments: &["--maxfail=0"],
            needs_arguments: stops_early,
            report: Report::NamedFile(ResultFormat::Junit),
            advice: "`pytest --junitxml=\"$TM_RESULTS\"`",
        }),
        ..NONE
    },
    Framework {
        name: "unittest",
        tests: "**/test*.py",
        new_test: "tests/test_{}.py",
        runner: Some(Runner {
            started_by: &["-m unittest"],
            arguments: &["-v"],
            needs_arguments: |call| !call.says(&["-v", "--verbose"]),
            report: Report::Printed(ResultFormat::Unittest),
            advice: "`python3 -m unittest -v`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "vitest",
        tests: "**/*.test.ts",
        new_test: "src/{}.test.ts",
        package: Some("vitest"),
        settings: &["vitest.config.*", "vitest.workspace.*", "vitest.setup.*"],
        runner: Some(Runner {
            started_by: &["vitest"],
            others: &[ResultFormat::Junit, ResultFormat::Tap],
            choices: OF_JAVASCRIPT,
            arguments: &["--run", "--reporter=json", "--outputFile={file}"],
            report: Report::File(ResultFormat::Jest),
            advice: "`vitest --run --reporter=json --outputFile=\"$TM_RESULTS\"`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "jest",
        tests: "**/*.test.js",
        new_test: "src/__tests__/{}.test.js",
        package: Some("jest"),
        settings: &["jest.config.*", "jest.setup.*"],
        runner: Some(Runner {
            started_by: &["jest", "react-scripts test"],
            others: &[ResultFormat::Junit],
            choices: OF_JAVASCRIPT,
            arguments: &["--json", "--outputFile={file}"],
            report: Report::File(ResultFormat::Jest),
            advice: "`jest --json --outputFile=\"$TM_RESULTS\"`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "mocha",
        tests: "test/**/*.js",
        new_test: "test/{}.test.js",
        package: Some("mocha"),
        settings: &[".mocharc*"],
        runner: Some(Runner {
            started_by: &["mocha"],
            others: &[ResultFormat::Tap],
            choices: OF_JAVASCRIPT,
            arguments: &[
                "--reporter",
                "xunit",
                "--reporter-options",
                "output={file},suiteName={name}",
            ],
            report: Report::NamedFile(ResultFormat::Junit),
            advice: "`mocha --reporter xunit --reporter-options output=\"$TM_RESULTS\"`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "node:test",
        tests: "**/*.test.js",
        new_test: "test/{}.test.js",
        package: Some("node --test"),
        files: &["package.json"],
        load_errors: Some(javascript::find),
        runner: Some(Runner {
            started_by: &["node * --test", "tsx * --test"],
            others: &[ResultFormat::Junit, ResultFormat::Node],
            choices: &["--test-reporter"],
            // The text is for people.
            variable: Variable::Options(
                "NODE_OPTIONS",
                "--test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap \
                 --test-reporter-destination=\"{file}\"",
            ),
            report: Report::File(ResultFormat::Tap),
            advice: "`node --test --test-reporter=tap`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "bun test",
        tests: "**/*.test.ts",
        new_test: "src/{}.test.ts",
        package: Some("bun test"),
        load_errors: Some(bun::find),
        runner: Some(Runner {
            started_by: &["bun test"],
            choices: &["--reporter"],
            arguments: &["--reporter=junit", "--reporter-outfile={file}"],
            report: Report::File(ResultFormat::Junit),
            advice: "`bun test --reporter=junit --reporter-outfile=\"$TM_RESULTS\"`",
            ..RUNNER
        }),
        ..NONE
    },
    Framework {
        name: "phpunit",
        tests: "tests/**/*Test.php",
        new_test: "tests/{}Test.php",
        files: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
        settings: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
        ..NONE
    },
    Framework {
        name: "tap",
        tests: "t/**/*.t",
        new_test: "t/{}.t",
        files: &["t"],
        settings: &[".taprc"],
        load_errors: Some(tap::find),
        ..NONE
    },
];

const OF_JAVASCRIPT: &[&str] = &["--reporter", "--json", "outputFile", "-R", "-O"];

/// Returns the framework that the files of a project tell of: those that its `package.json` names come first.
pub fn framework_of(root: &Path) -> Option<&'static Framework> {
    let package = super::text_of(root, "package.json").unwrap_or_default();
    let is_named = |row: &&Framework| row.package.is_some_and(|word| package.contains(word));
    let is_there = |row: &&Framework| row.files.iter().any(|name| root.join(name).exists());
    FRAMEWORKS
        .iter()
        .find(is_named)
        .or_else(|| FRAMEWORKS.iter().find(is_there))
}

impl Runner {
    /// Returns the formats in which it can write when it is told to.
    pub(super) fn formats(&self) -> impl Iterator<Item = ResultFormat> {
        std::iter::once(self.report.format()).chain(self.others.iter().copied())
    }

    /// Tells whether a call that begins with these words starts it.
    pub(super) fn is_started_by(&self, words: &[String]) -> bool {
        self.started_by
            .iter()
            .any(|pattern| matches(pattern, words))
    }
}

fn matches(pattern: &str, words: &[String]) -> bool {
    let (mut parts, mut words) = (pattern.split(' '), words.iter().map(String::as_str));
    if parts.next() != words.next().map(name_in) {
        return false;
    }
    while let Some(part) = parts.next() {
        let is_there = match part {
            "?" => words.next().is_some(),
            "*" => parts
                .next()
                .is_some_and(|wanted| words.any(|word| word == wanted)),
            wanted => words.next() == Some(wanted),
        };
        if !is_there {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Closure, RunnerFile, runner_file};
    use tm_scheduler::verdict::is_test_path;

    #[test]
    fn every_row_is_complete() {
        let mut names: Vec<&str> = FRAMEWORKS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FRAMEWORKS.len(), "each has a name of its own");
        for row in &FRAMEWORKS {
            assert!(
                is_test_path(&row.new_test.replace("{}", "x")) && !row.tests.is_empty(),
                "{row:?}"
            );
            for setting in row.settings {
                let name = setting.replace('*', "x");
                assert_eq!(
                    runner_file(&name, &Closure::default()),
                    RunnerFile::Whole,
                    "{row:?}"
                );
            }
            let Some(runner) = &row.runner else { continue };
            assert!(
                runner.report.format() != ResultFormat::Auto
                    && !runner.choices.is_empty()
                    && runner.advice.starts_with('`'),
                "{row:?}"
            );
            for pattern in runner.started_by {
                let words: Vec<String> = pattern.split(' ').map(ToOwned::to_owned).collect();
                let started = FRAMEWORKS.iter().filter(|row| {
                    row.runner
                        .as_ref()
                        .is_some_and(|runner| runner.is_started_by(&words))
                });
                assert_eq!(
                    started.map(|row| row.name).collect::<Vec<_>>(),
                    [row.name],
                    "{pattern}"
                );
            }
        }
    }

    #[test]
    fn frameworks_are_told_by_the_files_of_the_project() {
        let cases = [
            (
                "package.json",
                r#"{"devDependencies":{"vitest":"1"}}"#,
                "vitest",
            ),
            (
                "package.json",
                r#"{"scripts":{"test":"node --test"}}"#,
                "node:test",
            ),
            ("Cargo.toml", "", "cargo test"),
            ("pyproject.toml", "", "pytest"),
            ("go.mod", "", "go test"),
            ("notes", "", ""),
        ];
        for (name, text, expected) in cases {
            let root = tempfile::tempdir().unwrap();
            std::io::Write::write_all(
                &mut std::fs::File::create(root.path().join(name)).unwrap(),
                text.as_bytes(),
            )
            .unwrap();
            assert_eq!(
                framework_of(root.path()).map_or("", |row| row.name),
                expected,
                "{name}"
            );
        }
    }
}
