//! Pull requests for the work of a run: which there are to be, the branches pushed, and `gh` called for each.

use crate::committing::Statuses;
use crate::error::Error;
use crate::landing::{Rejected, passable, refuse_rejected};
use crate::project::Project;
use crate::review::{ReviewedRun, TaskBranch};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};
use tm_reports::{PullRequestText, run_pull_request, task_pull_request};
use tm_scheduler::{BranchName, Phase};
use tm_store::run::safe_name;

/// How long one call of `gh` may take.
const LIMIT: Duration = Duration::from_mins(2);

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
        let what = "open pull requests for the work of a run while one";
        let run = passable(project, what, order.run.as_deref())?;
        if order.rejected == Rejected::LeftOut && order.per == Per::Run {
            refuse_rejected(&run, &run.summary.integration_branch)?;
        }
        let (remote, base) = (remote(&run, &order)?, base(&run, &order)?);
        let all = match order.per {
            Per::Run => of_run(&run, base),
            Per::Task => per_task(&run, &base, order.rejected)?,
        };
        std::fs::create_dir_all(run.directory.path().join(FOLDER))?;
        for pull in &all {
            let body = tm_untrusted::clean(&pull.text.body);
            tm_store::atomic::replace_own(&pull.body_file, body.as_bytes())?;
        }
        let left_out = match order.per {
            Per::Run => Vec::new(),
            Per::Task => left_out(&run, &all)?,
        };
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

    /// Tells whether that program has somebody's login; asks no service.
    pub async fn has_login(project: &Project) -> bool {
        call(project, &["auth", "token"]).await.is_ok()
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
            commands.push([vec!["gh"], create_words(one, &self.order)?].concat());
        }
        let owned = |words: Vec<&str>| words.into_iter().map(ToOwned::to_owned).collect();
        Ok(commands.into_iter().map(owned).collect())
    }

    /// Pushes the branches and opens all, or brings those up to date that are open; `opened` is told of each.
    ///
    /// # Errors
    /// The remote or `gh` refused.
    pub async fn open(&mut self, opened: impl Fn(&PullRequest)) -> Result<(), Error> {
        let (project, run) = (&self.run.project, &self.run.replayed);
        if self.order.per == Per::Run {
            Statuses::of(project, &run.header).commit_on_branch(&run.scheduler)?;
        }
        let branches: Vec<BranchName> = self.all.iter().map(|one| one.branch.clone()).collect();
        project
            .repository
            .push(&self.remote, &branches)
            .map_err(Error::NotPushed)?;
        for one in &mut self.all {
            one.url = Some(open(&self.run, one, &self.order).await?);
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
    let Some(base) = &order.base else {
        return run
            .project
            .repository
            .default_branch()?
            .ok_or(Error::NoDefaultBranch);
    };
    Ok(BranchName::new(base)?.to_string())
}

/// The folder of a run with the bodies.
const FOLDER: &str = "pull-requests";

impl PullRequest {
    fn new(
        run: &ReviewedRun,
        (branch, base): (BranchName, String),
        tasks: Vec<String>,
        text: PullRequestText,
    ) -> Self {
        let file = format!("{FOLDER}/{}.md", safe_name(&branch.as_str().into()));
        Self {
            body_file: run.directory.path().join(file),
            branch,
            base,
            tasks,
            text,
            url: None,
        }
    }
}

/// The one pull request of the run.
fn of_run(run: &ReviewedRun, base: String) -> Vec<PullRequest> {
    let summary = &run.summary;
    let tasks: Vec<String> = summary
        .tasks
        .iter()
        .filter(|task| task.landed)
        .map(|task| task.id.clone())
        .collect();
    if tasks.is_empty() {
        return Vec::new();
    }
    let branch = summary.integration_branch.clone();
    let text = run_pull_request(summary, &base);
    vec![PullRequest::new(run, (branch, base), tasks, text)]
}

/// A pull request a task, in landing order. A GREEN's branch holds its RED's commits, so a pair is one. What was built on
/// other tasks' work goes on top of the last of those.
fn per_task(run: &ReviewedRun, base: &str, rejected: Rejected) -> Result<Vec<PullRequest>, Error> {
    let mut whole = run.branches()?;
    whole.retain(|branch| branch.task.phase != Phase::Red);
    let mut planned = Vec::new();
    for (
        position,
        TaskBranch {
            task,
            branch,
            commit,
            ..
        },
    ) in whole.iter().enumerate()
    {
        if rejected == Rejected::LeftOut && !run.rejected_in(commit)?.is_empty() {
            continue;
        }
        let below = below(run, &whole[..position], &whole[position])?;
        let base = below.unwrap_or(base);
        let tasks = task.pair.iter().chain([&task.id]).cloned().collect();
        let text = task_pull_request(&run.summary, task, base, below);
        let branches = (branch.clone(), base.to_owned());
        planned.push(PullRequest::new(run, branches, tasks, text));
    }
    Ok(planned)
}

/// The last of the earlier branches that the work was built on.
fn below<'b>(
    run: &ReviewedRun,
    earlier: &'b [TaskBranch],
    branch: &TaskBranch,
) -> Result<Option<&'b str>, Error> {
    for TaskBranch {
        branch: name,
        commit,
        ..
    } in earlier.iter().rev()
    {
        if run.project.repository.is_ancestor(commit, &branch.commit)? {
            return Ok(Some(name.as_str()));
        }
    }
    Ok(None)
}

