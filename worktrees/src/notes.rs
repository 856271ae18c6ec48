//! Writes notes beside commits, as `git notes` shows them, signed where the user's commits are.

use crate::made_trees::index_entry;
use crate::{Error, Repository, Result, TreeId};
use tm_scheduler::CommitId;

/// Where tm's notes are: `git log --notes=tm` shows them.
const NOTES: &str = "refs/notes/tm";
/// So often a note is written again because somebody else wrote one meanwhile.
const TRIES: u32 = 5;

impl Repository {
    /// Writes a note beside a commit, in place of the one that tm wrote before.
    ///
    /// # Errors
    /// Signing failed, somebody else writes notes all the time, or git refused.
    pub fn write_note(&self, commit: &CommitId, text: &str) -> Result<()> {
        let blob = self.write_blob(text)?;
        for _ in 1..TRIES {
            match self.write_note_once(commit, &blob) {
                Err(Error::Moved { .. }) => {}
                written => return written,
            }
        }
        self.write_note_once(commit, &blob)
    }

    /// Returns tm's note beside a commit.
    ///
    /// # Errors
    /// git refused.
    pub fn note(&self, commit: &CommitId) -> Result<Option<String>> {
        self.git()
            .args(["notes", "--ref", NOTES, "show"])
            .commit(commit)
            .text_if_any()
    }

    fn write_note_once(&self, commit: &CommitId, blob: &str) -> Result<()> {
        let before = self.at_reference(NOTES)?;
        let tree = match &before {
            Some(notes) => self.tree_of(notes)?,
            None => TreeId::new(self.git_on_objects().arg("mktree").input("").object_id()?),
        };
        let note = index_entry("100644", blob, commit.as_str().as_bytes());
        let tree = self.tree_with(&tree, note)?;
        let parents: Vec<&CommitId> = before.iter().collect();
        let notes = self.commit_as_user(&tree, &parents, "Notes by tm\n")?;
        self.move_reference(NOTES, &notes, before.as_ref())
    }
}
