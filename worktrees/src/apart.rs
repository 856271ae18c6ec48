//! Merges that need no merging of lines: each side changed and added files of its own, and took none away.
//!
//! Then no file can have been renamed, in nobody's eyes, and what a path is follows from the path alone: as it is on the
//! side that changed it. Of anything else git says what it comes to.

use crate::TreeId;
use crate::library::{FOLDER, LINK, Library, NESTED, Named, by_name};
use crate::reader::{Reader, id};
use crate::writer::Writer;
use git2::Oid;
use std::collections::BTreeMap;
use std::sync::Arc;
use tm_scheduler::CommitId;

/// A tree of nothing. git names it in no tree that it writes.
const OF_NOTHING: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl Reader {
    /// Returns the tree that merging one commit into another gives, where the two part in one commit, and both did nothing
    /// but add files and change others than the other side; `None` where git is to be asked.
    pub(crate) fn merged_apart(&self, ours: &CommitId, theirs: &CommitId) -> Option<TreeId> {
        let (ours, theirs) = (id(ours.as_str())?, id(theirs.as_str())?);
        let writer = self.writer_of_what_lasts()?;
        let [base] = *self.bases(ours, theirs)? else {
            return None;
        };
        let mut library = self.library();
        let tree = |commit| Some(library.git.find_commit(commit).ok()?.tree_id());
        let (base, ours, theirs) = (tree(base)?, tree(ours)?, tree(theirs)?);
        let mut merge = Apart {
            library: &mut library,
            writer,
        };
        merge.has_all_of(ours, base)?;
        merge.has_all_of(theirs, base)?;
        let merged = merge.merged(Some(base), ours, theirs)?;
        merge.writer.find_tree(merged).ok()?;
        Some(TreeId(merged.to_string()))
    }
}

/// A merge of trees: what reads, and what writes.
struct Apart<'a> {
    library: &'a mut Library,
    writer: Writer<'a>,
}

impl Apart<'_> {
    /// Sees that everything of the base is still there, and of the same kind.
    fn has_all_of(&mut self, side: Oid, base: Oid) -> Option<()> {
        if side == base {
            return Some(());
        }
        let (side, base) = (self.library.tree(side)?, self.library.tree(base)?);
        let (side, base) = (one_of_each(&side)?, one_of_each(&base)?);
        for (name, before) in base {
            let now = *side.get(name)?;
            match [before, now] {
                _ if before == now => {}
                [(FOLDER, before), (FOLDER, now)] => self.has_all_of(now, before)?,
                [(LINK, _), (LINK, _)] => {}
                [(FOLDER | LINK | NESTED, _), _] | [_, (FOLDER | LINK | NESTED, _)] => return None,
                _files => {}
            }
        }
        Some(())
    }

    /// Returns the tree in which each path is as on the side that changed it.
    fn merged(&mut self, base: Option<Oid>, ours: Oid, theirs: Oid) -> Option<Oid> {
        if ours == theirs || base == Some(theirs) {
            return Some(ours);
        }
        if base == Some(ours) {
            return Some(theirs);
        }
        let of_base = base.map_or_else(|| Some(Arc::from([])), |base| self.library.tree(base))?;
        let (of_ours, of_theirs) = (self.library.tree(ours)?, self.library.tree(theirs)?);
        let [before, our, their] = [&of_base, &of_ours, &of_theirs].map(|tree| one_of_each(tree));
        let (before, our, their) = (before?, our?, their?);
        // Where git writes a folder anew, one with nothing in it is not there any more.
        let nothing = Oid::from_str(OF_NOTHING).ok()?;
        if our
            .values()
            .chain(their.values())
            .any(|(_, id)| *id == nothing)
        {
            return None;
        }
        let mut changed = Vec::new();
        for (name, their) in their {
            let (before, our) = (before.get(name).copied(), our.get(name).copied());
            match (our, their) {
                _ if our == Some(their) || before == Some(their) => {}
                _ if our == before => changed.push((name, their)),
                (Some((FOLDER, our)), (FOLDER, their)) => {
                    let merged = self.merged(before.map(|(_, id)| id), our, their)?;
                    changed.push((name, (FOLDER, merged)));
                }
                _ => return None,
            }
        }
        self.written(ours, &changed)
    }

    /// Writes a tree in which these names lead to these objects.
    fn written(&self, tree: Oid, changed: &[(&[u8], (i32, Oid))]) -> Option<Oid> {
        tm_faults::check("objects: merge").ok()?;
        let tree = self.writer.find_tree(tree).ok()?;
        let mut made = self.writer.treebuilder(Some(&tree)).ok()?;
        for (name, (mode, id)) in changed {
            made.insert(*name, *id, *mode).ok()?;
        }
        made.write().ok()
    }
}

/// What a tree says, by name; `None` where it says two things of one, which git never writes.
fn one_of_each(tree: &[Named]) -> Option<BTreeMap<&[u8], (i32, Oid)>> {
    Some(by_name(tree)).filter(|named| named.len() == tree.len())
}
