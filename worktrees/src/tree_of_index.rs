//! What an index of tm's own holds as a tree, made by the library.

use crate::TreeId;
use crate::indexed::objects_alone;
use crate::reader::Reader;
use crate::writer::Writer;
use git2::Oid;
use std::path::Path;

impl Reader {
    /// Returns what an index of tm's own holds as a tree. One that says more of its entries than which objects they are is
    /// git's to read.
    pub(crate) fn tree_of_index(&self, index: &Path) -> Option<TreeId> {
        let objects = objects_alone(index)?;
        let writer = self.writer_of_what_lasts()?;
        tm_faults::check("objects: tree").ok()?;
        self.are_there(objects, &writer)?;
        let tree = git2::Index::open(index).ok()?.write_tree_to(&writer).ok()?;
        writer.find_tree(tree).ok()?;
        Some(TreeId(tree.to_string()))
    }

    /// Tells that objects are here; what was seen before is not looked for again, so that this costs what is new and not
    /// what there is.
    fn are_there(&self, wanted: Vec<Oid>, writer: &Writer<'_>) -> Option<()> {
        let objects = writer.odb().ok()?;
        let mut seen = self.indexed.lock();
        for id in wanted {
            if !seen.contains(&id) {
                objects.exists(id).then_some(())?;
                seen.insert(id);
            }
        }
        Some(())
    }
}
