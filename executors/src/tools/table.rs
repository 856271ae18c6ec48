//! Which file tells of which tool, and what it is told to do in a new checkout.

use super::FoundTool;
use crate::testing::{has, matching, package_of, text_of};
use std::path::Path;

/// One tool.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Any of these tells of it; they may have wildcards.
    files: &'static [&'static str],
    /// Installs exactly what the lock file says.
    pub(super) setup: Option<&'static str>,
    program: &'static str,
    /// Where it keeps what it built.
    cache: &'static [&'static str],
    /// Of those with the same word, the first counts.
    one_of: &'static str,
}

const fn row(
    name: &'static str,
    files: &'static [&'static str],
    setup: &'static str,
    program: &'static str,
    one_of: &'static str,
) -> Row {
    Row {
        name,
        files,
        setup: Some(setup),
        program,
        cache: &[],
        one_of,
    }
}

/// Every tool with a file of its own.
pub(super) static TABLE: [Row; 19] = [
    row(
        "pnpm",
        &["pnpm-lock.yaml"],
        "pnpm install --frozen-lockfile",
        "pnpm",
        "javascript",
    ),
    row("Yarn", &[".yarnrc.yml"], NEW_YARN, "yarn", "javascript"),
    row(
        "Yarn",
        &["yarn.lock"],
        "yarn install --frozen-lockfile",
        "yarn",
        "javascript",
    ),
    row(
        "Bun",
        &["bun.lock", "bun.lockb"],
        "bun install --frozen-lockfile",
        "bun",
        "javascript",
    ),
    row(
        "npm",
        &["package-lock.json", "npm-shrinkwrap.json"],
        "npm ci",
        "npm",
        "javascript",
    ),
    row(
        "npm",
        &["package.json"],
        "npm install --no-package-lock",
        "npm",
        "javascript",
    ),
    Row {
        cache: &["/target"],
        ..row(
            "Cargo",
            &["Cargo.lock"],
            "cargo fetch --locked",
            "cargo",
            "rust",
        )
    },
    Row {
        setup: None,
        cache: &["/target"],
        ..row("Cargo", &["Cargo.toml"], "", "cargo", "rust")
    },
    row("Go", &["go.sum"], "go mod download", "go", "go"),
    row(
        "Bundler",
        &["Gemfile.lock"],
        "bundle install",
        "bundle",
        "ruby",
    ),
    row(
        "Composer",
        &["composer.lock"],
        "composer install --no-interaction",
        "composer",
        "php",
    ),
    Row {
        setup: None,
        ..row("Maven", &["pom.xml"], "", "mvn", "jvm")
    },
    Row {
        setup: None,
        ..row(
            "Gradle",
            &["build.gradle", "build.gradle.kts"],
            "",
            "gradle",
            "jvm",
        )
    },
    row(
        ".NET",
        &["*.sln", "*.slnx", "*.csproj", "*.fsproj"],
        "dotnet restore",
        "dotnet",
        "dotnet",
    ),
    row(
        "Swift",
        &["Package.swift"],
        "swift package resolve",
        "swift",
        "swift",
    ),
    row("uv", &["uv.lock"], "uv sync --locked", "uv", "python"),
    row(
        "Poetry",
        &["poetry.lock"],
        "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction",
        "poetry",
        "python",
    ),
    // The interpreter that it remembers may be one of the user's own checkout.
    row(
        "PDM",
        &["pdm.lock"],
        "PDM_IGNORE_SAVED_PYTHON=1 pdm sync",
        "pdm",
        "python",
    ),
    row(
        "Pipenv",
        &["Pipfile.lock"],
        "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev",
        "pipenv",
        "python",
    ),
];

/// Returns the tools of a project, in the order of the table.
pub(super) fn found(root: &Path) -> Vec<FoundTool> {
    let mut found: Vec<(&str, FoundTool)> = Vec::new();
    for row in &TABLE {
        let is_known = found.iter().any(|(one_of, _)| *one_of == row.one_of);
        let Some(file) = row
            .files
            .iter()
            .find_map(|file| named(root, file))
            .filter(|_| !is_known)
        else {
            continue;
        };
        if file == "package.json" && !depends_on_anything(root) {
            continue;
        }
        let wrapper = [("Maven", "mvnw"), ("Gradle", "gradlew")]
            .into_iter()
            .find(|(name, _)| *name == row.name);
        let program = wrapper
            .filter(|(_, file)| has(root, file))
            .map_or(row.program, |_| "sh");
        let setup = row.setup.map(|setup| {
            if is_of_new_yarn(root, &file) {
                NEW_YARN
            } else {
                setup
            }
            .to_owned()
        });
        let cache = row.cache.to_vec();
        found.push((
            row.one_of,
            FoundTool {
                name: row.name,
                file,
                setup,
                program,
                cache,
            },
        ));
    }
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// How Yarn is told since its second version, which refuses what the first was told.
const NEW_YARN: &str = "yarn install --immutable";

/// The lock files of the second version on say so themselves; settings there need not be.
fn is_of_new_yarn(root: &Path, file: &str) -> bool {
    file == "yarn.lock" && text_of(root, file).is_some_and(|text| text.contains("__metadata:"))
}

/// The name of a file that is there.
fn named(root: &Path, file: &str) -> Option<String> {
    let path = matching(root, file).into_iter().next()?;
    path.file_name()?.to_str().map(ToOwned::to_owned)
}

fn depends_on_anything(root: &Path) -> bool {
    let package = package_of(root);
    let has = |key: &str| package[key].as_object().is_some_and(|all| !all.is_empty());
    ["dependencies", "devDependencies", "workspaces"]
        .into_iter()
        .any(has)
}
