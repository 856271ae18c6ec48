//! Pull requests for the work of a run: which there are to be, the branches pushed, and `gh` called for each.

mod github;
mod plan;

use crate::committing::Statuses;
use crate::error::Error;
use crate::landing::{Rejected, passable, refuse_rejected};
use crate::project::Project;
use crate::review::ReviewedRun;
use std::path::PathBuf;
use tm_reports::PullRequestText;
use tm_store::run::safe_name;
use tm_worktrees::BranchName;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct PullOrder {
    /// The run; the last one when not given.
    pub run: Option<String>,
    /// Which pull requests there are to be.
    pub per: Per,
    /// The branch that is to have the work; the default branch when not given.
    pub base: Option<String>,
    /// The remote; the one that is usual when not given.
    pub remote: Option<String>,
    /// Whether they are opened as drafts.
    pub draft: bool,
    /// Whether they may have rejected work.
    pub rejected: Rejected,
}

/// What has a pull request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Per {
    /// The run.
    Run,
    /// Each task, on top of what it was built on.
    Task,
}

/// One pull request.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// The branch.
    pub branch: BranchName,
    /// The branch that is to have the work.
    pub base: String,
    /// Its tasks.
    pub tasks: Vec<String>,
    /// Its words.
    pub text: PullRequestText,
    /// The file with its body: bodies can be longer than a command line, and may be changed before they are sent.
    pub body_file: PathBuf,
    /// Where it is, once it is there.
    pub url: Option<String>,
}

/// The pull requests of a run.
#[derive(Debug)]
pub struct PullRequests {
    /// The run.
    pub run: ReviewedRun,
    /// Where they are opened.
    pub remote: String,
    /// All of them.
    pub all: Vec<PullRequest>,
    /// Tasks that are left out, since their branches hold rejected work.
    pub left_out: Vec<String>,
    order: PullOrder,
}

impl PullRequests {
    /// Finds out which there are to be, and writes their bodies.
    ///
    /// # Errors
    /// The work of the run can't be passed on, or it is not clear where to.
    pub fn of(project: Project, order: PullOrder) -> Result<Self, Error> {
        let run = passable(
            project,
            "open pull requests for the work of a run while one",
            order.run.as_deref(),
        )?;
        if order.rejected == Rejected::LeftOut && order.per == Per::Run {
            refuse_rejected(&run, &BranchName::new(&run.summary.integration_branch)?)?;
        }
        let (remote, base) = (remote(&run, &order)?, base(&run, &order)?);
        let mut all = match order.per {
            Per::Run => plan::of_run(&run, &base)?,
            Per::Task => plan::per_task(&run, &base, order.rejected)?,
        };
        let folder = run.directory.path().join("pull-requests");
        std::fs::create_dir_all(&folder)?;
        for pull in &mut all {
            pull.body_file = folder.join(format!("{}.md", safe_name(&pull.branch.as_str().into())));
            tm_store::atomic::replace_own(
                &pull.body_file,
                tm_untrusted::clean(&pull.text.body).as_bytes(),
            )?;
        }
        let mut left_out: Vec<String> = Vec::new();
        if order.per == Per::Task {
            left_out.extend(run.branches()?.into_iter().map(|branch| branch.task.id));
            left_out.retain(|id| !all.iter().any(|pull| pull.tasks.contains(id)));
        }
        Ok(Self {
            run,
            remote,
            all,
            left_out,
            order,
        })
    }

    /// Tells whether the program is there that opens them.
    pub fn can_be_opened() -> bool {
        which::which("gh").is_ok()
    }

    /// Returns the commands that push the branches and open them, as words.
    ///
    /// # Errors
    /// A path has no name on a command line.
    pub fn commands(&self) -> Result<Vec<Vec<String>>, Error> {
        let mut push = vec!["git", "push", "--atomic", &self.remote];
        push.extend(self.all.iter().map(|one| one.branch.as_str()));
        let mut commands = vec![push];
        for one in &self.all {
            let create = github::create_words(one, &self.order)?;
            commands.push([vec!["gh"], create].concat());
        }
        let owned = |words: Vec<&str>| words.into_iter().map(ToOwned::to_owned).collect();
        Ok(commands.into_iter().map(owned).collect())
    }

    /// Pushes the branches and opens all, or brings those up to date that are open; `opened` is told of each.
    ///
    /// # Errors
    /// The remote or `gh` refused.
    pub async fn open(&mut self, opened: impl Fn(&PullRequest)) -> Result<(), Error> {
        let Self {
            run,
            remote,
            all,
            order,
            ..
        } = self;
        if order.per == Per::Run {
            Statuses::of(&run.project, &run.replayed.header)
                .commit_on_branch(&run.replayed.scheduler)?;
        }
        let branches: Vec<BranchName> = all.iter().map(|one| one.branch.clone()).collect();
        run.project
            .repository
            .push(remote, &branches)
            .map_err(Error::NotPushed)?;
        for one in all {
            one.url = Some(github::open(run, one, order).await?);
            opened(one);
        }
        Ok(())
    }
}

fn remote(run: &ReviewedRun, order: &PullOrder) -> Result<String, Error> {
    let repository = &run.project.repository;
    match &order.remote {
        Some(name) if repository.remotes()?.contains(name) => Ok(name.clone()),
        Some(name) => Err(Error::UnknownRemote(name.clone())),
        None => repository.remote()?.ok_or(Error::NoRemote),
    }
}

fn base(run: &ReviewedRun, order: &PullOrder) -> Result<String, Error> {
    match &order.base {
        Some(base) => Ok(BranchName::new(base)?.to_string()),
        None => run
            .project
            .repository
            .default_branch()?
            .ok_or(Error::NoDefaultBranch),
    }
}
