//! Checks that new objects are what their names say: git believes a loose object that somebody wrote over in place.
//!
//! Only what a known commit does not have is read, so it costs as much as the work, and not as much as the repository.

use crate::checked_objects::CheckedObjects;
use crate::git::is_object_id;
use crate::pool::KEPT_SETTINGS;
use crate::repository::own_objects::OwnObjects;
use crate::{Error, OrFailedTo as _, Repository, Result, Treeish};
use std::collections::BTreeSet;
use std::path::Path;
use tm_scheduler::CommitId;

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
        if check == ObjectCheck::Names
            && let Some(read) = is_read()
        {
            if let Some(objects) = self.own_objects() {
                objects.keep(read);
            }
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

    /// Makes sure that all objects of a commit that came after the known one are there, and are what their names say,
    /// those that were checked before included.
    ///
    /// # Errors
    /// One is not (`ObjectsNotAsNamed`), or git can't read them.
    pub fn check_objects_since(&self, of: &CommitId, checked: &mut CheckedObjects) -> Result<()> {
        let read = self.own_objects().and_then(|objects| {
            self.read(|reader| reader.are_as_checked(of.as_str(), objects, checked))
        });
        match read {
            Some(()) => Ok(()),
            None => self.check_new_objects(of, checked.known(), ObjectCheck::Names),
        }
    }

    /// Puts objects back that were made or checked in this run, and that another git has collected since.
    pub fn put_back_collected(&self) {
        // What can't be put back is missing, and told by whoever needs it.
        let _put_back = self.own_objects().map(OwnObjects::publish_again);
    }

    /// The same for a run that was cut off, by the folder of its worktrees.
    ///
    /// # Errors
    /// Its git folder can't be used.
    pub fn put_back_collected_of(&self, worktrees: &Path) -> Result<()> {
        let of_run = self.with_settings_if_kept(&worktrees.join(KEPT_SETTINGS))?;
        of_run.as_ref().map(Self::put_back_collected);
        Ok(())
    }

    /// Has everybody who works in the repository find what was made in this run: before a reference or a checkout of
    /// theirs names it.
    pub(crate) fn publish_objects(&self) -> Result<()> {
        self.own_objects().map_or(Ok(()), OwnObjects::publish)
    }

    pub(crate) fn own_objects(&self) -> Option<&OwnObjects> {
        self.own()?.objects.as_ref()
    }

    /// Makes sure that objects are as servers want them that check what they are sent.
    pub(crate) fn form_of(&self, objects: impl Iterator<Item = String>) -> Result<()> {
        let folder = self.scratch()?;
        let (pack, index) = (
            folder.path().join("given.pack"),
            folder.path().join("found.idx"),
        );
        let names: String = objects.map(|id| id + "\n").collect();
        self.pack(names.into_bytes(), &pack)?;
        let git = self.git_on_objects("index-pack --strict -o");
        git.args([index, pack]).done()
    }

    /// Packs objects, to be looked at.
    fn pack(&self, names: Vec<u8>, pack: &Path) -> Result<()> {
        // Small deltas are for what is kept, and this is not. Under a name, git would make the pack beside the objects and
        // rename it, which may lead from one file system to another.
        self.git_on_objects("pack-objects -q --window=0 --compression=0 --stdout")
            .input(names)
            .output_to(pack.to_owned())
            .done()
    }

    /// Packs objects, and returns the names that follow from what is in the pack.
    fn names_by_content(
        &self,
        names: Vec<u8>,
        folder: &Path,
        check: ObjectCheck,
    ) -> Result<BTreeSet<String>> {
        let given = folder.join("given.pack");
        self.pack(names, &given).map_err(not_as_named)?;
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
