//! The table of test frameworks, a row each.

use super::{Framework, NONE, RUNNER, Runner, Variable};
use crate::testing::asking::{Report, stops_early};
use crate::testing::detect::{RULE, Rule, mentions};
use crate::testing::formats::rspec;
use crate::testing::has;
use crate::testing::load_errors::{bun, compiled, javascript, python, rust, tap};
use std::path::Path;
use tm_scheduler::ResultFormat;

/// Every framework, in the order in which the files of a project tell of them.
pub(in crate::testing) static FRAMEWORKS: [Framework; 16] = [
    Framework {
        name: "cargo test",
        tests: "tests/**/*.rs",
        new_test: "tests/{}.rs",
        detected_by: &[Rule {
            files: &["Cargo.toml"],
            tells: |root, _| !has_nextest(root),
            command: "cargo test --no-fail-fast",
            format: ResultFormat::Cargo,
            ..RULE
        }],
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
        detected_by: &[Rule {
            files: &[".config/nextest.toml"],
            tells: |root, _| has(root, "Cargo.toml") && has_nextest(root),
            command: "cargo nextest run --no-fail-fast",
            format: ResultFormat::Nextest,
            ..RULE
        }],
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
        name: "pytest",
        tests: "**/test_*.py",
        new_test: "tests/test_{}.py",
        detected_by: &[Rule {
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
        }],
        files: &["pyproject.toml", "setup.cfg", "tox.ini"],
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
        detected_by: &[
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
        ],
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
        name: "go test",
        tests: "**/*_test.go",
        new_test: "{}_test.go",
        detected_by: &[Rule {
            files: &["go.mod"],
            command: "go test -json ./...",
            format: ResultFormat::Go,
            ..RULE
        }],
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
        detected_by: &[
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
        ],
        ..NONE
    },
    Framework {
        name: "phpunit",
        tests: "tests/**/*Test.php",
        new_test: "tests/{}Test.php",
        detected_by: &[Rule {
            files: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
            command: "{} --log-junit \"$TM_RESULTS\"",
            programs: &[
                ("composer.json", "phpunit/phpunit", "vendor/bin/phpunit"),
                ("composer.lock", "phpunit/phpunit", "vendor/bin/phpunit"),
            ],
            otherwise: "phpunit",
            format: ResultFormat::Junit,
            ..RULE
        }],
        settings: &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"],
        ..NONE
    },
    Framework {
        name: "rspec",
        tests: "spec/**/*_spec.rb",
        new_test: "spec/{}_spec.rb",
        detected_by: &[Rule {
            files: &[".rspec", "spec/*_spec.rb"],
            because: Some("spec/"),
            command: "{}rspec",
            programs: &[("Gemfile.lock", "", "bundle exec ")],
            ..RULE
        }],
        settings: &[".rspec"],
        load_errors: Some(rspec::find_load_errors),
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
        name: "dotnet test",
        tests: "**/*Tests.cs",
        new_test: "tests/{}Tests.cs",
        detected_by: &[Rule {
            files: &["*.sln", "*.slnx", "*.csproj", "*.fsproj"],
            because: Some("a project of .NET"),
            command: "dotnet test --no-restore",
            format: ResultFormat::ExitStatus,
            ..RULE
        }],
        ..NONE
    },
    Framework {
        name: "swift test",
        tests: "Tests/**/*.swift",
        new_test: "Tests/{}Tests.swift",
        detected_by: &[Rule {
            files: &["Package.swift"],
            command: "swift test --parallel --xunit-output \"$TM_RESULTS\"",
            format: ResultFormat::Junit,
            ..RULE
        }],
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

fn has_nextest(root: &Path) -> bool {
    has(root, ".config/nextest.toml") && which::which("cargo-nextest").is_ok()
}
