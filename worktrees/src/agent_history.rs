//! Reads the commits that an agent made on its own, and makes them again under tm's hand.
//!
//! What is made again is in no other history: it stands on tm's commit, by tm's committer, with a trailer of its own, so
//! that no merge of two tasks ever starts from a commit of an agent. Judges nothing of what it reads.

use crate::git::{Git, pairs, path_of};
use crate::{Author, PastCommit, Repository, Result, Worktree};
use std::path::PathBuf;
use tm_scheduler::CommitId;

/// A commit that an agent made.
#[derive(Debug)]
pub struct AgentCommit {
    /// What it says.
    pub past: PastCommit,
    /// The files that are new or other than in the commit before.
    pub files: Vec<BroughtFile>,
    /// The lines that are new in them; empty where they are longer than may be.
    pub added: String,
}

/// A file that a commit brings.
#[derive(Debug)]
pub struct BroughtFile {
    /// Its path.
    pub path: PathBuf,
    /// Its mode in the tree, such as `120000` for a symbolic link.
    pub mode: String,
    /// How long it is; 0 for what is no file.
    pub bytes: u64,
}

/// How much of an agent's commits is read.
#[derive(Clone, Copy, Debug)]
pub struct HistoryBounds {
    /// So many commits.
    pub commits: usize,
    /// What is new in one of them is no longer than this.
    pub bytes: u64,
}

impl Worktree {
    /// Returns the newest commit that is not tm's on a commit of tm's; `None` where there is none. What tm makes again has
    /// the trailer `mark`.
    ///
    /// # Errors
    /// git refused.
    pub fn commits_of_agent(
        &self,
        on: &CommitId,
        mark: &(String, String),
    ) -> Result<Option<CommitId>> {
        let repository = self.repository();
        let Some(mut tip) = repository
            .branch_tip(self.branch())?
            .filter(|tip| tip != on)
        else {
            return Ok(None);
        };
        // A tm that was killed has made its commit of this very work already: what it is made of is wanted.
        if let [first, second] = repository.parents(&tip)?.as_slice()
            && first == on
            && repository.past(second)?.trailers.contains(mark)
        {
            tip = second.clone();
        }
        Ok(repository.is_ancestor(on, &tip)?.then_some(tip))
    }
}

impl Repository {
    /// Returns the commits between, the oldest first; `None` where they are no chain, or more than may be.
    ///
    /// # Errors
    /// git refused, or an object is not there.
    pub fn agent_commits(
        &self,
        on: &CommitId,
        tip: &CommitId,
        bounds: HistoryBounds,
    ) -> Result<Option<Vec<AgentCommit>>> {
        let most = format!("--max-count={}", bounds.commits.saturating_add(1));
        let commits = self.log(|git| {
            let git = git.line("--topo-order --reverse").arg(most);
            git.commit(tip).arg("--not").commit(on).arg("--")
        })?;
        if commits.len() > bounds.commits {
            return Ok(None);
        }
        let mut before = on;
        for commit in &commits {
            if commit.parents.as_slice() != std::slice::from_ref(before) {
                return Ok(None);
            }
            before = &commit.id;
        }
        commits
            .into_iter()
            .map(|commit| self.agent_commit(commit, bounds))
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }

    fn agent_commit(&self, past: PastCommit, bounds: HistoryBounds) -> Result<AgentCommit> {
        let files = self.brought(&past)?;
        let may_be_read = files.iter().map(|file| file.bytes).sum::<u64>() <= bounds.bytes;
        let added = if may_be_read {
            self.added(&past)?
        } else {
            String::new()
        };
        Ok(AgentCommit { past, files, added })
    }

    fn brought(&self, commit: &PastCommit) -> Result<Vec<BroughtFile>> {
        let listing = self.between(commit).line("--raw --no-abbrev -z").bytes()?;
        let (mut files, mut ids) = (Vec::new(), Vec::new());
        for (said, path) in pairs(&listing) {
            let said = String::from_utf8_lossy(said);
            let words: Vec<&str> = said.split(' ').collect();
            if let [_, mode, _, id, what] = words.as_slice()
                && *what != "D"
            {
                files.push(BroughtFile {
                    path: path_of(path),
                    mode: (*mode).to_owned(),
                    bytes: 0,
                });
                ids.push(format!("{id}\n"));
            }
        }
        let sizes = self
            .git("cat-file")
            .arg("--batch-check=%(objecttype) %(objectsize)")
            .input(ids.concat());
        for (file, said) in files.iter_mut().zip(sizes.text()?.lines()) {
            file.bytes = said
                .strip_prefix("blob ")
                .and_then(|size| size.parse().ok())
                .unwrap_or(0);
        }
        Ok(files)
    }

    fn added(&self, commit: &PastCommit) -> Result<String> {
        let patch = self
            .between(commit)
            .line("--patch --unified=0 --text --no-color")
            .line("--no-ext-diff --no-textconv")
            .bytes()?;
        let text = String::from_utf8_lossy(&patch);
        Ok(text
            .lines()
            .filter_map(|line| line.strip_prefix('+'))
            .collect::<Vec<_>>()
            .join("\n"))
    }

    fn between(&self, commit: &PastCommit) -> Git {
        let git = self.git_on_objects("diff-tree -r --no-renames");
        let git = match self.assert_walkable(&commit.id) {
            Ok(()) => git,
            Err(error) => git.refused(error),
        };
        commit
            .parents
            .iter()
            .fold(git, Git::commit)
            .commit(&commit.id)
    }

    /// Makes a commit of the same tree and author on another one, with a message of the caller's.
    ///
    /// # Errors
    /// git refused.
    pub fn commit_again(
        &self,
        commit: &AgentCommit,
        on: &CommitId,
        message: &str,
    ) -> Result<CommitId> {
        let Author { name, email, date } = &commit.past.author;
        self.git_commit_tree(&commit.past.tree, &[on], message)
            .variable("GIT_AUTHOR_NAME", name)
            .variable("GIT_AUTHOR_EMAIL", email)
            .variable("GIT_AUTHOR_DATE", date)
            .object_id()
            .map(CommitId::new)
    }
}
