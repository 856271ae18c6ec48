//! A branch name that git accepts.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest part of a name between slashes: a file name of 255 bytes, less `.lock`.
pub(crate) const LONGEST_PART: usize = 250;

/// The name of a local branch without `refs/heads/`, valid by git's rules.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

impl BranchName {
    /// Checks the name by the rules of `git check-ref-format --branch`.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        match broken_rule(&name) {
            Some(why) => Err(Error::BranchName { name, why }),
            None => Ok(Self(name)),
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the full name of the reference.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl TryFrom<String> for BranchName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(name)
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.0
    }
}

/// Tells whether a character may stand in a branch name.
pub(crate) fn is_allowed(character: char) -> bool {
    !character.is_control() && !" ~^:?*[\\".contains(character)
}

fn broken_rule(name: &str) -> Option<&'static str> {
    let has_meaning = name.contains("..") || name.contains("@{") || !name.chars().all(is_allowed);
    let rules = [
        (name.is_empty(), "it is empty"),
        (
            matches!(name, "@" | "HEAD"),
            "the word has a meaning of its own",
        ),
        (name.starts_with('-'), "it begins with `-`"),
        (
            has_meaning,
            "it holds something that has a meaning in revisions",
        ),
        (name.ends_with('.'), "it ends with a period"),
    ];
    first_broken(&rules).or_else(|| name.split('/').find_map(broken_part))
}

fn broken_part(part: &str) -> Option<&'static str> {
    let is_lock = part.to_ascii_lowercase().ends_with(".lock");
    let is_long = part.len() > LONGEST_PART;
    first_broken(&[
        (
            part.is_empty(),
            "nothing stands before, after or between slashes",
        ),
        (part.starts_with('.'), "a part begins with a period"),
        (is_lock, "a part ends with `.lock`"),
        (is_long, "a part is longer than a file name may be"),
    ])
}

fn first_broken(rules: &[(bool, &'static str)]) -> Option<&'static str> {
    let broken = rules.iter().find(|(is_broken, _)| *is_broken);
    broken.map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use crate::git::Git;

    /// Names on both sides of every rule.
    const NAMES: [&str; 33] = [
        "a",
        "a/b",
        "tm/master/task-1.2-x",
        "ünïcode",
        "-a",
        "a-",
        "a/-b",
        ".a",
        "a/.b",
        "a.",
        "a./b",
        "a..b",
        "a b",
        "a~b",
        "a^b",
        "a:b",
        "a?b",
        "a*b",
        "a[b",
        "a\\b",
        "a@{b",
        "a@b",
        "a/@",
        "HEAD",
        "a//b",
        "/a",
        "a/",
        "a.lock",
        "a.lock/b",
        "a\u{7f}b",
        "a\nb",
        "a'b\"c",
        "{a}",
    ];

    #[test]
    fn names_are_judged_as_git_judges_them() {
        for name in NAMES {
            let git = Git::new(&Environment::default(), std::path::Path::new("/"))
                .line("check-ref-format --branch")
                .arg(name)
                .answer()
                .expect("git runs");
            assert_eq!(BranchName::new(name).is_ok(), git.code == 0, "`{name}`");
        }
    }

    #[test]
    fn refused_name_says_which_rule_it_breaks() {
        let error = BranchName::new("a.lock").expect_err("invalid");
        assert_eq!(
            error.to_string(),
            "use `a.lock` as a branch name: a part ends with `.lock`"
        );
    }
}
