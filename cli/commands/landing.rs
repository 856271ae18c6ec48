//! What brings work home: `tm waves land`, the merge of any branch into the one that the user is on, and `tm pr`, which
//! pushes the work of a run and opens pull requests with `gh`, or prints the commands that do.

use super::Perform;
use crate::ask::allowed;
use crate::display::{print_json, print_text};
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_app::{
    DoubtedWork, Error, Homecoming, Per, Project, PullOrder, PullRequest, PullRequests, Rejected,
    ReviewedRun, foresee,
};
use tm_scheduler::{BranchName, counted, quoted_files};
use tm_worktrees::FastForwardPolicy;

/// `tm waves land`.
#[derive(Args)]
pub(crate) struct LandArguments {
    /// The run; the last one when not given.
    run: Option<String>,
    /// Make a merge commit even where your branch could just move forward.
    #[arg(long)]
    no_ff: bool,
    /// Also where the review has rejected some of it.
    #[arg(long)]
    with_rejected: bool,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
}

/// How a branch is merged into the one that the user is on.
#[derive(Args)]
pub(crate) struct MergeChoice {
    /// Make a merge commit even where your branch could just move forward.
    #[arg(long)]
    no_ff: bool,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
}

impl Perform for LandArguments {
    async fn perform(self, start: &Path) -> Result {
        let rejected = rejected(self.with_rejected);
        let home = Homecoming::of(open(start)?, self.run.as_deref(), rejected)?;
        tell_doubted(&home.run);
        let summary = &home.run.summary;
        if summary.counts.landed > 0 {
            print_text(&summary.task_table("TASK", |row| row.work.landed.then(|| row.titled())));
        }
        let (no_ff, yes) = (self.no_ff, self.yes);
        MergeChoice { no_ff, yes }.merge(&home.run.project, &home.branch, &home.onto)?;
        home.commit_statuses()?;
        Ok(0)
    }
}

/// What becomes of work that the review rejected.
const fn rejected(is_included: bool) -> Rejected {
    if is_included {
        Rejected::Included
    } else {
        Rejected::LeftOut
    }
}

/// Names the work that was built on work which was rejected since: a person is to judge it anew.
fn tell_doubted(run: &ReviewedRun) {
    for work in run.doubted() {
        say!("warning: {}", doubted(&work));
    }
}

pub(crate) fn doubted(DoubtedWork { task, run, why }: &DoubtedWork) -> String {
    tm_untrusted::clean(&format!("{task} was {why} (`tm review --run {run}`)"))
}

impl MergeChoice {
    const fn policy(&self) -> FastForwardPolicy {
        if self.no_ff {
            FastForwardPolicy::MergeCommit
        } else {
            FastForwardPolicy::ForwardOrMerge
        }
    }

    /// Merges a branch into the one that the user is on, after asking.
    pub(crate) fn merge(&self, project: &Project, branch: &BranchName, onto: &str) -> Result<()> {
        let Some(stat) = foresee(project, branch, onto)? else {
            say!("`{onto}` has everything of `{branch}` already");
            return Ok(());
        };
        data!(
            "{}, {} more, {} less, from `{branch}` to `{onto}`\n",
            counted(stat.files, "file"),
            counted(stat.insertions, "line"),
            counted(stat.deletions, "line")
        );
        if !allowed(self.yes, "land", "`--yes` lands without asking", || {
            format!("Merge this into `{onto}`?")
        })? {
            say!("nothing was changed");
            return Ok(());
        }
        let merged = tm_app::merge_into_checkout(project, branch, self.policy())?;
        say!("`{onto}` is at {}", merged.commit);
        tell_hooks(&merged.brought_hooks);
        Ok(())
    }
}

