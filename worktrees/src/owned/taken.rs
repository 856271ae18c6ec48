//! What is in a folder of tm's own: listed, looked at, and taken as a tree. Whoever worked there left it, so HEAD and
//! index are read with care.

use super::untouched::{ByIndex, Unnoticed};
use super::{OwnedFolder, SHORT};
use crate::as_written::{reading_every_file, touch};
use crate::files::{beginning, copy_with_time, replace};
use crate::git::{Git, GitPlace, LONGEST_OF_WORK, are_few_words, exclusion, is_object_id, joined};
use crate::indexed::{INDEX_BYTES, Indexed, Known, folders, listed_repositories, repositories};
use crate::nested::{assert_git_may_enter, assert_git_may_look, assert_git_may_read_rules};
use crate::{OrFailedTo as _, Result, TreeId};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tm_scheduler::CommitId;

/// A log of git's is no longer than this.
pub(crate) const LOG_BYTES: usize = 4 * 1024 * 1024;

/// A look at what is under way reads no more than this.
const LOOKED_AT_BYTES: u64 = 64 * 1024 * 1024;

/// Nothing of it goes on for longer: it is worth less than that, and others wait for it at the end.
pub const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// Lists the untracked files of a worktree of tm's own, for whoever has not the worktree itself.
#[derive(Clone, Debug)]
pub struct Lister(pub(crate) Arc<OwnedFolder>);

impl Lister {
    /// Returns what is in the folder and not in the index, a folder where nothing in it is.
    ///
    /// # Errors
    /// git refused.
    pub fn untracked(&self) -> Result<Vec<PathBuf>> {
        self.0.untracked()
    }
}

/// Looks into a worktree of tm's own, by an index that is a copy: neither the agent nor tm's own next step is in its way.
#[derive(Clone, Debug)]
pub struct Looker {
    pub(crate) folder: Arc<OwnedFolder>,
    pub(crate) base: CommitId,
}

impl Looker {
    /// Returns what is there now as a commit on the worktree's base, on no branch; what is being written may be in it by half.
    ///
    /// # Errors
    /// git can't take what is there by then, or the disk refused.
    pub fn commit(&self, until: Instant) -> Result<CommitId> {
        let scratch = tempfile::tempdir().or_failed_to("write in", std::env::temp_dir())?;
        let copy = scratch.path().join("index");
        copy_with_time(&self.folder.index_file(), &copy)?;
        let place = GitPlace {
            index: Some(copy.clone()),
            ..self.folder.place()
        };
        // Whoever works there may make a pipe right after it was looked for.
        let git = |words: &str| {
            let git = self.folder.git_on_work(words).at(&place).once();
            git.until(until)
        };
        if let ByIndex::Touched(unnoticed) = self.folder.by_index(&copy) {
            assert_git_may_look(&self.folder.path, &self.folder.kept())?;
            self.folder.assert_may_be_led_by(&copy, git)?;
            let listing = git("ls-files --others --modified --exclude-standard -z").reading();
            let paths: Vec<PathBuf> = self.folder.beside_kept(listing)?.paths()?;
            self.assert_short(&paths)?;
            self.folder.add_by(&copy, unnoticed, git)?;
        }
        let tree = self.folder.tree_of(&copy, git)?;
        self.folder.repository.commit_to_test(&tree, &self.base)
    }

    /// Refuses what would take long to read: a look is worth less than that.
    fn assert_short(&self, paths: &[PathBuf]) -> Result<()> {
        let mut left = LOOKED_AT_BYTES;
        for path in paths {
            let path = self.folder.path.join(path);
            let length = path.symlink_metadata().map_or(0, |file| file.len());
            left = left
                .checked_sub(length)
                .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))
                .or_failed_to("look at", path)?;
        }
        Ok(())
    }
}

impl OwnedFolder {
    /// A call of git that looks at what somebody did in the folder.
    fn git_on_work(&self, words: &str) -> Git {
        self.git(words).at_most(LONGEST_OF_WORK)
    }

    /// Returns what is in the folder and not in the index, a folder where nothing in it is.
    pub(crate) fn untracked(&self) -> Result<Vec<PathBuf>> {
        assert_git_may_look(&self.path, &[])?;
        self.git_on_work("ls-files --others --directory --no-empty-directory -z")
            .reading()
            .paths()
    }

    /// Returns what lies in the folder and is left out by the rules of the tree, once all else is in the index.
    pub(crate) fn ignored(&self) -> Result<Vec<PathBuf>> {
        if self.has_nothing_unknown() {
            return Ok(Vec::new());
        }
        let listing = "ls-files --others --ignored --exclude-standard --directory -z";
        self.beside_kept(self.git_on_work(listing).reading())?
            .paths()
    }

