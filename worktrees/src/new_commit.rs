//! Commits that are made in this process: the bytes that git would write, where the settings leave nothing to say of them.

use crate::reader::id;
use crate::repository::own::People;
use crate::writer::Writer;
use crate::{Repository, Result, TreeId};
use git2::{Commit, Signature};
use std::collections::HashSet;
use tm_scheduler::CommitId;

/// Variables by which a caller says when commits are made.
const DATES: [&str; 2] = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];

/// A commit before it is made.
#[derive(Clone, Copy)]
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: &'a TreeId,
    pub(crate) parents: &'a [&'a CommitId],
    pub(crate) message: &'a str,
}

impl Repository {
    /// Returns whom commits of a run name, asked for once; `None` where it is no run's repository, or where git would write
    /// a name in another encoding than it has.
    ///
    /// # Errors
    /// git knows nobody to name.
    pub(crate) fn people(&self) -> Result<Option<&People>> {
        let Some(known) = self.own().map(|own| &own.people) else {
            return Ok(None);
        };
        if known.get().is_none() {
            let person = |role: &str| -> Result<_> {
                let asked = self.git_on_objects("var").arg(format!("GIT_{role}_IDENT"));
                let said = String::from_utf8(asked.bytes()?).ok();
                let named = said.as_deref().and_then(|said| said.rsplit_once('>'));
                let parts = named.and_then(|(named, _)| named.split_once(" <"));
                Ok(parts.map(|(name, address)| (name.to_owned(), address.to_owned())))
            };
            let (author, committer) = (person("AUTHOR")?, person("COMMITTER")?);
            let people = author.zip(committer);
            known.get_or_init(|| people.map(|(author, committer)| People { author, committer }));
        }
        Ok(known.get().and_then(Option::as_ref))
    }

    /// Makes a commit that is to last, signed by nobody; `None` where that is git's to do.
    pub(crate) fn commit_here(&self, new: &NewCommit<'_>) -> Option<CommitId> {
        if DATES.iter().any(|name| self.environment.has(name)) {
            return None;
        }
        // Who can't be named is told by git.
        let people = self.people().ok()??;
        self.read(|reader| new.made(&reader.writer_of_what_lasts()?, people))
    }
}

impl NewCommit<'_> {
    /// Makes it; `None` where git would say something to it.
    pub(crate) fn made(&self, writer: &Writer<'_>, people: &People) -> Option<CommitId> {
        let mut named = HashSet::new();
        let is_told_by_git =
            self.message.contains('\0') || !self.parents.iter().all(|parent| named.insert(*parent));
        if is_told_by_git {
            return None;
        }
        let tree = writer.find_tree(id(&self.tree.0)?).ok()?;
        let commit = |parent: &&CommitId| writer.find_commit(id(parent.as_str())?).ok();
        let parents: Vec<Commit<'_>> = self.parents.iter().map(commit).collect::<Option<_>>()?;
        let (name, address) = &people.author;
        let author = Signature::now(name, address).ok()?;
        let (name, address) = &people.committer;
        let committer = Signature::new(name, address, &author.when()).ok()?;
        tm_faults::check("objects: commit").ok()?;
        let made = writer.commit(
            None,
            &author,
            &committer,
            self.message,
            &tree,
            &parents.iter().collect::<Vec<_>>(),
        );
        Some(CommitId::new(made.ok()?.to_string()))
    }
}
