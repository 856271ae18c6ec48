//! What a checkout of a tree needs besides the tree: filters that git calls for some files.
//!
//! Looks names up and starts nothing.

use crate::content::lfs_settings;
use crate::{PathPatterns, Repository, Result, TreeId};
use std::path::Path;

/// So many kinds of files in attributes are looked at.
const MOST_LINES: usize = 1_000;

/// A filter that attributes in a tree name for some of its files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FilterNeed {
    /// Its name.
    pub name: String,
    /// A file that it is for.
    pub file: String,
    /// The command that git is told to start for it; `None` where it is told of none.
    pub command: Option<String>,
}

impl Repository {
    /// Returns the filters that attributes in a tree name for files which it has, each once.
    ///
    /// # Errors
    /// There is no such tree, or git refused.
    pub fn filters(&self, tree: &TreeId) -> Result<Vec<FilterNeed>> {
        let paths = self.paths(tree)?;
        let mut found: Vec<FilterNeed> = Vec::new();
        for attributes in paths
            .iter()
            .filter(|path| path.rsplit('/').next() == Some(".gitattributes"))
        {
            let text = self.text_in_tree(tree, attributes)?.unwrap_or_default();
            let folder = attributes
                .strip_suffix(".gitattributes")
                .unwrap_or_default();
            for (pattern, name) in text.lines().take(MOST_LINES).filter_map(filter_of) {
                // What tm's own settings say of LFS needs nothing of the user's.
                let is_given = name == "lfs" && lfs_settings(self.content_rules).is_some();
                if is_given || found.iter().any(|known| known.name == name) {
                    continue;
                }
                // What git can't read either is for nobody.
                let Ok(patterns) = PathPatterns::new(&[pattern]) else {
                    continue;
                };
                let is_meant = |path: &&String| {
                    path.strip_prefix(folder)
                        .is_some_and(|path| patterns.covers(Path::new(path)))
                };
                if let Some(file) = paths.iter().find(is_meant) {
                    let command = self.filter_command(name)?;
                    found.push(FilterNeed {
                        name: name.to_owned(),
                        file: file.clone(),
                        command,
                    });
                }
            }
        }
        Ok(found)
    }

    fn filter_command(&self, name: &str) -> Result<Option<String>> {
        for key in ["process", "smudge", "clean"] {
            let command = self.configured(&format!("filter.{name}.{key}"))?;
            if let Some(command) = command.filter(|command| !command.trim().is_empty()) {
                return Ok(Some(command));
            }
        }
        Ok(None)
    }
}

/// The pattern and the filter that a line of attributes names.
fn filter_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mut words = line
        .split_whitespace()
        .filter(|_| !line.starts_with(['#', '[', '"']));
    let pattern = words.next()?;
    let name = words.find_map(|word| word.strip_prefix("filter="))?;
    Some((pattern, name))
}

#[cfg(test)]
mod tests {
    use super::filter_of;

    #[test]
    fn attributes_name_filters() {
        assert_eq!(
            filter_of("*.bin filter=lfs diff=lfs -text"),
            Some(("*.bin", "lfs"))
        );
        for line in [
            "*.txt text",
            "# *.bin filter=lfs",
            "[attr]x filter=lfs",
            "",
            "*.bin -filter",
        ] {
            assert_eq!(filter_of(line), None, "{line}");
        }
    }
}
