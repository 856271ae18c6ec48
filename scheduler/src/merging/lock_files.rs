//! The files that package managers write, and how each is written again: one table.

use crate::named_files::file_name;

/// Files that package managers write, each with the command for `sh`, run in its folder, that makes it what the manifests
/// ask for and changes nothing else. It starts from the file as it has landed, so that what nobody asked for stays as it
/// is.
const LOCK_FILES: [(&str, &str); 17] = [
    ("Cargo.lock", "cargo update --workspace --quiet"),
    ("Gemfile.lock", "bundle lock"),
    ("Package.resolved", "swift package resolve"),
    // Pipenv has no way to lock what is new alone, and keeps its environment in the home of the command.
    ("Pipfile.lock", "pipenv lock"),
    ("bun.lock", BUN),
    ("bun.lockb", BUN),
    (
        "composer.lock",
        "composer update --lock --no-install --no-scripts --no-interaction --quiet",
    ),
    ("go.sum", "go mod tidy"),
    ("mix.lock", "mix deps.get"),
    ("npm-shrinkwrap.json", NPM),
    ("package-lock.json", NPM),
    ("packages.lock.json", "dotnet restore"),
    ("pdm.lock", "pdm lock --update-reuse"),
    (
        "pnpm-lock.yaml",
        "pnpm install --lockfile-only --ignore-scripts",
    ),
    ("poetry.lock", "poetry lock --no-interaction"),
    ("uv.lock", "uv lock"),
    (
        "yarn.lock",
        "if grep -q '^__metadata:' yarn.lock; then yarn install --mode=update-lockfile; \
                  else yarn install --ignore-scripts --non-interactive; fi",
    ),
];

const BUN: &str = "bun install --lockfile-only --ignore-scripts";
const NPM: &str = "npm install --package-lock-only --ignore-scripts --no-audit --no-fund";

/// Returns the command that makes a lock file again, for a path that is one.
pub fn lock_file(path: &str) -> Option<&'static str> {
    let name = file_name(path);
    LOCK_FILES
        .iter()
        .find_map(|(lock, command)| (*lock == name).then_some(*command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_are_known_by_their_names_in_any_folder_and_are_never_joined_by_lines() {
        assert_eq!(lock_file("web/package-lock.json"), Some(NPM));
        assert_eq!(lock_file("my-Cargo.lock"), None);
        assert!(
            LOCK_FILES
                .iter()
                .all(|lock| !super::super::is_joined_by_lines(lock.0))
        );
        assert!(
            LOCK_FILES.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "in order, each once"
        );
    }
}
