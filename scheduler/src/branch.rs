//! Names of branches that git accepts, also made from what people wrote: titles, ids and tags, however hostile.

use crate::{NoValue, fill};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest part of a name between slashes: a file name of 255 bytes, less `.lock`.
const LONGEST_PART: usize = 250;

/// The name of a local branch without `refs/heads/`, valid by git's rules.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

/// Why a text is no name of a branch; the text follows "failed to".
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BranchNameError {
    /// It breaks a rule of git's.
    #[error("use `{name}` as a branch name: {why}")]
    Invalid {
        /// The text.
        name: String,
        /// The rule.
        why: &'static str,
    },
    /// The pattern holds a placeholder that nothing fills.
    #[error(transparent)]
    Pattern(#[from] NoValue),
}

impl BranchName {
    /// Checks the name by the rules of `git check-ref-format --branch`.
    ///
    /// # Errors
    /// It breaks one.
    pub fn new(name: impl Into<String>) -> Result<Self, BranchNameError> {
        let name = name.into();
        match broken_rule(&name) {
            Some(why) => Err(BranchNameError::Invalid { name, why }),
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
    type Error = BranchNameError;

    fn try_from(name: String) -> Result<Self, BranchNameError> {
        Self::new(name)
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.0
    }
}

/// Tells whether a character may stand in a branch name.
fn is_allowed(character: char) -> bool {
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

const LONGEST_SLUG: usize = 50;
/// Leaves room for a `-2` behind the longest part.
const LONGEST_FILLED_PART: usize = LONGEST_PART - 50;

/// Returns a title as lowercase words joined by `-`, at most 50 characters; empty when nothing is left of it.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for character in title.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == LONGEST_SLUG {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Fills the placeholders of a pattern like `tm/{tag}/task-{id}-{slug}` and returns a valid name, whatever the values.
///
/// A value never adds a slash; what git forbids becomes `-`, and parts that come out empty vanish.
///
/// # Errors
/// A placeholder has no value, or nothing is left.
pub fn branch_from_pattern(
    pattern: &str,
    values: &[(&str, &str)],
) -> Result<BranchName, BranchNameError> {
    let values = values
        .iter()
        .map(|(name, value)| (*name, value.replace('/', "-")))
        .collect();
    let parts: Vec<String> = fill(pattern, &values)?
        .split('/')
        .map(tidy_part)
        .filter(|part| !part.is_empty())
        .collect();
    BranchName::new(parts.join("/"))
}

/// Makes one part of a name valid.
fn tidy_part(part: &str) -> String {
    let mut tidy = String::new();
    for character in part.chars() {
        let character = if is_allowed(character) && !character.is_whitespace() {
            character
        } else {
            '-'
        };
        if (character == '-' && tidy.ends_with('-')) || (character == '.' && tidy.ends_with('.')) {
            continue;
        }
        let character = if character == '{' && tidy.ends_with('@') {
            '-'
        } else {
            character
        };
        if tidy.len() + character.len_utf8() > LONGEST_FILLED_PART {
            break;
        }
        tidy.push(character);
    }
    without_bad_ends(&tidy)
}

fn without_bad_ends(part: &str) -> String {
    let mut part = part.trim_matches(['-', '.']);
    while part.to_ascii_lowercase().ends_with(".lock") {
        part = part[..part.len() - ".lock".len()].trim_end_matches(['-', '.']);
    }
    if matches!(part, "@" | "HEAD") {
        format!("{part}-").replace('@', "at")
    } else {
        part.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_name_says_which_rule_it_breaks() {
        let error = BranchName::new("a.lock").expect_err("invalid");
        assert_eq!(
            error.to_string(),
            "use `a.lock` as a branch name: a part ends with `.lock`"
        );
    }

    const PATTERN: &str = "tm/{tag}/task-{id}-{slug}";

    fn name(tag: &str, id: &str, title: &str) -> String {
        let values = [("tag", tag), ("id", id), ("slug", &slug(title))];
        branch_from_pattern(PATTERN, &values)
            .expect("always valid")
            .to_string()
    }

    #[test]
    fn slug_keeps_words_only() {
        assert_eq!(
            slug("Add  OAuth2 (Google & GitHub)!"),
            "add-oauth2-google-github"
        );
        assert_eq!(slug("--- ..."), "");
        assert_eq!(slug("日本語"), "");
        assert_eq!(slug(&"word ".repeat(30)).len(), 49);
    }

    #[test]
    fn ordinary_values_give_the_documented_name() {
        assert_eq!(
            name("master", "3.2", "Parse the file"),
            "tm/master/task-3.2-parse-the-file"
        );
        assert_eq!(name("master", "12:red", "x"), "tm/master/task-12-red-x");
    }

    #[test]
    fn empty_slug_leaves_no_trailing_dash() {
        assert_eq!(name("master", "1", "???"), "tm/master/task-1");
    }

    #[test]
    fn hostile_values_stay_within_their_part() {
        assert_eq!(name("../../etc", "..", "x"), "tm/etc/task-.-x");
        assert_eq!(name("a/b", "$(rm -rf ~)", "x"), "tm/a-b/task-$(rm-rf-)-x");
        assert_eq!(name("", "1", "x"), "tm/task-1-x");
        for hostile in [
            "@{",
            "a.lock",
            ".lock.lock",
            "-x",
            "\0",
            "\n",
            "HEAD",
            "@",
            "^~:?*[\\",
            "..",
            &"é".repeat(400),
        ] {
            for pattern in ["{tag}", "x/{tag}", "{tag}/x", "x{tag}"] {
                if let Err(error) = branch_from_pattern(pattern, &[("tag", hostile)]) {
                    assert_eq!(
                        (pattern, error.to_string().contains("it is empty")),
                        ("{tag}", true),
                        "{hostile}: {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn unknown_placeholder_is_named() {
        let error = branch_from_pattern("tm/{nope}", &[]).expect_err("unknown");
        assert_eq!(error.to_string(), "fill in `{nope}` in `tm/{nope}`");
    }
}
