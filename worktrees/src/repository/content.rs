//! What belongs to a tree and lies in no object of the repository, files that Git LFS keeps and submodules, and the filters
//! that a checkout of it needs. Looks names up and starts nothing.

use super::held_filters::NO_CHANGE;
use super::lfs::lfs_settings;
use super::settings::HAS_LFS_EXTENSIONS;
use crate::indexed::is_attributes;
use crate::library::NESTED;
use crate::reader::Entry;
use crate::{PathPatterns, Repository, Result, TreeId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_scheduler::{Bring, CommitId};

/// What a filter has a command for, the first one that is used before others.
pub(crate) const COMMANDS_OF_FILTER: [&str; 3] = ["process", "smudge", "clean"];

/// What is brought into checkouts besides the files of their trees.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContentRules {
    /// Submodules.
    pub submodules: Bring,
    /// Files that Git LFS keeps.
    pub lfs: Bring,
}

/// What a tree says of it.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// Where other repositories belong, each with its commit.
    pub(crate) links: Vec<(PathBuf, CommitId)>,
    /// Whether a file is kept by LFS.
    pub(crate) has_lfs: bool,
    /// Whether another filter is for a file.
    pub(crate) has_filters: bool,
    /// The objects of the files that say how files are written, by path.
    pub(crate) attributes: BTreeMap<Vec<u8>, String>,
}

/// What belongs to the commit that the user's checkout is at and lies in no object of the repository.
#[derive(Debug)]
pub struct ContentAtHead {
    /// Where submodules belong.
    pub submodules: Vec<PathBuf>,
    /// Whether Git LFS keeps files.
    pub has_lfs: bool,
}

/// What is known of trees, which never change.
pub(crate) type KnownContent = Arc<Mutex<BTreeMap<TreeId, Arc<Content>>>>;

impl Content {
    /// Returns where other repositories belong.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        self.links.iter().map(|(path, _)| path.clone()).collect()
    }
}

impl Repository {
    /// Returns what a tree says of it, looked up once.
    pub(crate) fn content_of(&self, tree: &TreeId) -> Result<Arc<Content>> {
        let known = || self.known_content.lock();
        if let Some(content) = known().get(tree) {
            return Ok(Arc::clone(content));
        }
        let content = Arc::new(self.read_content(tree)?);
        known().insert(tree.clone(), Arc::clone(&content));
        Ok(content)
    }

    /// Returns what there is of it where the user's checkout stands.
    ///
    /// # Errors
    /// git refused.
    pub fn content_at_head(&self) -> Result<ContentAtHead> {
        let content = self.content_of(&self.tree_of(&self.head()?.commit)?)?;
        Ok(ContentAtHead {
            submodules: content.places(),
            has_lfs: content.has_lfs,
        })
    }

    fn read_content(&self, tree: &TreeId) -> Result<Content> {
        let mut content = Content::default();
        for Entry { mode, id, path } in
            self.files(tree, &|mode, path| mode == NESTED || is_attributes(path))?
        {
            if mode == NESTED {
                content
                    .links
                    .push((crate::git::path_of(&path), CommitId::new(id)));
            } else {
                let text = self.blob(&id)?;
                let text = String::from_utf8_lossy(&text);
                content.has_lfs = content.has_lfs || text.lines().any(is_of_lfs);
                content.has_filters = content.has_filters || text.lines().any(is_of_filter);
                content.attributes.insert(path, id);
            }
        }
        Ok(content)
    }
}

/// Whether a line of attributes gives files to LFS.
fn is_of_lfs(line: &str) -> bool {
    !line.trim_start().starts_with('#') && line.split_whitespace().any(|word| word == "filter=lfs")
}

/// Whether a line of attributes gives files to another filter.
fn is_of_filter(line: &str) -> bool {
    let mut words = line.split_whitespace();
    !line.trim_start().starts_with('#')
        && words.any(|word| word.starts_with("filter=") && word != "filter=lfs")
}

/// Tells whether a path is one that a tree may have: relative, and nothing that leads up.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|component| matches!(component, std::path::Component::Normal(_)))
}

/// The modes of files that filters are for: no links, and no repositories.
const REGULAR: [i32; 2] = [0o100_644, 0o100_755];
/// So many kinds of files in attributes are looked at.
const MOST_LINES: usize = 1_000;

/// A filter that attributes in a tree name for some of its files.
#[derive(Debug)]
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
        let paths: Vec<String> = self
            .files(tree, &|mode, _| REGULAR.contains(&mode))?
            .into_iter()
            .filter_map(|Entry { path, .. }| String::from_utf8(path).ok())
            .collect();
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
                    found.push(FilterNeed {
                        name: name.to_owned(),
                        file: file.clone(),
                        command: self.filter_command(name)?,
                    });
                }
            }
        }
        Ok(found)
    }

    fn filter_command(&self, name: &str) -> Result<Option<String>> {
        for what in COMMANDS_OF_FILTER {
            if let Some(command) = self.command_of(name, what)? {
                return Ok(Some(command));
            }
        }
        Ok(None)
    }

    fn command_of(&self, filter: &str, what: &str) -> Result<Option<String>> {
        let key = format!("filter.{filter}.{what}");
        let command = match self.own() {
            // As the user has it, and not as it is held.
            Some(own) => own.taken(self, &key)?,
            None => self.configured(&key)?,
        };
        Ok(command.filter(|command| !command.trim().is_empty()))
    }

    /// Returns a file of a tree that a filter of the user's writes into checkouts, with the name of the filter: who has not
    /// that filter finds what git keeps. LFS keeps content as it is.
    ///
    /// # Errors
    /// There is no such tree, or git refused.
    pub fn written_by_filter(&self, tree: &TreeId) -> Result<Option<(String, String)>> {
        if !self.content_of(tree)?.has_filters {
            return Ok(None);
        }
        for FilterNeed { name, file, .. } in self.filters(tree)? {
            for what in ["process", "smudge"] {
                let command = self.command_of(&name, what)?;
                if command.is_some_and(|command| command.trim() != NO_CHANGE) {
                    return Ok(Some((file, name)));
                }
            }
        }
        Ok(None)
    }

    /// Tells whether LFS has commands of the user's besides its own, and a tree has files for it: those commands would be
    /// started in the checkouts of agents, held by nobody, so they are not.
    ///
    /// # Errors
    /// There is no such tree, or git refused.
    pub fn lacks_lfs_extensions(&self, tree: &TreeId) -> Result<bool> {
        let Some(own) = self.own() else {
            return Ok(false);
        };
        Ok(self.content_of(tree)?.has_lfs && own.taken(self, HAS_LFS_EXTENSIONS)?.is_some())
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
    use super::*;

    #[test]
    fn attributes_name_lfs_as_a_filter_and_not_in_a_comment() {
        assert!(is_of_lfs("*.bin filter=lfs diff=lfs merge=lfs -text"));
        assert!(!is_of_lfs("# *.bin filter=lfs"));
        assert!(!is_of_lfs("*.bin filter=crypt"));
    }

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