/// Says that no hook was run, because of what was brought in.
fn tell_hooks(brought: &[PathBuf]) {
    if brought.is_empty() {
        return;
    }
    let named: Vec<_> = brought.iter().map(|path| path.display()).collect();
    say!(
        "{}",
        tm_untrusted::clean(&format!(
            "no hook was run, since this changes your hooks: {}; git runs them from now on, so look at them first \
             (`git diff ORIG_HEAD`)",
            quoted_files(&named)
        ))
    );
}

/// `tm pr`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Args)]
pub(crate) struct PullArguments {
    /// The run; the last one when not given.
    run: Option<String>,
    /// One pull request a task, with its change alone, each on top of those that it depends on, instead of one for the run.
    #[arg(long)]
    per_task: bool,
    /// The branch that is to have the work; the default branch when not given.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// The remote; the one that your branch is pulled from, or `origin`, when not given.
    #[arg(long)]
    remote: Option<String>,
    /// Open them as drafts.
    #[arg(long)]
    draft: bool,
    /// Also where the review has rejected some of it.
    #[arg(long)]
    with_rejected: bool,
    /// Push nothing and open nothing; print the commands that would.
    #[arg(long)]
    dry_run: bool,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// What there is to pass on, with what is to be known of it.
fn pulls(project: Project, order: PullOrder) -> Result<PullRequests> {
    let pulls = PullRequests::of(project, order)?;
    tell_doubted(&pulls.run);
    for (task, why) in &pulls.left_out {
        say!("left out: {task}: {why}");
    }
    if pulls.all.is_empty() {
        return Err(Error::NothingToPass.into());
    }
    Ok(pulls)
}

impl Perform for PullArguments {
    async fn perform(self, start: &Path) -> Result {
        let (dry_run, json, is_said) = (self.dry_run, self.json, self.yes);
        let mut pulls = pulls(open(start)?, self.order())?;
        let can_be_opened = PullRequests::can_be_opened();
        if dry_run || !can_be_opened {
            for command in pulls.commands()?.iter().filter(|_| !json) {
                data!("{}\n", shell_words::join(command));
            }
        } else if is_pull_wanted(&pulls, is_said)? {
            let tell = if json {
                |_: &PullRequest| {}
            } else {
                tell_opened
            };
            pulls.open(tell).await?;
        } else {
            say!("nothing was pushed");
            return Ok(0);
        }
        if json {
            print_json(&document(&pulls))?;
        }
        if !can_be_opened && !dry_run {
            say!("`gh` is not on PATH, so nothing was pushed; the commands above do it");
        }
        Ok(0)
    }
}

fn tell_opened(PullRequest { branch, url, .. }: &PullRequest) {
    data!("{branch}  {}\n", url.as_deref().unwrap_or_default());
}

impl PullArguments {
    fn order(self) -> PullOrder {
        PullOrder {
            run: self.run,
            per: if self.per_task { Per::Task } else { Per::Run },
            base: self.base,
            remote: self.remote,
            draft: self.draft,
            rejected: rejected(self.with_rejected),
        }
    }
}

fn is_pull_wanted(pulls: &PullRequests, is_said: bool) -> Result<bool> {
    let hint = "`--yes` pushes without asking, `--dry-run` shows what would be done";
    allowed(is_said, "push", hint, || question(pulls))
}

fn question(PullRequests { all, remote, .. }: &PullRequests) -> String {
    for one in all {
        say!("{} → {}: {}", one.branch, one.base, one.text.title);
    }
    let count = counted(all.len(), "branch");
    format!("Push {count} to `{remote}` and open a pull request for each?")
}

/// The pull requests for programs.
fn document(pulls: &PullRequests) -> Value {
    let row = |one: &PullRequest| {
        json!({"branch": one.branch, "base": one.base, "tasks": one.tasks, "title": one.text.title,
               "body_file": one.body_file, "url": one.url})
    };
    let run = &pulls.run.summary.run_id;
    json!({"version": 1, "run_id": run, "remote": pulls.remote,
           "pull_requests": pulls.all.iter().map(row).collect_vec()})
}
