//! `tm waves land`: the work of a run into the branch that the user is on, after asking; and the merge of any branch.

use super::Perform;
use crate::ask::allowed;
use crate::failure::Result;
use crate::project::open;
use clap::Args;
use std::path::Path;
use tm_app::{DoubtedWork, Homecoming, Project, Rejected, ReviewedRun, foresee};
use tm_worktrees::{BranchName, FastForwardPolicy};

/// `tm waves land`.
#[derive(Args, Debug)]
pub(crate) struct LandArguments {
    /// The run; the last one when not given.
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Make a merge commit even where your branch could just move forward.
    #[arg(long)]
    no_ff: bool,
    /// Also where the review has rejected some of it.
    #[arg(long)]
    with_rejected: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    yes: bool,
}

/// How a branch is merged into the one that the user is on.
#[derive(Args, Debug)]
pub(crate) struct MergeChoice {
    /// Make a merge commit even where your branch could just move forward.
    #[arg(long)]
    no_ff: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    yes: bool,
}

impl Perform for LandArguments {
    async fn perform(self, start: &Path) -> Result {
        let rejected = rejected(self.with_rejected);
        let home = Homecoming::of(open(start, Vec::new())?, self.run.as_deref(), rejected)?;
        tell_doubted(&home.run);
        for task in home.run.summary.tasks.iter().filter(|task| task.landed) {
            data!(
                "{:8}  {:8}  {}\n",
                task.id,
                task.verdict.as_str(),
                task.title
            );
        }
        let (no_ff, yes) = (self.no_ff, self.yes);
        MergeChoice { no_ff, yes }.merge(&home.run.project, &home.branch, &home.onto)?;
        home.commit_statuses()?;
        Ok(0)
    }
}

/// What becomes of work that the review rejected.
pub(crate) const fn rejected(is_included: bool) -> Rejected {
    if is_included {
        Rejected::Included
    } else {
        Rejected::LeftOut
    }
}

/// Names the work that was built on work which was rejected since: a person is to judge it anew.
pub(crate) fn tell_doubted(run: &ReviewedRun) {
    for work in run.doubted() {
        say!("warning: {}", doubted(&work));
    }
}

pub(crate) fn doubted(DoubtedWork { task, run, why }: &DoubtedWork) -> String {
    tm_untrusted::clean(&format!("{task} was {why} (`tm review --run {run}`)"))
}

impl MergeChoice {
    /// Merges a branch into the one that the user is on, after asking.
    pub(crate) fn merge(&self, project: &Project, branch: &BranchName, onto: &str) -> Result<()> {
        let Some(stat) = foresee(project, branch, onto)? else {
            say!("`{onto}` has everything of `{branch}` already");
            return Ok(());
        };
        data!(
            "{} files, {} lines more, {} lines less, from `{branch}` to `{onto}`\n",
            stat.files,
            stat.insertions,
            stat.deletions
        );
        if !allowed(self.yes, "land", "`--yes` lands without asking", || {
            format!("Merge this into `{onto}`?")
        })? {
            say!("nothing was changed");
            return Ok(());
        }
        let how = if self.no_ff {
            FastForwardPolicy::MergeCommit
        } else {
            FastForwardPolicy::ForwardOrMerge
        };
        let tip = tm_app::merge_into_checkout(project, branch, how)?;
        say!("`{onto}` is at {tip}");
        Ok(())
    }
}
