//! Checks that new objects are what their names say: git believes a loose object that somebody wrote over in place.
//!
//! Only what a known commit does not have is read, so it costs as much as the work, and not as much as the repository.

use crate::git::is_object_id;
use crate::reader::Reader;
use crate::{Error, OrFailedTo as _, Repository, Result, Treeish};
use std::collections::BTreeSet;
use std::path::Path;

/// What is asked of new objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ObjectCheck {
    /// That each is what its name says.
    Names,
    /// That besides, each is well formed: what a server that checks what it is sent would take.
    NamesAndForm,
}

impl Repository {
    /// Makes sure that all objects of a commit or tree that `known` does not have are there, and are what their names say.
    ///
    /// # Errors
    /// One is not (`ObjectsNotAsNamed`), or git can't read them.
    pub fn check_new_objects(
        &self,
        of: &dyn Treeish,
        known: &dyn Treeish,
        check: ObjectCheck,
    ) -> Result<()> {
        let (of, known) = (of.to_string(), known.to_string());
        if let Some(no_id) = [&of, &known].into_iter().find(|id| !is_object_id(id)) {
            return Err(Error::unknown(no_id));
        }
        let is_read = || self.read(|reader| reader.are_as_named(&of, &known));
        if check == ObjectCheck::Names && is_read().is_some() {
            return Ok(());
        }
        // What the library does not vouch for, git names.
        let wanted = self
            .git_on_objects("rev-list --objects --no-object-names")
            .args([&of, "--not", &known])
            .bytes()
            .map_err(not_as_named)?;
        let names: BTreeSet<String> = String::from_utf8_lossy(&wanted)
            .lines()
            .map(ToOwned::to_owned)
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let folder = self.scratch()?;
        let found = self.names_by_content(wanted, folder.path(), check)?;
        let objects: Vec<String> = names.difference(&found).cloned().collect();
        if objects.is_empty() {
            return Ok(());
        }
        Err(Error::ObjectsNotAsNamed(objects.join(", ")))
    }

    /// Writes objects again that were checked before, and that another git has collected since.
    pub fn put_back_collected(&self) {
        // What can't be put back is missing, and told by whoever needs it.
        let _put_back = self.read(Reader::put_back);
    }

    /// Packs objects, and returns the names that follow from what is in the pack.
    fn names_by_content(
        &self,
        names: Vec<u8>,
        folder: &Path,
        check: ObjectCheck,
    ) -> Result<BTreeSet<String>> {
        // Small deltas are for what is kept, and this is not. Under a name, git would make the pack beside the objects and
        // rename it, which may lead from one file system to another.
        let given = folder.join("given.pack");
        self.git_on_objects("pack-objects -q --window=0 --compression=0 --stdout")
            .input(names)
            .output_to(given.clone())
            .done()
            .map_err(not_as_named)?;
        let mut index = self.git_on_objects("index-pack");
        if check == ObjectCheck::NamesAndForm {
            index = index.arg("--fsck-objects");
        }
        let listed = folder.join("found.idx");
        index
            .arg("-o")
            .arg(&listed)
            .arg(&given)
            .done()
            .map_err(not_as_named)?;
        let bytes = tm_untrusted::read(&listed, u64::MAX).or_failed_to("read", &listed)?;
        Ok(self
            .git_on_objects("show-index")
            .input(bytes)
            .text()?
            .lines()
            .filter_map(|line| line.split(' ').nth(1))
            .map(ToOwned::to_owned)
            .collect())
    }
}

/// What git says of an object that it can't read names it, unless the disk is the trouble.
fn not_as_named(error: Error) -> Error {
    match error {
        Error::Git { message, .. } if !crate::error::says_trouble_of_disk(&message) => {
            Error::ObjectsNotAsNamed(message)
        }
        other => other,
    }
}
