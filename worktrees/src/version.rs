//! Checks that the `git` program is there and new enough.

use crate::git::Git;
use crate::{Environment, Error, Result};
use std::fmt;
use std::path::Path;

/// The first version with `merge-tree --write-tree`.
const NEEDED: GitVersion = GitVersion {
    major: 2,
    minor: 38,
};

/// The version of the `git` program.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct GitVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl fmt::Display for GitVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// Returns the version of git that is run in a checkout, or an error when there is none or it is too old.
pub fn check_git(start: &Path) -> Result<GitVersion> {
    accept(
        &Git::new(&Environment::default().around(start), Path::new("."))
            .arg("--version")
            .text()?,
    )
}

fn accept(text: &str) -> Result<GitVersion> {
    match parse(text) {
        Some(version) if version >= NEEDED => Ok(version),
        _ => Err(Error::GitTooOld {
            found: text.trim_start_matches("git version ").to_owned(),
            needed: NEEDED.to_string(),
        }),
    }
}

fn parse(text: &str) -> Option<GitVersion> {
    let mut numbers = text.strip_prefix("git version ")?.split('.');
    let major = numbers.next()?.parse().ok()?;
    let digits: String = numbers
        .next()?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Some(GitVersion {
        major,
        minor: digits.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_git_is_accepted() {
        assert!(check_git(Path::new(".")).expect("git is installed") >= NEEDED);
    }

    #[test]
    fn version_is_read_in_every_spelling() {
        for text in [
            "git version 2.47.3",
            "git version 2.39.5 (Apple Git-154)",
            "git version 2.50-rc1",
            "git version 3.0",
        ] {
            assert!(accept(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn old_git_is_named_together_with_the_needed_version() {
        let error = accept("git version 2.34.1").expect_err("too old");
        assert_eq!(
            error.to_string(),
            "use git `2.34.1`: version 2.38 or later is needed"
        );
        assert!(accept("not git at all").is_err());
    }
}
