//! Pull requests for the work of a run: which there are to be, the branches pushed, and `gh` called for each.

mod stack;

use crate::committing::Statuses;
use crate::error::Error;
use crate::judging::{by_id, test_command};
use crate::landing::{Rejected, passable, refuse_rejected};
use crate::project::Project;
use crate::review::ReviewedRun;
use serde_json::Value;
use stack::{Left, Stack, Stacked};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};
use tm_reports::{PullRequestFacts, PullRequestText, TaskSummary, pull_request};
use tm_scheduler::{BranchName, CommitId, Phase, Task, TaskId};
use tm_store::run::{is_autopilot_run, safe_name};

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
    /// The commit that is to be there; nothing where it is the branch of that name here.
    pub tip: Option<CommitId>,
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
    /// Tasks that are left out, each with why.
    pub left_out: Vec<LeftOut>,
    order: PullOrder,
}

impl PullRequests {
    /// Finds out which there are to be, and writes their bodies.
    ///
    /// # Errors
    /// The work of the run can't be passed on, or it is not clear where to.
    pub fn of(project: Project, mut order: PullOrder) -> Result<Self, Error> {
        let what = "open pull requests for the work of a run while one";
        let run = passable(project, what, order.run.as_deref())?;
        if is_autopilot_run(&run.replayed.header.run_id) {
            // Its tasks are one after the other on one branch.
            order.per = Per::Run;
        }
        if order.rejected == Rejected::LeftOut && order.per == Per::Run {
            refuse_rejected(&run, &run.summary.integration_branch)?;
        }
        let (remote, base) = (remote(&run, &order)?, base(&run, &order)?);
        let passing = Passing::of(&run, &remote);
        let (all, left_out) = match order.per {
            Per::Run => (passing.of_run(base), Vec::new()),
            Per::Task => passing.per_task(&base, order.rejected)?,
        };
        std::fs::create_dir_all(run.directory.path().join(FOLDER))?;
        for pull in &all {
            tm_store::atomic::replace_own(&pull.body_file, pull.text.body.as_bytes())?;
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

    /// Tells whether that program has somebody's login; asks no service.
    pub async fn has_login(project: &Project) -> bool {
        call(project, &["auth", "token"]).await.is_ok()
    }

    /// Returns the commands that push the branches and open them, as words.
    ///
    /// # Errors
    /// A path has no name on a command line.
    pub fn commands(&self) -> Result<Vec<Vec<String>>, Error> {
        let reference = |one: &PullRequest| match &one.tip {
            Some(tip) => format!("{tip}:{}", one.branch.reference()),
            None => one.branch.to_string(),
        };
        let references = self.all.iter().map(reference);
        let references: Vec<String> = references.collect();
        let mut push = vec!["git", "push", "--atomic", &self.remote];
        push.extend(references.iter().map(String::as_str));
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
        // The branch of autopilot may be the one that the user is on.
        if self.order.per == Per::Run && !is_autopilot_run(&run.header.run_id) {
            Statuses::of(project, &run.header).commit_on_branch(&run.scheduler)?;
        }
        let branches = self
            .all
            .iter()
            .map(|one| (one.branch.clone(), one.tip.clone()));
        let branches: Vec<(BranchName, Option<CommitId>)> = branches.collect();
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

/// A task that has no pull request, and why.
pub type LeftOut = (String, String);

/// The folder of a run with the bodies.
const FOLDER: &str = "pull-requests";

/// What is known of a run whose work is passed on.
struct Passing<'r> {
    run: &'r ReviewedRun,
    remote: &'r str,
    /// The backlog as it is now.
    backlog: BTreeMap<TaskId, Task>,
}

impl<'r> Passing<'r> {
    fn of(run: &'r ReviewedRun, remote: &'r str) -> Self {
        let backlog = run.project.backlog_of(&run.replayed.header);
        Self {
            run,
            remote,
            // Of what is gone from there the title is known.
            backlog: backlog.map_or_else(|_| BTreeMap::new(), |(_, backlog)| by_id(&backlog.tasks)),
        }
    }

    /// A task as it was to be done.
    fn given(&self, task: &TaskSummary) -> Task {
        let (id, title) = (task.id.as_str(), task.title.as_str());
        let planned = self.run.replayed.scheduler.task(&id.into());
        let given = planned.and_then(|view| self.backlog.get(&view.placed.task.backlog_id));
        Task {
            id: id.into(),
            title: title.into(),
            ..given.cloned().unwrap_or_else(|| Task::new(id, title))
        }
    }

    fn request(&self, tasks: &[&TaskSummary], stacked: Stacked, base: String) -> PullRequest {
        let Stacked {
            branch,
            tip,
            on,
            is_put_together,
        } = stacked;
        let run = self.run;
        let whole = tasks.iter().filter(|task| task.phase != Phase::Red);
        let whole: Vec<Task> = whole.map(|task| self.given(task)).collect();
        let own_command = match whole.as_slice() {
            [only] => only.metadata.test_command.clone(),
            _ => None,
        };
        let test_command = own_command.or_else(|| Some(test_command(&run.project)?.to_string()));
        let facts = PullRequestFacts {
            branch: &branch,
            base: &base,
            remote: self.remote,
            stacked_on: on.iter().map(BranchName::as_str).collect(),
            is_put_together,
            test_command,
            tasks: whole.iter().collect(),
        };
        let text = pull_request(&run.summary, &facts);
        let file = format!("{FOLDER}/{}.md", safe_name(&branch.as_str().into()));
        PullRequest {
            body_file: run.directory.path().join(file),
            tasks: tasks.iter().map(|task| task.id.clone()).collect(),
            branch,
            tip: is_put_together.then_some(tip),
            base,
            text,
            url: None,
        }
    }

    /// The one pull request of the run.
    fn of_run(&self, base: String) -> Vec<PullRequest> {
        let run = self.run;
        let landed = run.summary.tasks.iter().filter(|task| task.landed);
        let tasks: Vec<&TaskSummary> = landed.collect();
        if tasks.is_empty() {
            return Vec::new();
        }
        let branch = Stacked {
            branch: run.summary.integration_branch.clone(),
            tip: CommitId::new(run.summary.integration_commit.as_str()),
            on: Vec::new(),
            is_put_together: false,
        };
        vec![self.request(&tasks, branch, base)]
    }

    /// A pull request a task, in landing order, each on top of those of what it depends on. A GREEN's branch holds its RED's
    /// commits, so a pair is one. Besides, the tasks that have none, with why.
    fn per_task(
        &self,
        base: &str,
        rejected: Rejected,
    ) -> Result<(Vec<PullRequest>, Vec<LeftOut>), Error> {
        let run = self.run;
        let (mut planned, mut left_out) = (Vec::new(), Vec::new());
        let mut stack = Stack::new(run);
        for branch in run.branches()? {
            if branch.task.phase == Phase::Red {
                continue;
            }
            let stacked = match stack.branch(&branch, base) {
                Ok(stacked) => stacked,
                Err(Left::Failed(error)) => return Err(*error),
                Err(Left::Out(why)) => {
                    left_out.push((branch.task.id, why));
                    continue;
                }
            };
            let is_rejected = branch.is_rejected() || !run.rejected_in(&stacked.tip)?.is_empty();
            if rejected == Rejected::LeftOut && is_rejected {
                let why = "it holds what the review rejected".to_owned();
                left_out.push((branch.task.id, why));
                continue;
            }
            let red = run.red_of(&branch)?;
            let tasks: Vec<&TaskSummary> =
                red.iter().chain([&branch]).map(|half| &half.task).collect();
            let onto = stacked
                .on
                .last()
                .map_or(base, BranchName::as_str)
                .to_owned();
            planned.push(self.request(&tasks, stacked.clone(), onto));
            stack.add(&branch, stacked);
        }
        Ok((planned, left_out))
    }
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
