//! Commits the statuses of what has landed, in a commit of tm's own: where the user has it landed, in a pull request, and
//! at the end of a run where that is asked for. Nothing but statuses is in it.

use crate::error::Error;

use crate::notice::Notice;
use crate::project::Project;
use std::path::Path;
use tm_config::CommitBacklog;
use tm_runtime::JournalHeader;
use tm_runtime::audit::STATUSES_PHASE;
use tm_runtime::standing::{Ledger, standing};
use tm_scheduler::{CommitId, Recognised, RunStatus, Scheduler, Status, Task, TaskId};
use tm_store::backlog::{
    BacklogSource, ReadOptions, RollUp, StatusChange, is_same_but_for_statuses,
};

/// The backlog of a run, as a file of the repository.
pub(crate) struct Statuses<'a> {
    project: &'a Project,
    header: &'a JournalHeader,
}

/// A backlog as it is committed, and as it is to be.
struct Changed {
    path: String,
    before: String,
    after: String,
    ids: Vec<TaskId>,
}

impl<'a> Statuses<'a> {
    pub(crate) const fn of(project: &'a Project, header: &'a JournalHeader) -> Self {
        Self { project, header }
    }

    /// Commits them on top of the branch of a run that is over: one that can be taken up owns its branch.
    pub(crate) fn commit_on_branch(&self, run: &Scheduler) -> Result<(), Error> {
        let is_over = matches!(run.ended(), Some(RunStatus::Completed | RunStatus::Failed));
        let branch = &self.header.integration_branch;
        let repository = &self.project.repository;
        let tip = repository.branch_tip(branch)?;
        let Some(tip) = tip.filter(|_| is_over && self.is_wanted()) else {
            return Ok(());
        };
        let Some(changed) = self.changed(&tip)? else {
            return Ok(());
        };
        let commit = self.commit(&tip, &changed, &changed.after)?;
        repository.move_branch(branch, &commit, Some(&tip))?;
        self.tell(&changed, branch.as_str());
        Ok(())
    }

    /// Commits them on the branch that the user is on, where it has the work. Other changes of theirs stay as they are.
    pub(crate) fn commit_at_head(&self, onto: &str) -> Result<(), Error> {
        let repository = &self.project.repository;
        let branch = &self.header.integration_branch;
        let head = repository.head()?.commit;
        let Some(tip) = repository.branch_tip(branch)? else {
            return Ok(());
        };
        if !self.is_wanted() || !repository.is_ancestor(&tip, &head)? {
            return Ok(());
        }
        let Some(changed) = self.changed(&head)? else {
            return Ok(());
        };
        let file = self.project.root().join(&changed.path);
        let working = tm_untrusted::read_own(&file, LARGEST)?;
        let working = String::from_utf8(working).unwrap_or_default();
        let text = self.to_commit(&changed, &working)?;
        let commit = self.commit(&head, &changed, text)?;
        if working == changed.before {
            tm_store::atomic::replace(&file, text.as_bytes())?;
        }
        repository.advance_checkout(&head, &commit, &changed.path)?;
        self.tell(&changed, onto);
        Ok(())
    }

    fn tell(&self, changed: &Changed, branch: &str) {
        self.project.tell(&Notice::StatusesCommitted {
            ids: &changed.ids,
            branch,
        });
    }

    fn is_wanted(&self) -> bool {
        self.project.loaded.settings.git.commit_backlog != CommitBacklog::Off
    }

    /// What tm wrote into the user's file is committed as it is, where that is all that differs there.
    fn to_commit<'t>(&self, changed: &'t Changed, working: &'t str) -> Result<&'t str, Error> {
        if working == changed.before
            || !is_same_but_for_statuses(&changed.path, &changed.after, working)
        {
            return Ok(&changed.after);
        }
        let (_folder, ours) = copy(&changed.path, &changed.after)?;
        let (_folder, theirs) = copy(&changed.path, working)?;
        let options = ReadOptions::of_tag(&self.header.tag);
        let is_same = ours.read(&options)?.tasks == theirs.read(&options)?.tasks;
        Ok(if is_same { working } else { &changed.after })
    }

    /// The backlog at a commit, with the statuses that follow from the history there; `None` where nothing differs, or
    /// where it is no file of the repository.
    fn changed(&self, tip: &CommitId) -> Result<Option<Changed>, Error> {
        let repository = &self.project.repository;
        let place = self.project.now_at(&self.header.backlog)?;
        let within = place.strip_prefix(self.project.root()).ok();
        let Some(path) = within.and_then(Path::to_str) else {
            return Ok(None);
        };
        let Some(before) = repository.text_at(tip, path)? else {
            return Ok(None);
        };
        let (_folder, source) = copy(path, &before)?;
        // A backlog of then that can't be read, or has not the tag, is left alone.
        let Ok(backlog) = source.read(&ReadOptions::of_tag(&self.header.tag)) else {
            return Ok(None);
        };
        let ids = self.done(tip, &backlog.tasks)?;
        if ids.is_empty() {
            return Ok(None);
        }
        let done = |id: &TaskId| StatusChange {
            id: id.clone(),
            status: Status::Done,
        };
        let changes: Vec<StatusChange> = ids.iter().map(done).collect();
        source.set_statuses(&self.header.tag, &changes, RollUp::Relatives, None)?;
        let after = std::fs::read_to_string(source.path())?;
        Ok((after != before).then(|| Changed {
            path: path.to_owned(),
            before,
            after,
            ids,
        }))
    }

    /// The tasks that are done by the history of a commit.
    fn done(&self, tip: &CommitId, tasks: &[Task]) -> Result<Vec<TaskId>, Error> {
        let (repository, tag) = (&self.project.repository, &self.header.tag);
        let works = standing(repository, tip)?;
        let mut open = self.project.directory.reopened(tag)?;
        let rejected = Ledger::read(repository)?.standing_among(&works);
        open.extend(rejected.into_iter().map(|(rejected, _)| rejected.task));
        let known = Recognised::of(tasks, tag, &works, &open);
        Ok(known.done.into_iter().map(|(id, _)| id).collect())
    }

    fn commit(&self, on: &CommitId, changed: &Changed, text: &str) -> Result<CommitId, Error> {
        let repository = &self.project.repository;
        let texts = [(changed.path.clone(), text.to_owned())];
        let with_text = repository.with_texts(&repository.tree_of(on)?, &texts, on)?;
        let tree = repository.tree_of(&with_text)?;
        let ids: Vec<&str> = changed.ids.iter().map(TaskId::as_str).collect();
        let message = format!(
            "Set statuses: {} done\n\nPhase: {STATUSES_PHASE}\nTag: {}\nRun: {}\nBacklog: {}\n",
            ids.join(", "),
            self.header.tag,
            self.header.run_id,
            changed.path
        );
        Ok(repository.commit_as_user(&tree, &[on], &message)?)
    }
}

/// No backlog is larger.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A copy of the file elsewhere, which lasts as long as its folder is held.
fn copy(path: &str, text: &str) -> Result<(tempfile::TempDir, BacklogSource), Error> {
    let folder = tempfile::tempdir()?;
    let name = Path::new(path).file_name().unwrap_or_default();
    let file = folder.path().join(name);
    tm_store::atomic::replace(&file, text.as_bytes())?;
    Ok((folder, BacklogSource::at(&file)?))
}
