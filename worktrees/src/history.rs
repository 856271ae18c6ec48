//! Reads commits as they are: parents, tree, author, message and trailers, many of them at once. Knows nothing of what
//! messages mean.

use crate::asked::Asking;
use crate::git::{Git, LONGEST_OF_MERGE, fields, is_object_id, unexpected};
use crate::{Error, Repository, Result, TreeId};
use std::fmt::Write as _;
use tm_scheduler::CommitId;

/// By no more files is history chosen, and by no more bytes of their names.
const MOST_FILES: usize = 200;
const MOST_BYTES: usize = 64 * 1024;

/// One commit of a history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastCommit {
    /// Its id.
    pub id: CommitId,
    /// Its parents, the first one first.
    pub parents: Vec<CommitId>,
    /// Its tree.
    pub tree: TreeId,
    /// The first line of its message.
    pub subject: String,
    /// Who it says has written it.
    pub author: Author,
    /// The trailers of its message.
    pub trailers: Vec<(String, String)>,
    /// The whole message.
    pub message: String,
}

impl PastCommit {
    /// Tells whether a trailer of this name is there.
    pub fn has(&self, name: &str) -> bool {
        self.trailers.iter().any(|(key, _)| key == name)
    }

    /// Tells whether a trailer says this.
    pub fn says(&self, name: &str, value: &str) -> bool {
        let mut trailers = self.trailers.iter();
        trailers.any(|(key, said)| key == name && said.trim() == value)
    }
}

/// Who a commit says has written it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// The moment, as git writes it: seconds and time zone.
    pub date: String,
}

/// What is asked of a commit, a line each, and its message at the end.
const FORMAT: &str = "--format=%H%n%P%n%T%n%s%n%an%n%ae%n%ad%n\
                      %(trailers:only,unfold,separator=%x1e,key_value_separator=%x1f)%n%B";

impl Repository {
    /// Reads the commits that the words of a call choose.
    pub(crate) fn log(&self, chosen: impl FnOnce(Git) -> Git) -> Result<Vec<PastCommit>> {
        let call = self.git("log -z --date=raw").arg(FORMAT);
        fields(&chosen(call).bytes()?).map(past_commit).collect()
    }

