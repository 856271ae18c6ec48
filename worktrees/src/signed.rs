//! Makes commits as the user's own git would, signed where the user's commits are, and notes beside them, as `git notes`
//! shows them.

use crate::git::Git;
use crate::history::PastCommit;
use crate::new_commit::NewCommit;
use crate::said::telling_line;
use crate::tree::index_entry;
use crate::{Error, Repository, Result, TreeId};
use std::sync::OnceLock;
use tm_scheduler::CommitId;

/// How commits of the user's are signed.
#[derive(Debug)]
pub enum Signing {
    /// They are not.
    Off,
    /// They are, and one was signed; holds the format.
    Works(String),
    /// They should be, and can't.
    Fails {
        /// What git and the program for signing said.
        output: String,
        /// The settings that ask for it, each with its value and where it stands.
        settings: Vec<String>,
    },
}

/// The settings by which git signs.
const SETTINGS: [&str; 3] = ["commit.gpgsign", "gpg.format", "user.signingkey"];

/// Where tm's notes are: `git log --notes=tm` shows them.
const NOTES: &str = "refs/notes/tm";
/// So often a note is written again because somebody else wrote one meanwhile.
const TRIES: u32 = 5;

/// The variable that keeps what a commit leaves behind on purpose, such as the agent that holds the key for signing,
/// from being taken for what an agent left behind.
const SPARED: &str = "TM_SPARED";

impl Repository {
    /// Tells whether the user's git signs commits.
    fn signs_commits(&self) -> Result<bool> {
        if self.is_unsigned {
            return Ok(false);
        }
        let known = self.own().map(|own| &own.signs);
        if let Some(signs) = known.and_then(OnceLock::get) {
            return Ok(*signs);
        }
        let signs = self
            .git("config --type=bool --get commit.gpgsign")
            .text_if_any()?
            .as_deref()
            == Some("true");
        Ok(known.map_or(signs, |known| *known.get_or_init(|| signs)))
    }

    /// Makes a commit on no branch of a tree, signed where the user's commits are.
    ///
    /// # Errors
    /// Signing failed (`CommitRefused`, with its words), or git refused.
    pub fn commit_as_user(
        &self,
        tree: &TreeId,
        parents: &[&CommitId],
        message: &str,
    ) -> Result<CommitId> {
        let new = NewCommit {
            tree,
            parents,
            message,
        };
        let here = (!self.signs_commits()?).then(|| self.commit_here(&new));
        here.flatten().map_or_else(
            || self.as_user(self.git_commit_tree(tree, parents, message)),
            Ok,
        )
    }

    /// Makes one of the moment of another, so that the same of the same is the same commit, as far as it is not signed.
    ///
    /// # Errors
    /// Signing failed, or git refused.
    pub fn commit_like(
        &self,
        tree: &TreeId,
        parents: &[&CommitId],
        message: &str,
        like: &PastCommit,
    ) -> Result<CommitId> {
        let date = &like.author.date;
        let git = self.git_commit_tree(tree, parents, message);
        let git = git.variable("GIT_AUTHOR_DATE", date);
        self.as_user(git.variable("GIT_COMMITTER_DATE", date))
    }

    fn as_user(&self, git: Git) -> Result<CommitId> {
        let git = git.variable(SPARED, "1").once();
        let git = if self.signs_commits()? {
            git.arg("-S")
        } else {
            git
        };
        let answer = git.answer()?;
        let commit = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if answer.code == 0 && crate::git::is_object_id(&commit) {
            return Ok(CommitId::new(commit));
        }
        Err(Error::CommitRefused {
            why: telling_line(&answer.stderr),
            output: answer.stderr,
        })
    }

    /// Tries to sign, by a commit that nothing will ever name.
    ///
    /// # Errors
    /// git refused something else than signing.
    pub fn try_to_sign(&self) -> Result<Signing> {
        if !self.signs_commits()? {
            return Ok(Signing::Off);
        }
        let head = self.head()?.commit;
        match self.commit_as_user(&self.tree_of(&head)?, &[&head], "tm: a trial of signing\n") {
            Ok(_unnamed) => Ok(Signing::Works(
                self.configured("gpg.format")?
                    .unwrap_or_else(|| "openpgp".to_owned()),
            )),
            Err(error) if error.is_of_surroundings() => Err(error),
            Err(Error::CommitRefused { output, .. }) => Ok(Signing::Fails {
                output,
                settings: self.signing_settings()?,
            }),
            Err(error) => Err(error),
        }
    }

    fn signing_settings(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for name in SETTINGS {
            let git = self.git("config --show-origin --get").arg(name);
            if let Some(said) = git.text_if_any()?
                && let Some((place, value)) = said.split_once('\t')
            {
                found.push(format!(
                    "{name} = {value} ({})",
                    place.trim_start_matches("file:")
                ));
            }
        }
        Ok(found)
    }

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
        self.git("notes --ref")
            .args([NOTES, "show"])
            .commit(commit)
            .text_if_any()
    }

    fn write_note_once(&self, commit: &CommitId, blob: &str) -> Result<()> {
        let before = self.at_reference(NOTES)?;
        let tree = match &before {
            Some(notes) => self.tree_of(notes)?,
            None => TreeId::new(self.git_on_objects("mktree").input("").object_id()?),
        };
        let note = index_entry("100644", blob, commit.as_str().as_bytes());
        let tree = self.tree_with(&tree, note)?;
        let parents: Vec<&CommitId> = before.iter().collect();
        let notes = self.commit_as_user(&tree, &parents, "Notes by tm\n")?;
        self.move_reference(NOTES, &notes, before.as_ref())
    }
}
