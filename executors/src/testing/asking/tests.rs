//! How runners are asked for their own reports, command by command.

use super::*;
use crate::environment::EnvironmentRules;

/// What becomes of a command: its text, its variables, and what is expected of it.
fn asked(
    text: &str,
    format: ResultFormat,
    files: &[(&str, &str)],
) -> (String, Vec<String>, Expected) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let added = [("PYTEST_ADDOPTS".to_owned(), Some("-q".to_owned()))].into();
    let rules = EnvironmentRules {
        added,
        ..EnvironmentRules::default()
    };
    let environment = CommandEnvironment::fresh(&rules).expect("an environment");
    let command = TestCommand {
        format,
        ..TestCommand::shell(text, None)
    };
    let asked = ask(&command, folder.path(), &environment, Path::new("/n/f"));
    let variables = asked
        .variables
        .iter()
        .map(|(name, value)| format!("{}={}", name.display(), value.display()));
    (
        TestCommand {
            argv: asked.argv,
            ..command
        }
        .to_string(),
        variables.collect(),
        asked.expected,
    )
}

fn auto(text: &str) -> (String, Vec<String>, Expected) {
    asked(text, ResultFormat::Auto, &[])
}

#[test]
fn runners_are_asked_by_variables_where_they_read_them() {
    let (text, variables, expected) = auto("cd . && uv run pytest -q tests | tee log");
    assert_eq!(text, "cd . && uv run pytest -q tests | tee log");
    assert_eq!(
        variables,
        [
            "PYTEST_ADDOPTS=-q --continue-on-collection-errors --maxfail=0 --junitxml='/n/f' -o junit_suite_name=n"
        ]
    );
    assert_eq!(
        expected,
        Expected::Asked(Report::NamedFile(ResultFormat::Junit))
    );
    assert_eq!(
        auto("python3 -m pytest -xq").0,
        "python3 -m pytest -xq --maxfail=0"
    );
    let (_, variables, expected) = auto("bundle exec rspec --fail-fast");
    assert_eq!(
        variables,
        ["SPEC_OPTS=--no-fail-fast --format progress --format json --out '/n/f'"]
    );
    assert_eq!(expected, Expected::Asked(Report::File(ResultFormat::Rspec)));
    let (_, variables, expected) = auto("node --test test/*.js");
    assert!(variables[0].starts_with("NODE_OPTIONS="), "{variables:?}");
    assert_eq!(expected, Expected::Asked(Report::File(ResultFormat::Tap)));
}

#[test]
fn runners_are_asked_by_arguments_where_these_reach_them() {
    let package = [(
        "package.json",
        r#"{"scripts":{"test":"tsc && jest","unit":"mocha","e":"vitest; x"}}"#,
    )];
    let of = |text: &str| asked(text, ResultFormat::Auto, &package);
    let report = Expected::Asked(Report::File(ResultFormat::Jest));
    let (text, _, expected) = of("npm test --silent");
    assert_eq!(
        (text.as_str(), expected),
        (
            "npm test --silent -- --json --outputFile=/n/f",
            report.clone()
        )
    );
    let (text, _, expected) = of("CI=1 npx vitest");
    assert_eq!(
        (text.as_str(), expected),
        (
            "CI=1 npx vitest --run --reporter=json --outputFile=/n/f",
            report
        )
    );
    assert_eq!(
        of("pnpm unit").0,
        "pnpm unit --reporter xunit --reporter-options output=/n/f,suiteName=n"
    );
    assert_eq!(
        of("bun test").0,
        "bun test --reporter=junit --reporter-outfile=/n/f"
    );
    assert_eq!(of("go test ./...").0, "go test ./... -json");
    assert_eq!(of("go test -v ./...").0, "go test -v ./...");
    assert_eq!(of("python -m unittest").0, "python -m unittest -v");
    // Nothing reaches it: what it can write is looked for, and nothing else.
    let formats = vec![ResultFormat::Jest, ResultFormat::Junit, ResultFormat::Tap];
    assert_eq!(
        of("npm run e"),
        ("npm run e".to_owned(), Vec::new(), Expected::OneOf(formats))
    );
}

#[test]
fn what_is_printed_is_read_as_what_the_runner_prints() {
    assert_eq!(
        auto("cargo +nightly test --all").2,
        Expected::Asked(Report::Printed(ResultFormat::Cargo))
    );
    let (_, variables, expected) = auto("cargo nextest run");
    assert_eq!(
        (variables[0].as_str(), expected),
        (
            "NEXTEST_STATUS_LEVEL=pass",
            Expected::Asked(Report::Printed(ResultFormat::Nextest))
        )
    );
}

#[test]
fn a_choice_of_the_user_stands() {
    for text in [
        "pytest --junitxml=out.xml",
        "jest --json > x",
        "node --test --test-reporter=tap",
        "mocha -R tap",
    ] {
        let (same, variables, expected) = auto(text);
        assert_eq!((same.as_str(), variables), (text, Vec::new()));
        assert!(
            matches!(expected, Expected::OneOf(formats) if formats.len() < 5),
            "{text}"
        );
    }
    let (_, variables, expected) = asked("pytest -v", ResultFormat::Pytest, &[]);
    assert_eq!(
        (variables, expected),
        (Vec::new(), Expected::OneOf(vec![ResultFormat::Pytest]))
    );
    let written = r#"npx jest --x="$TM_RESULTS""#;
    assert_eq!(auto(written).0, written);
}

#[test]
fn a_reporter_for_people_is_no_choice() {
    for (text, report) in [
        ("mocha --reporter spec test/", ResultFormat::Junit),
        ("mocha -R dot", ResultFormat::Junit),
        ("vitest run --reporter=verbose", ResultFormat::Jest),
        ("jest --reporters=default", ResultFormat::Jest),
    ] {
        let (asked, _, expected) = auto(text);
        assert!(asked.starts_with(text) && asked.contains("/n/f"), "{asked}");
        assert!(
            matches!(&expected, Expected::Asked(asked) if asked.format() == report),
            "{text}: {expected:?}"
        );
    }
}

#[test]
fn names_of_runners_that_are_mere_words_and_several_runners_are_left_alone() {
    for text in [
        "git commit -m pytest",
        "docker compose run app pytest",
        "echo jest",
        "tox",
        "sh missing.sh",
    ] {
        assert_eq!(
            auto(text).2,
            Expected::OneOf(vec![ResultFormat::Auto]),
            "{text}"
        );
    }
    let formats = vec![
        ResultFormat::Cargo,
        ResultFormat::Junit,
        ResultFormat::Pytest,
    ];
    assert_eq!(
        auto("cargo test && pytest"),
        (
            "cargo test && pytest".to_owned(),
            Vec::new(),
            Expected::OneOf(formats)
        )
    );
}
