//! Reads commits, trees and files by one git that stays, where the library can't read the repository: ids of another kind,
//! references in a table, extensions.
//!
//! What it does not find, or does not understand, has no answer here: the git program is asked then, as for all else.

use crate::Result;
use crate::git::{StayingGit, is_object_id};
use crate::library::{FOLDER, MODES};
use crate::reader::Entry;
use parking_lot::Mutex;
use std::fmt::Write as _;
use tm_scheduler::CommitId;

/// A git that tells what objects hold.
#[derive(Debug, Default)]
pub(crate) struct AskedGit(Mutex<Option<StayingGit>>);

/// What an object is.
struct Object {
    id: String,
    kind: String,
    content: Vec<u8>,
}

/// What a commit says of where it stands.
pub(crate) struct Standing {
    pub(crate) id: CommitId,
    pub(crate) tree: String,
    pub(crate) parents: Vec<CommitId>,
}

#[cfg(test)]
impl AskedGit {
    /// Tells whether it was asked anything.
    pub(crate) fn is_started(&self) -> bool {
        self.0.lock().is_some()
    }
}

/// The git that stays, and how it is started.
pub(crate) struct Asking<'a> {
    pub(crate) asked: &'a AskedGit,
    pub(crate) start: &'a dyn Fn() -> Result<StayingGit>,
}

impl Asking<'_> {
    /// Returns the object that a whole id or a full name of a reference leads to.
    fn object(&self, name: &str) -> Option<Object> {
        // Other names mean what the checkout says, and a line feed ends the question.
        let is_whole = is_object_id(name.split('^').next()?) || name.starts_with("refs/");
        if !is_whole || name.contains('\n') {
            return None;
        }
        let mut asked = self.asked.0.lock();
        let mut git = asked.take().map_or_else(self.start, Ok).ok()?;
        git.tell(format!("contents {name}\n").as_bytes()).ok()?;
        let line = String::from_utf8(git.line().ok()?).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        let [id, kind, length] = *words else {
            // It is not there.
            *asked = Some(git);
            return None;
        };
        let content = is_object_id(id).then(|| length.parse().ok())?;
        let content = git.bytes(content?).ok()?;
        let is_ended = git.line().ok()?.is_empty();
        *asked = Some(git);
        is_ended.then(|| Object {
            id: id.to_owned(),
            kind: kind.to_owned(),
            content,
        })
    }

    /// Returns the commit that a whole id or a full name of a reference leads to.
    pub(crate) fn commit(&self, name: &str) -> Option<Standing> {
        let object = self.object(&format!("{name}^{{commit}}"))?;
        let text = String::from_utf8_lossy(&object.content);
        let mut lines = text.lines();
        let id = |line: &str| is_object_id(line).then(|| line.to_owned());
        let tree = id(lines.next()?.strip_prefix("tree ")?)?;
        let parents =
            lines.map_while(|line| Some(CommitId::new(id(line.strip_prefix("parent ")?)?)));
        Some(Standing {
            id: CommitId::new(object.id),
            tree,
            parents: parents.collect(),
        })
    }

    /// Returns what a tree says, or that of a commit, as it is written.
    pub(crate) fn written_tree(&self, id: &str) -> Option<Vec<u8>> {
        Some(self.object(&format!("{id}^{{tree}}"))?.content)
    }

    /// Returns the content of a blob.
    pub(crate) fn blob(&self, id: &str) -> Option<Vec<u8>> {
        let object = self.object(id)?;
        (object.kind == "blob").then_some(object.content)
    }

    /// Returns the files of a tree that are wanted by mode and path, in git's order.
    pub(crate) fn entries(
        &self,
        tree: &str,
        is_wanted: &dyn Fn(i32, &[u8]) -> bool,
    ) -> Option<Vec<Entry>> {
        let (mut found, mut path) = (Vec::new(), Vec::new());
        self.collect(tree, &mut path, &mut |entry| {
            if is_wanted(entry.mode, &entry.path) {
                found.push(entry);
            }
        })?;
        Some(found)
    }

    fn collect(&self, tree: &str, folder: &mut Vec<u8>, tell: &mut dyn FnMut(Entry)) -> Option<()> {
        for Entry { mode, id, path } in self.tree(tree)? {
            let length = folder.len();
            folder.extend_from_slice(&path);
            if mode == FOLDER {
                folder.push(b'/');
                self.collect(&id, folder, tell)?;
            } else {
                let path = folder.clone();
                tell(Entry { mode, id, path });
            }
            folder.truncate(length);
        }
        Some(())
    }

    /// Returns the content of a file, or the target of a link, in a tree.
    pub(crate) fn file(&self, tree: &str, path: &[u8]) -> Option<Vec<u8>> {
        let mut at = tree.to_owned();
        for name in path.split(|&byte| byte == b'/') {
            let mut entries = self.tree(&at)?.into_iter();
            at = entries.find(|entry| entry.path == name)?.id;
        }
        self.blob(&at)
    }

    /// Returns what a tree says; modes that git does not write any more are git's to read.
    fn tree(&self, id: &str) -> Option<Vec<Entry>> {
        let object = self.object(id).filter(|object| object.kind == "tree")?;
        let (mut entries, mut rest) = (Vec::new(), &*object.content);
        let length = object.id.len() / 2;
        while !rest.is_empty() {
            let space = rest.iter().position(|&byte| byte == b' ')?;
            let end = rest.iter().position(|&byte| byte == 0)?;
            let mode = std::str::from_utf8(rest.get(..space)?).ok()?;
            let mode = i32::from_str_radix(mode, 8).ok()?;
            let id = rest.get(end + 1..end + 1 + length)?;
            entries.push(Entry {
                mode: MODES.contains(&mode).then_some(mode)?,
                id: hex(id),
                path: rest.get(space + 1..end)?.to_owned(),
            });
            rest = &rest[end + 1 + length..];
        }
        Some(entries)
    }
}

/// Writes bytes of an id as git does.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
