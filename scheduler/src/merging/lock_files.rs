//! The files that package managers write, and how each is written again: one table.

/// A file that a package manager writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LockFile {
    /// Its name.
    pub name: &'static str,
    /// The command for `sh`, run in its folder, that makes it what the manifests ask for and changes nothing else. It
    /// starts from the file as it has landed, so that what nobody asked for stays as it is.
    pub command: &'static str,
}

const LOCK_FILES: [LockFile; 17] = [
    LockFile {
        name: "Cargo.lock",
        command: "cargo update --workspace --quiet",
    },
    LockFile {
        name: "Gemfile.lock",
        command: "bundle lock",
    },
    LockFile {
        name: "Package.resolved",
        command: "swift package resolve",
    },
    // Pipenv has no way to lock what is new alone, and keeps its environment in the home of the command.
    LockFile {
        name: "Pipfile.lock",
        command: "pipenv lock",
    },
    LockFile {
        name: "bun.lock",
        command: BUN,
    },
    LockFile {
        name: "bun.lockb",
        command: BUN,
    },
    LockFile {
        name: "composer.lock",
        command: "composer update --lock --no-install --no-scripts --no-interaction --quiet",
    },
    LockFile {
        name: "go.sum",
        command: "go mod tidy",
    },
    LockFile {
        name: "mix.lock",
        command: "mix deps.get",
    },
    LockFile {
        name: "npm-shrinkwrap.json",
        command: NPM,
    },
    LockFile {
        name: "package-lock.json",
        command: NPM,
    },
    LockFile {
        name: "packages.lock.json",
        command: "dotnet restore",
    },
    LockFile {
        name: "pdm.lock",
        command: "pdm lock --update-reuse",
    },
    LockFile {
        name: "pnpm-lock.yaml",
        command: "pnpm install --lockfile-only --ignore-scripts",
    },
    LockFile {
        name: "poetry.lock",
        command: "poetry lock --no-interaction",
    },
    LockFile {
        name: "uv.lock",
        command: "uv lock",
    },
    LockFile {
        name: "yarn.lock",
        command: "if grep -q '^__metadata:' yarn.lock; then yarn install --mode=update-lockfile; \
                  else yarn install --ignore-scripts --non-interactive; fi",
    },
];

const BUN: &str = "bun install --lockfile-only --ignore-scripts";
const NPM: &str = "npm install --package-lock-only --ignore-scripts --no-audit --no-fund";

/// Returns what is known of a path that is a lock file.
pub fn lock_file(path: &str) -> Option<&'static LockFile> {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.iter().find(|lock| lock.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_are_known_by_their_names_in_any_folder_and_are_never_joined_by_lines() {
        assert_eq!(
            lock_file("web/package-lock.json").map(|lock| lock.name),
            Some("package-lock.json")
        );
        assert_eq!(lock_file("my-Cargo.lock"), None);
        assert!(
            LOCK_FILES
                .iter()
                .all(|lock| !super::super::is_joined_by_lines(lock.name))
        );
        assert!(
            LOCK_FILES
                .windows(2)
                .all(|pair| pair[0].name < pair[1].name),
            "in order, each once"
        );
    }
}