    /// Returns the commits that any of `tips` has and `from` has not, each after its parents.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn history(&self, from: &CommitId, tips: &[CommitId]) -> Result<Vec<PastCommit>> {
        let named = named(tips)? + "^" + &named(std::slice::from_ref(from))?;
        self.log(|git| git.line("--topo-order --reverse --stdin").input(named))
    }

    /// Returns the commits up to `tip` whose messages have one of these words, the newest first, each before its parents.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn told(&self, tip: &CommitId, words: &[&str]) -> Result<Vec<PastCommit>> {
        let words = words.iter().map(|words| format!("--grep={words}"));
        self.log(|git| {
            git.line("--topo-order --fixed-strings")
                .args(words)
                .commit(tip)
                .arg("--")
        })
    }

    /// Returns commits in the order in which they are named.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn told_of(&self, commits: &[CommitId]) -> Result<Vec<PastCommit>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let named = named(commits)?;
        self.log(|git| git.line("--no-walk=unsorted --stdin").input(named))
    }

    /// Returns one commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn past(&self, commit: &CommitId) -> Result<PastCommit> {
        self.told_of(std::slice::from_ref(commit))?
            .pop()
            .ok_or_else(|| Error::unknown(commit))
    }

    /// Returns the newest commit from `head` back, along first parents, whose message has this trailer.
    ///
    /// # Errors
    /// git refused.
    pub fn last_with_trailer(
        &self,
        head: &CommitId,
        name: &str,
        value: &str,
    ) -> Result<Option<CommitId>> {
        let holds = format!("--grep={name}: {value}");
        let found = self.log(|git| {
            git.line("--first-parent --fixed-strings")
                .arg(holds)
                .commit(head)
        })?;
        let wanted = (name.to_owned(), value.to_owned());
        let mut found = found.into_iter();
        Ok(found
            .find(|commit| commit.trailers.contains(&wanted))
            .map(|commit| commit.id))
    }

    /// Returns the values of a trailer in the commits that `to` has and `from` has not, those that touch `files` only
    /// when there are any, and no more than git can be told of and soon compares.
    ///
    /// # Errors
    /// git refused.
    pub fn trailers_between(
        &self,
        from: &CommitId,
        to: &CommitId,
        files: &[String],
        name: &str,
    ) -> Result<Vec<String>> {
        let range = format!("{from}..{to}");
        let bytes: usize = files.iter().map(String::len).sum();
        let is_short = files.len() <= MOST_FILES && bytes <= MOST_BYTES;
        let files = if is_short { files } else { &[] };
        let trailers = self
            .log(|git| {
                let git = git.at_most(LONGEST_OF_MERGE);
                git.arg(range).arg("--").args(files)
            })?
            .into_iter()
            .flat_map(|commit| commit.trailers);
        Ok(trailers
            .filter(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_empty())
            .map(|(_, value)| value)
            .collect())
    }

    /// Returns a commit and, where it is a merge, all that it brought to its first parent.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn brought_by(&self, commit: &CommitId) -> Result<Vec<CommitId>> {
        let parents = self.parents(commit)?;
        let [first, _, ..] = parents.as_slice() else {
            return Ok(vec![commit.clone()]);
        };
        Ok(self
            .git("rev-list")
            .commit(commit)
            .arg("--not")
            .commit(first)
            .arg("--")
            .lines()?
            .into_iter()
            .map(CommitId::new)
            .collect())
    }

    /// Returns the one of these commits that contains the others, all of them on one line from `base` on; `base` itself
    /// when it has them all.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn newest(&self, base: &CommitId, commits: &[CommitId]) -> Result<CommitId> {
        let mut input = format!("^{base}\n");
        for commit in commits {
            let _ = writeln!(input, "{commit}");
        }
        Ok(self
            .git("rev-list --topo-order --max-count=1 --stdin")
            .input(input)
            .lines()?
            .into_iter()
            .next()
            .map_or_else(|| base.clone(), CommitId::new))
    }

    /// Returns the commit where two histories part; `None` when they have nothing in common.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>> {
        Ok(self
            .git("merge-base")
            .commit(one)
            .commit(other)
            .text_if_any()?
            .map(CommitId::new))
    }

    /// Returns the first parent of a commit; `None` for one without.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn first_parent(&self, commit: &CommitId) -> Result<Option<CommitId>> {
        Ok(self.parents(commit)?.into_iter().next())
    }

    /// Returns the parents of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn parents(&self, commit: &CommitId) -> Result<Vec<CommitId>> {
        let of_git = || Ok(self.past(commit)?.parents);
        self.read_or(
            |reader| reader.parents(commit),
            || self.ask_or(|asked| Some(asked.commit(commit.as_str())?.parents), of_git),
        )
    }

    /// Tells whether `ancestor` is reachable from `descendant`; every commit is from itself.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool> {
        if ancestor == descendant {
            return Ok(true);
        }
        let of_git = || {
            self.git("merge-base --is-ancestor")
                .commit(ancestor)
                .commit(descendant)
                .yes_or_no()
        };
        self.read_or(|reader| reader.is_ancestor(ancestor, descendant), of_git)
    }

    /// Returns the commit that a revision names.
    ///
    /// # Errors
    /// It names none.
    pub fn resolve(&self, revision: &str) -> Result<CommitId> {
        if let Some(found) = self.read(|reader| reader.commit(revision)) {
            return found.here().ok_or_else(|| Error::unknown(revision));
        }
        let of_git = || self.object(revision, "commit").map(CommitId::new);
        self.ask_or(|asked| Some(asked.commit(revision)?.id), of_git)
    }

    /// Returns the id of the object of a kind that a revision leads to.
    pub(crate) fn object(&self, revision: &str, kind: &str) -> Result<String> {
        let answer = self
            .git("rev-parse --verify --quiet --end-of-options")
            .arg(format!("{revision}^{{{kind}}}"))
            .answer()?;
        let id = String::from_utf8_lossy(&answer.stdout);
        Some(id.trim_end())
            .filter(|id| answer.code == 0 && is_object_id(id))
            .map(ToOwned::to_owned)
            .ok_or_else(|| Error::unknown(revision))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId> {
        let known = || self.trees.lock();
        if let Some(tree) = known().get(commit) {
            return Ok(tree.clone());
        }
        let of_git = || self.object(commit.as_str(), "tree").map(TreeId);
        let tree = self.read_or(
            |reader| reader.tree_of(commit.as_str()),
            || {
                let tree = |asked: &Asking<'_>| Some(TreeId(asked.commit(commit.as_str())?.tree));
                self.ask_or(tree, of_git)
            },
        )?;
        if is_object_id(commit.as_str()) {
            known().insert(commit.clone(), tree.clone());
        }
        Ok(tree)
    }

    /// Refuses a commit of another tree.
    ///
    /// # Errors
    /// Its tree is another one, or there is no such commit.
    pub fn assert_tree_of(&self, commit: &CommitId, tree: &TreeId) -> Result<()> {
        let found = self.tree_of(commit)?;
        if found == *tree {
            return Ok(());
        }
        Err(Error::OtherTree {
            commit: commit.clone(),
            expected: tree.to_string(),
            found: found.to_string(),
        })
    }

    /// Tells whether a part of the history is not here.
    ///
    /// # Errors
    /// git refused.
    pub fn is_shallow(&self) -> Result<bool> {
        Ok(self.git("rev-parse --is-shallow-repository").text()? == "true")
    }
}

fn past_commit(entry: &[u8]) -> Result<PastCommit> {
    let text = String::from_utf8_lossy(entry);
    let mut parts = text.splitn(9, '\n').map(ToOwned::to_owned);
    let mut part = || parts.next().ok_or_else(|| unexpected(&["log"], entry));
    let trailer = |trailer: &str| {
        let (name, value) = trailer.split_once('\u{1f}')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    Ok(PastCommit {
        id: CommitId::new(part()?),
        parents: part()?.split_whitespace().map(CommitId::new).collect(),
        tree: TreeId::new(part()?),
        subject: part()?,
        author: Author {
            name: part()?,
            email: part()?,
            date: part()?,
        },
        trailers: part()?.split('\u{1e}').filter_map(trailer).collect(),
        message: part()?,
    })
}

/// Returns commits in the form in which git reads many of them; a text that is no id refuses all.
fn named(commits: &[CommitId]) -> Result<String> {
    let no_id = commits.iter().find(|commit| !is_object_id(commit.as_str()));
    no_id.map_or(Ok(()), |text| Err(Error::unknown(text)))?;
    Ok(commits
        .iter()
        .flat_map(|commit| [commit.as_str(), "\n"])
        .collect())
}
