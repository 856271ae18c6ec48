//! Python: every way of installing packages leaves an environment in `.venv`, and the tests are run by its interpreter.

use super::FoundTool;
use crate::testing::{has, text_of};
use std::path::Path;

/// The interpreter of a checkout's environment.
const INTERPRETER: &str = ".venv/bin/python";
/// Tools with a lock file.
const LOCKED: [&str; 4] = ["uv", "Poetry", "PDM", "Pipenv"];
/// Lists of packages, in the order in which they are installed.
const LISTS: &str = "requirements.txt requirements-dev.txt requirements-test.txt requirements_dev.txt requirements_test.txt \
    dev-requirements.txt test-requirements.txt requirements/dev.txt requirements/test.txt \
    requirements/tests.txt";
/// Groups of packages that are needed to work on a project.
const GROUPS: [&str; 5] = ["dev", "develop", "test", "tests", "testing"];
/// Files that say that pytest runs the tests.
const OF_PYTEST: [&str; 3] = ["pytest.ini", "conftest.py", "tests/conftest.py"];

/// Adds how packages are installed without a lock file; tells whether there is an environment with packages.
pub(super) fn add(root: &Path, found: &mut Vec<FoundTool>) -> bool {
    if found.iter().any(|tool| LOCKED.contains(&tool.name)) {
        return true;
    }
    let before = found.len();
    found.extend(unlocked(root));
    found.len() > before
}

fn unlocked(root: &Path) -> Option<FoundTool> {
    let lists: Vec<&str> = LISTS
        .split_whitespace()
        .filter(|name| has(root, name))
        .collect();
    let (file, mut arguments) = match lists.first() {
        Some(first) => (
            *first,
            lists
                .iter()
                .map(|name| format!("-r {name}"))
                .collect::<Vec<_>>(),
        ),
        None => ("pyproject.toml", of_project(root)?),
    };
    let mentions = |name: &str| text_of(root, name).is_some_and(|text| text.contains("pytest"));
    let wants_pytest = OF_PYTEST.iter().any(|name| has(root, name)) || mentions("pyproject.toml");
    let installs_pytest =
        lists.iter().any(|name| mentions(name)) || arguments.iter().any(|word| word.contains('['));
    if wants_pytest && !installs_pytest && !arguments.iter().any(|word| word.contains("pytest")) {
        arguments.push("pytest".to_owned());
    }
    let install = format!(
        "{INTERPRETER} -m pip install --quiet {}",
        arguments.join(" ")
    );
    Some(FoundTool {
        name: "pip",
        file: file.to_owned(),
        setup: Some(format!("python3 -m venv .venv && {install}")),
        program: "python3",
        cache: Vec::new(),
    })
}

/// The arguments that install a project by its manifest, with the groups for working on it; `None` where it depends on
/// nothing.
fn of_project(root: &Path) -> Option<Vec<String>> {
    let manifest = tm_untrusted::toml_table(&text_of(root, "pyproject.toml")?)?;
    let project = manifest.get("project")?.as_table()?;
    let extras: Vec<&str> = GROUPS
        .into_iter()
        .filter(|group| {
            project
                .get("optional-dependencies")
                .is_some_and(|extras| extras.get(*group).is_some())
        })
        .collect();
    let groups = manifest.get("dependency-groups");
    let listed = |group: &str| {
        groups
            .and_then(|groups| groups.get(group))
            .and_then(toml::Value::as_array)
    };
    let packages: Vec<String> = GROUPS
        .into_iter()
        .filter_map(listed)
        .flatten()
        .filter_map(toml::Value::as_str)
        .map(|package| format!("'{}'", package.replace('\'', "\"")))
        .collect();
    let depends = project
        .get("dependencies")
        .and_then(toml::Value::as_array)
        .is_some_and(|all| !all.is_empty());
    if extras.is_empty() && packages.is_empty() && !depends {
        return None;
    }
    let own = if extras.is_empty() {
        "-e .".to_owned()
    } else {
        format!("-e '.[{}]'", extras.join(","))
    };
    Some(std::iter::once(own).chain(packages).collect())
}

/// Has a test command run by the interpreter that finds the packages.
pub(super) fn in_its_environment(command: &str) -> String {
    let rest = ["python3 -m ", "uv run ", "poetry run "]
        .into_iter()
        .find_map(|start| command.strip_prefix(start));
    rest.map_or_else(
        || command.to_owned(),
        |rest| format!("{INTERPRETER} -m {rest}"),
    )
}
