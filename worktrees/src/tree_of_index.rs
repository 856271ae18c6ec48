//! What an index of tm's own holds as a tree, made by the library.

use crate::TreeId;
use crate::indexed::has_objects_alone;
use crate::library::NESTED;
use crate::reader::Reader;
use crate::writer::Writer;
use std::path::Path;

impl Reader {
    /// Returns what an index of tm's own holds as a tree. One that says more of its entries than which objects they are is
    /// git's to read.
    pub(crate) fn tree_of_index(&self, index: &Path) -> Option<TreeId> {
        has_objects_alone(index)?;
        let writer = self.writer_of_what_lasts()?;
        tm_faults::check("objects: tree").ok()?;
        let mut index = git2::Index::open(index).ok()?;
        self.are_there(&index, &writer)?;
        let tree = index.write_tree_to(&writer).ok()?;
        writer.find_tree(tree).ok()?;
        Some(TreeId(tree.to_string()))
    }

    /// Tells that what an index names is here; what was seen before is not looked for again, so that this costs what is new
    /// and not what there is.
    fn are_there(&self, index: &git2::Index, writer: &Writer<'_>) -> Option<()> {
        let objects = writer.odb().ok()?;
        let mut seen = self.indexed.lock();
        for entry in index
            .iter()
            .filter(|entry| i64::from(entry.mode) != i64::from(NESTED))
        {
            if !seen.contains(&entry.id) {
                objects.exists(entry.id).then_some(())?;
                seen.insert(entry.id);
            }
        }
        Some(())
    }
}
