//! Finds what a project is built with, by its files, and says how a checkout of it is made ready.
//!
//! One table (`table.rs`); Python, whose packages lie in an environment of each checkout, has a file of its own. Runs
//! nothing, and does not know what the commands cost on this machine.

mod python;
mod table;

use crate::testing::detect_test_command;
use std::path::Path;

/// How checkouts of a project are made ready, and how it is tested.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Proposal {
    /// What was found.
    pub found: Vec<FoundTool>,
    /// The command of the tests, and what it was found by.
    pub tests: Option<(String, String)>,
    /// Where the tests leave their results, when they don't write them where they are told to.
    pub results: Option<String>,
    /// Ignored files of the checkout that worktrees may need, as patterns.
    pub copy: Vec<&'static str>,
}

/// A tool with the file that it was found by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundTool {
    /// What people call it.
    pub name: &'static str,
    /// The file that tells of it.
    pub file: String,
    /// The command that fetches and installs what the project depends on, if any is needed.
    pub setup: Option<String>,
    /// The program that has to be there for it.
    pub program: &'static str,
    /// Ignored folders in which it keeps what it built, as patterns.
    pub cache: Vec<&'static str>,
}

/// Files with settings of a machine, which git ignores.
const OF_MACHINE: [&str; 6] = [
    ".env",
    ".env.local",
    ".env.test",
    ".env.test.local",
    ".npmrc.local",
    ".envrc",
];

/// Looks at the files in `root`.
pub fn propose(root: &Path) -> Proposal {
    let mut found = table::found(root);
    let is_python = python::add(root, &mut found);
    let detected = detect_test_command(root);
    let results = detected
        .as_ref()
        .and_then(|found| found.command.results.clone());
    let tests = detected.map(|found| {
        let command = found.command.to_string();
        let command = if is_python {
            python::in_its_environment(&command)
        } else {
            command
        };
        (command, found.because)
    });
    let copy = OF_MACHINE
        .into_iter()
        .filter(|name| root.join(name).is_file())
        .collect();
    Proposal {
        found,
        tests,
        results,
        copy,
    }
}

impl Proposal {
    /// Returns the commands of the set-up, in their order.
    pub fn setup(&self) -> Vec<String> {
        self.found
            .iter()
            .filter_map(|tool| tool.setup.clone())
            .collect()
    }

