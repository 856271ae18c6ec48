//! What lies in a folder where somebody else works, as a tree: nothing there says where git's folder is, by which settings git
//! goes, or which programs it starts.

use crate::git::{Git, GitPlace, LONGEST_OF_WORK, joined};
use crate::indexed::listed_repositories;
use crate::nested::{assert_git_may_look, assert_git_may_read_rules};
use crate::{Repository, Result, TreeId};
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

impl Repository {
    /// Returns everything in a folder as a tree of this repository, but for what the rules there leave out, by what the folder
    /// began with. Filters of the user's change nothing: their commands would be started there, held by nobody.
    ///
    /// # Errors
    /// git can't be let look there, or refused.
    pub fn tree_of_others(&self, folder: &Path, base: &CommitId) -> Result<TreeId> {
        assert_git_may_look(folder, &[])?;
        let scratch = self.scratch_git_dir()?;
        let place = GitPlace::of(scratch.path()).with_files(folder);
        let unfiltered = self.live_settings()?.without_filter_commands();
        let git = |words: &str| -> Git {
            let git = place.git(&self.environment).at_most(LONGEST_OF_WORK);
            let git = unfiltered.iter().fold(git, |git, it| git.setting(it));
            git.line(words)
        };
        git("read-tree").commit(base).done()?;
        let listed: Vec<PathBuf> = git("ls-files -z").reading().paths()?;
        assert_git_may_read_rules(folder, listed.iter().filter_map(|it| it.parent()))?;
        // git would ask each what it holds, and it has settings of its own, which may name programs.
        let within = listed_repositories(git("ls-files --stage -z").reading())?;
        let pass_over = git("update-index --skip-worktree -z --stdin");
        pass_over.input(joined(&within)).done()?;
        git("add --all -- .").done()?;
        git("write-tree").tree()
    }
}