    /// Has a listing pass over what is kept, into which nobody has looked yet.
    fn beside_kept(&self, listing: Git) -> Result<Git> {
        let kept: Vec<OsString> = self.kept().iter().map(|kept| exclusion(kept)).collect();
        if kept.is_empty() {
            return Ok(listing);
        }
        if !are_few_words(&kept) {
            assert_git_may_look(&self.path, &[])?;
            return Ok(listing);
        }
        Ok(listing.args(["--", "."]).args(kept))
    }

    /// Refuses an index by which git can't be let look: it goes to each folder and repository that is named there.
    fn assert_may_be_led_by(&self, index: &Path, git: impl Fn(&str) -> Git) -> Result<()> {
        // What is there as a folder has more in it than the index says.
        let names_all = || folders(index).is_some_and(|whole| whole.is_empty());
        let known = self.repository.read_or(
            |_| names_all().then(|| Known::read(index, self.mapped_writes()))?,
            || Known::list(git("ls-files --stage -z").reading()),
        )?;
        let within = known.folders.iter().flat_map(|(folder, known)| {
            let within = known.iter().filter(|(_, it)| **it == Indexed::Repository);
            within.map(|(name, _)| Path::new(folder).join(&**name))
        });
        assert_git_may_enter(&self.path, &within.collect::<Vec<_>>())?;
        assert_git_may_read_rules(&self.path, known.folders.keys().map(Path::new))
    }

    /// Returns the index that whoever worked with a git folder of its own left, once it is brought home.
    pub(crate) fn left_index(&self) -> PathBuf {
        self.own.join("left-index")
    }

    /// Returns the paths that whoever worked in the folder put into an index although the rules leave them out.
    pub(crate) fn forced_by_others(&self) -> Vec<PathBuf> {
        let listed = || -> Result<Vec<PathBuf>> {
            // A copy: nobody can change it while git reads it.
            let index = beginning(&self.left_index(), INDEX_BYTES)
                .or_else(|_| beginning(&self.git_dir().join("index"), INDEX_BYTES))?;
            let copy =
                tempfile::NamedTempFile::new_in(&self.own).or_failed_to("write", &self.own)?;
            replace(copy.path(), &index)?;
            self.repository.assert_index_walkable(copy.path())?;
            let git = |words: &str| {
                self.git_on_work(words)
                    .variable("GIT_INDEX_FILE", copy.path())
            };
            self.assert_may_be_led_by(copy.path(), git)?;
            git("ls-files --cached --ignored --exclude-standard -z")
                .reading()
                .paths()
        };
        // An index that can't be read says nothing.
        listed().unwrap_or_default()
    }

    /// Returns everything in the folder as a tree, but for what the tree's own rules leave out.
    pub(crate) fn tree(&self) -> Result<TreeId> {
        self.add()?;
        self.write_tree()
    }

    /// Takes everything in the folder into tm's index, but for what the tree's own rules leave out.
    pub(crate) fn add(&self) -> Result<()> {
        self.assert_own()?;
        self.own_git().put_alternates_back()?;
        let index = self.index_file();
        match self.by_index(&index) {
            ByIndex::Untouched => Ok(()),
            ByIndex::Touched(unnoticed) => {
                self.add_by(&index, unnoticed, |words| self.git_on_work(words))
            }
        }
    }

    /// Takes everything in the folder into an index, but for what is kept and what the tree's own rules leave out.
    fn add_by(&self, index: &Path, unnoticed: Unnoticed, git: impl Fn(&str) -> Git) -> Result<()> {
        let kept = &self.kept();
        assert_git_may_look(&self.path, kept)?;
        let mut paths = vec![PathBuf::from(".")];
        if !kept.is_empty() {
            // git refuses to be told to pass over what a rule has it pass over.
            let ignored = git("check-ignore -z --stdin")
                .reading()
                .ignored_among(kept)?;
            paths.extend(
                kept.iter()
                    .filter(|kept| !ignored.contains(*kept))
                    .map(|kept| exclusion(kept).into()),
            );
        }
        let add = || {
            let add = git("add --all --pathspec-from-file=- --pathspec-file-nul");
            add.input(joined(&paths)).done()
        };
        let add = || self.seeing_all_that_was_written(index, unnoticed, add);
        self.passing_over_repositories(index, &git, add)
    }

    /// Takes paths into tm's index although the rules leave them out.
    pub(crate) fn add_forced(&self, paths: &[PathBuf]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        self.git_on_work("add --force --pathspec-from-file=- --pathspec-file-nul")
            .variable("GIT_LITERAL_PATHSPECS", "1")
            .input(joined(paths))
            .done()
    }

    /// Returns what tm's index holds as a tree.
    pub(crate) fn write_tree(&self) -> Result<TreeId> {
        self.tree_of(&self.index_file(), |words| self.git_on_work(words))
    }