/// The tasks with work that have no pull request.
fn left_out(run: &ReviewedRun, all: &[PullRequest]) -> Result<Vec<String>, Error> {
    let mut branches = run.branches()?;
    branches.retain(|branch| !all.iter().any(|pull| pull.tasks.contains(&branch.task.id)));
    Ok(branches.into_iter().map(|branch| branch.task.id).collect())
}

/// The arguments that open a pull request.
fn create_words<'a>(one: &'a PullRequest, order: &PullOrder) -> Result<Vec<&'a str>, Error> {
    let mut words = vec!["pr", "create", "--head", one.branch.as_str()];
    words.extend(["--base", &one.base, "--title", &one.text.title]);
    words.extend(["--body-file", body_file(one)?]);
    words.extend(order.draft.then_some("--draft"));
    Ok(words)
}

fn body_file(one: &PullRequest) -> Result<&str, Error> {
    one.body_file
        .to_str()
        .ok_or_else(|| Error::UnnameablePath(one.body_file.clone()))
}

/// Opens the pull request, or changes the open one of the same branch; returns where it is.
async fn open(run: &ReviewedRun, one: &PullRequest, order: &PullOrder) -> Result<String, Error> {
    if let Some(url) = open_already(run, one.branch.as_str()).await? {
        let words = ["pr", "edit", &url, "--title", &one.text.title];
        call(
            &run.project,
            &[&words[..], &["--body-file", body_file(one)?]].concat(),
        )
        .await?;
        return Ok(url);
    }
    Ok(call(&run.project, &create_words(one, order)?)
        .await?
        .lines()
        .last()
        .unwrap_or_default()
        .trim()
        .to_owned())
}

async fn open_already(run: &ReviewedRun, branch: &str) -> Result<Option<String>, Error> {
    let words = [
        "pr", "list", "--head", branch, "--state", "open", "--json", "url",
    ];
    let said = call(&run.project, &words).await?;
    let found: Value = serde_json::from_str(&said).map_err(|error| Error::Hub {
        call: "pr list".to_owned(),
        why: error.to_string(),
    })?;
    Ok(found[0]["url"].as_str().map(ToOwned::to_owned))
}

/// Calls `gh` in the user's checkout and returns what it printed.
async fn call(project: &Project, words: &[&str]) -> Result<String, Error> {
    let command = TreeCommand {
        program: "gh".into(),
        arguments: words.iter().map(Into::into).collect(),
        working_folder: project.root().to_owned(),
        environment: vec![("GH_PROMPT_DISABLED".into(), "1".into())],
        ..TreeCommand::default()
    };
    let answer = run_captured(command, LIMIT).await?;
    if answer.has_succeeded() {
        return Ok(answer.stdout);
    }
    let why = match answer.status {
        Some(_) => answer.stderr.trim().to_owned(),
        None => format!("it took longer than {} minutes", LIMIT.as_secs() / 60),
    };
    let call = words[..2].join(" ");
    Err(Error::Hub { call, why })
}
