//! Makes sure that servers take what lands, and that it can be cloned: files that git itself reads have a form, which git
//! leaves unsaid until somebody sends or fetches them.
//!
//! git is asked about these files alone, and only where a tree has others than the one that it lands on.

use crate::git::is_object_id;
use crate::library::FOLDER;
use crate::reader::Entry;
use crate::{Error, Repository, Result, TreeId, Treeish};
use std::collections::BTreeSet;

/// What git says of objects that it reads and that servers refuse.
const OF_FORM: &str = "fsck error in pack";
/// The tree of nothing, by each kind of ids: git knows it without an object.
const OF_NOTHING: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];

impl Repository {
    /// Makes sure that what a tree has of git's own files and another one has not is as servers that check it want it.
    ///
    /// # Errors
    /// It is not (`NotTaken`), or git refused.
    pub(crate) fn assert_accepted(&self, tree: &TreeId, on: &dyn Treeish) -> Result<()> {
        let changed = self.differing(on, tree)?.into_iter();
        let paths: BTreeSet<Vec<u8>> = changed
            .map(|(path, _)| path)
            .filter(|path| names(path).any(is_of_git))
            .collect();
        if paths.is_empty() {
            return Ok(());
        }
        let files = self.files_at(tree, &paths)?;
        let entries: BTreeSet<Vec<u8>> = files.iter().flat_map(entries_of).collect();
        // Each in a tree of its own, since a name may be there more than once.
        let trees = self
            .git_on_objects("mktree -z --missing --batch")
            .input(entries.into_iter().collect::<Vec<_>>().concat())
            .lines()?;
        let blobs = files.into_iter().filter(|file| !file.is_repository());
        let objects: BTreeSet<String> =
            trees.into_iter().chain(blobs.map(|file| file.id)).collect();
        match self.form_of(objects.into_iter().filter(|id| is_object_id(id))) {
            Err(Error::Git { message, .. }) if message.contains(OF_FORM) => {
                let said = message.lines().next().unwrap_or_default();
                let said = said.trim_start_matches("error: ");
                let why = format!("servers that check what they are sent refuse it: {said}");
                Err(Error::NotTaken(why))
            }
            form => form,
        }
    }
}

/// The trees of one entry that have the names in a path which are git's, in the form of `mktree`.
fn entries_of(file: &Entry) -> Vec<Vec<u8>> {
    let kind = if file.is_repository() {
        "commit"
    } else {
        "blob"
    };
    let last = names(&file.path).count().saturating_sub(1);
    let named = names(&file.path).enumerate();
    let of_git = named.filter(|(_, name)| is_of_git(name));
    let entry = |(at, name): (usize, &[u8])| {
        // What is wrong with a folder is its name, and that it is one: what else it holds may be older than the work.
        let (mode, kind, id) = if at == last {
            (file.mode, kind, file.id.as_str())
        } else {
            (FOLDER, "tree", nothing_like(&file.id))
        };
        let said = format!("{mode:06o} {kind} {id}\t");
        [said.as_bytes(), name, b"\0\0"].concat()
    };
    of_git.map(entry).collect()
}

/// Returns the tree of nothing whose id is of the kind of another.
fn nothing_like(id: &str) -> &'static str {
    let [short, long] = OF_NOTHING;
    if id.len() == long.len() { long } else { short }
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
}

/// Whether a name may mean a file of git's to some file system: with letters that it leaves out, with a short form, behind
/// its own sign between folders.
fn is_of_git(name: &[u8]) -> bool {
    name.split(|&byte| byte == b'\\').any(|part| {
        let letters = part.iter().filter(|byte| byte.is_ascii());
        let letters: Vec<u8> = letters.map(u8::to_ascii_lowercase).collect();
        letters.starts_with(b".git") || letters.starts_with(b"gi") && letters.contains(&b'~')
    })
}