    /// Returns what an index of tm's own holds as a tree.
    fn tree_of(&self, index: &Path, git: impl Fn(&str) -> Git) -> Result<TreeId> {
        self.repository.read_or(
            |reader| reader.tree_of_index(index),
            || git("write-tree").tree(),
        )
    }

    /// Returns everything in the folder that git can take as a tree, leaving out what it refuses.
    pub(crate) fn tree_of_what_can_be_taken(&self) -> Result<TreeId> {
        // Its exit code says that something was refused; what was not is in the index nevertheless.
        let (index, git) = (self.index_file(), |words: &str| self.git_on_work(words));
        let (kept, mut paths) = (self.kept(), vec![PathBuf::from(".")]);
        assert_git_may_look(&self.path, &kept)?;
        paths.extend(kept.iter().map(|kept| exclusion(kept).into()));
        let add = || {
            let add = "add --all --ignore-errors --pathspec-from-file=- --pathspec-file-nul";
            self.git_on_work(add).input(joined(&paths)).answer()
        };
        let unnoticed = self.by_index(&index).unnoticed();
        let add = || self.seeing_all_that_was_written(&index, unnoticed, add);
        let _refused = self.passing_over_repositories(&index, git, add)?;
        self.write_tree()
    }

    /// Has git take what lies in the folder, but for what the repositories in it hold: git asks each that the index knows
    /// what differs there, by that one's own settings, which name programs, and whoever worked here wrote them. Where their
    /// HEADs are is found out before, which starts nothing.
    fn passing_over_repositories<T>(
        &self,
        index: &Path,
        git: impl Fn(&str) -> Git,
        take: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let all = || match repositories(index) {
            Some(found) => Ok(found),
            None => listed_repositories(git("ls-files --stage -z").reading()),
        };
        let update = |how: &str, paths: &[PathBuf]| {
            let call = git("update-index").arg(how);
            call.args(["-z", "--stdin"]).input(joined(paths)).done()
        };
        let before = all()?;
        if before.is_empty() {
            return take();
        }
        // Of one that a killed tm was passing over, git would take away what it knows.
        update("--no-skip-worktree", &before)?;
        let (beyond, before): (Vec<_>, Vec<_>) = before
            .into_iter()
            .partition(|path| self.is_beyond_a_link(path));
        update("--force-remove", &beyond)?;
        assert_git_may_enter(&self.path, &before)?;
        update("--remove", &before)?;
        let within = all()?;
        update("--skip-worktree", &within)?;
        let taken = take();
        update("--no-skip-worktree", &within)?;
        taken
    }

    /// Does something in which git compares the files here with an index, which it does by their times: those that were
    /// written through a mapping, which leaves them, get others first.
    fn seeing_all_that_was_written<T>(
        &self,
        index: &Path,
        unnoticed: Unnoticed,
        compare: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let is_own = index == self.index_file();
        let Some(unnoticed) = unnoticed.filter(|some| is_own || some.is_empty()) else {
            // Nobody can tell of which files, or somebody is at work there, whose files stay as they are.
            return reading_every_file(index, self.mapped_writes(), compare);
        };
        for path in unnoticed {
            touch(&path).or_failed_to("look at", path)?;
        }
        compare()
    }

    /// Whether a path leads through a link, where git knows nothing.
    fn is_beyond_a_link(&self, path: &Path) -> bool {
        let above = path.ancestors().skip(1);
        let mut above = above.filter(|above| !above.as_os_str().is_empty());
        above.any(|above| self.path.join(above).is_symlink())
    }

    /// Returns the commit at which whoever worked in the folder left HEAD; `None` when it names none.
    pub(crate) fn head_that_was_left(&self) -> Option<CommitId> {
        let text = beginning(&self.git_dir().join("HEAD"), SHORT).ok()?;
        let text = str::from_utf8(&text).ok()?.trim_end();
        if is_object_id(text) {
            return self.repository.resolve(text).ok();
        }
        let reference = text.strip_prefix("ref: ")?;
        self.repository
            .resolve(reference)
            .ok()
            .or_else(|| self.last_in_log())
    }

    /// Returns where HEAD was last, where its branch was deleted.
    fn last_in_log(&self) -> Option<CommitId> {
        let log = beginning(&self.git_dir().join("logs/HEAD"), LOG_BYTES).ok()?;
        self.repository.resolve(&last_of_log(&log)?).ok()
    }
}

/// Returns the id at which a log of git's ends.
pub(crate) fn last_of_log(log: &[u8]) -> Option<String> {
    let log = String::from_utf8_lossy(log);
    let id = log.lines().last()?.split(' ').nth(1)?;
    is_object_id(id).then(|| id.to_owned())
}