    /// Returns the ignored folders with what was built, as patterns.
    pub fn cache(&self) -> Vec<&'static str> {
        self.found
            .iter()
            .flat_map(|tool| tool.cache.iter().copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set-up and the tests of a project with these files.
    fn of(files: &[(&str, &str)]) -> (String, String) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
            std::fs::write(path, text).expect("a file");
        }
        let proposal = propose(folder.path());
        (
            proposal.setup().join("; "),
            proposal
                .tests
                .map_or_else(String::new, |(command, _)| command),
        )
    }

    const PACKAGE: (&str, &str) = (
        "package.json",
        r#"{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"3"}}"#,
    );
    const PYPROJECT: &str = "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"attrs\"]\n\
        [project.optional-dependencies]\ndev = [\"pytest\"]\ndocs = [\"sphinx\"]\n";

    /// Files, the set-up and the tests that follow from them.
    type Ready<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);

    fn are_made_ready(projects: &[Ready<'_>]) {
        for (files, setup, tests) in projects {
            let expected = ((*setup).to_owned(), (*tests).to_owned());
            assert_eq!(of(files), expected, "{files:?}");
        }
    }

    #[test]
    fn projects_of_node_are_made_ready_by_the_tool_of_their_lock_file() {
        are_made_ready(&[
            (
                &[PACKAGE, ("package-lock.json", "{}")],
                "npm ci",
                "npm test --silent",
            ),
            (
                &[PACKAGE],
                "npm install --no-package-lock",
                "npm test --silent",
            ),
            (
                &[PACKAGE, ("pnpm-lock.yaml", "")],
                "pnpm install --frozen-lockfile",
                "pnpm run test",
            ),
            (
                &[PACKAGE, ("yarn.lock", "")],
                "yarn install --frozen-lockfile",
                "yarn run test",
            ),
            (
                &[PACKAGE, ("yarn.lock", ""), (".yarnrc.yml", "")],
                "yarn install --immutable",
                "yarn run test",
            ),
            (
                &[PACKAGE, ("yarn.lock", "__metadata:\n  version: 8\n")],
                "yarn install --immutable",
                "yarn run test",
            ),
            (
                &[PACKAGE, ("bun.lock", "")],
                "bun install --frozen-lockfile",
                "bun run test",
            ),
            (
                &[("package.json", r#"{"scripts":{"test":"node --test"}}"#)],
                "",
                "npm test --silent",
            ),
        ]);
    }

    #[test]
    fn projects_of_python_are_made_ready_in_an_environment_of_their_own() {
        let pytest = ".venv/bin/python -m pytest";
        are_made_ready(&[
            (
                &[("pyproject.toml", PYPROJECT), ("uv.lock", "")],
                "uv sync --locked",
                pytest,
            ),
            (
                &[
                    ("pyproject.toml", "[tool.poetry]\n"),
                    ("poetry.lock", "pytest"),
                    ("pytest.ini", ""),
                ],
                "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction",
                pytest,
            ),
            (
                &[("pdm.lock", ""), ("pytest.ini", "")],
                "PDM_IGNORE_SAVED_PYTHON=1 pdm sync",
                pytest,
            ),
            (
                &[("Pipfile.lock", ""), ("pytest.ini", "")],
                "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
                pytest,
            ),
            (
                &[
                    ("Pipfile", "[dev-packages]\npytest = \"*\"\n"),
                    ("Pipfile.lock", ""),
                    ("tests/test_a.py", ""),
                ],
                "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
                pytest,
            ),
            (
                &[
                    ("requirements.txt", "attrs\n"),
                    ("requirements-dev.txt", "pytest\n"),
                ],
                "python3 -m venv .venv && .venv/bin/python -m pip install --quiet -r requirements.txt -r requirements-dev.txt",
                pytest,
            ),
            (
                &[("requirements.txt", "attrs\n"), ("pytest.ini", "")],
                "python3 -m venv .venv && .venv/bin/python -m pip install --quiet -r requirements.txt pytest",
                pytest,
            ),
            (
                &[("pyproject.toml", PYPROJECT)],
                "python3 -m venv .venv && .venv/bin/python -m pip install --quiet -e '.[dev]'",
                pytest,
            ),
            (
                &[("tests/test_a.py", "")],
                "",
                "python3 -m unittest discover -v -s tests",
            ),
            (
                &[("requirements.txt", "attrs\n"), ("tests/test_a.py", "")],
                "python3 -m venv .venv && .venv/bin/python -m pip install --quiet -r requirements.txt",
                ".venv/bin/python -m unittest discover -v -s tests",
            ),
        ]);
    }

    #[test]
    fn other_projects_are_made_ready_by_their_own_tool() {
        are_made_ready(&[
            (
                &[("Cargo.toml", ""), ("Cargo.lock", "")],
                "cargo fetch --locked",
                "cargo test --no-fail-fast",
            ),
            (
                &[("go.mod", "module x"), ("go.sum", "")],
                "go mod download",
                "go test -json ./...",
            ),
            (
                &[
                    ("Gemfile.lock", "    rspec_junit_formatter (0.6.0)\n"),
                    (".rspec", ""),
                    ("spec/a_spec.rb", ""),
                ],
                "bundle install",
                "bundle exec rspec",
            ),
            (&[("spec/a_spec.rb", "")], "", "rspec"),
            (
                &[("composer.lock", "{}"), ("phpunit.xml", "")],
                "composer install --no-interaction",
                "phpunit --log-junit \"$TM_RESULTS\"",
            ),
            (
                &[
                    ("composer.lock", r#"{"name": "phpunit/phpunit"}"#),
                    ("phpunit.xml.dist", ""),
                ],
                "composer install --no-interaction",
                "vendor/bin/phpunit --log-junit \"$TM_RESULTS\"",
            ),
            (&[("pom.xml", "")], "", "mvn --batch-mode test"),
            (
                &[("pom.xml", ""), ("mvnw", "")],
                "",
                "./mvnw --batch-mode test",
            ),
            (
                &[("build.gradle.kts", ""), ("gradlew", "")],
                "",
                "./gradlew test --continue",
            ),
            (
                &[("a.csproj", "")],
                "dotnet restore",
                "dotnet test --no-restore",
            ),
            (
                &[("Package.swift", "")],
                "swift package resolve",
                "swift test --parallel --xunit-output \"$TM_RESULTS\"",
            ),
            (&[], "", ""),
        ]);
    }

    #[test]
    fn the_lock_files_of_every_tool_can_be_made_again_where_they_conflict() {
        for tool in table::rows()
            .filter(|row| row.setup.is_some())
            .map(|row| row.name)
        {
            let files: &[&str] = match tool {
                "pnpm" => &["pnpm-lock.yaml"],
                "Yarn" => &["yarn.lock"],
                "Bun" => &["bun.lock", "bun.lockb"],
                "npm" => &["package-lock.json", "npm-shrinkwrap.json"],
                "Cargo" => &["Cargo.lock"],
                "Go" => &["go.sum"],
                "Bundler" => &["Gemfile.lock"],
                "Composer" => &["composer.lock"],
                ".NET" => &["packages.lock.json"],
                "Swift" => &["Package.resolved"],
                "uv" => &["uv.lock"],
                "Poetry" => &["poetry.lock"],
                "PDM" => &["pdm.lock"],
                "Pipenv" => &["Pipfile.lock"],
                other => panic!("which lock files does {other} write?"),
            };
            for file in files {
                assert!(
                    tm_scheduler::merging::lock_file(file).is_some(),
                    "{tool}: {file}"
                );
            }
        }
    }

    #[test]
    fn two_tools_in_one_project_are_both_run() {
        let (setup, _) = of(&[
            PACKAGE,
            ("package-lock.json", "{}"),
            ("Cargo.toml", ""),
            ("Cargo.lock", ""),
        ]);
        assert_eq!(setup, "npm ci; cargo fetch --locked");
    }
}
