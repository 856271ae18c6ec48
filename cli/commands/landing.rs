//! `tm waves land`: the work of a run into the branch that the user is on, after asking; and the merge of any branch.

use crate::arguments::LandArguments;
use crate::ask::allowed;
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use crate::project::open;
use std::path::Path;
use tm_app::{DoubtedWork, Homecoming, Project, Rejected, ReviewedRun, foresee};
use tm_worktrees::{BranchName, FastForwardPolicy};

pub(crate) fn land(start: &Path, arguments: &LandArguments) -> Result<u8, CommandFailure> {
    let rejected = if arguments.with_rejected {
        Rejected::Included
    } else {
        Rejected::LeftOut
    };
    let home = Homecoming::of(open(start, Vec::new())?, arguments.run.as_deref(), rejected)?;
    tell_doubted(&home.run);
    for task in home.run.summary.tasks.iter().filter(|task| task.landed) {
        print_data(&format!(
            "{:8}  {:8}  {}\n",
            task.id,
            task.verdict.as_str(),
            task.title
        ));
    }
    merge_into_checkout(
        &home.run.project,
        &home.branch,
        &home.onto,
        (arguments.yes, arguments.no_ff),
    )?;
    home.commit_statuses()?;
    Ok(0)
}

/// Names the work that was built on work which was rejected since: a person is to judge it anew.
pub(crate) fn tell_doubted(run: &ReviewedRun) {
    run.doubted()
        .iter()
        .for_each(|work| print_line(&format!("warning: {}", doubted(work))));
}

pub(crate) fn doubted(DoubtedWork { task, run, why }: &DoubtedWork) -> String {
    tm_untrusted::clean(&format!("{task} was {why} (`tm review --run {run}`)"))
}

/// Merges a branch into the one that the user is on, after asking.
pub(crate) fn merge_into_checkout(
    project: &Project,
    branch: &BranchName,
    onto: &str,
    (is_said, no_ff): (bool, bool),
) -> Result<(), CommandFailure> {
    let Some(stat) = foresee(project, branch, onto)? else {
        print_line(&format!("`{onto}` has everything of `{branch}` already"));
        return Ok(());
    };
    print_data(&format!(
        "{} files, {} lines more, {} lines less, from `{branch}` to `{onto}`\n",
        stat.files, stat.insertions, stat.deletions
    ));
    if !allowed(is_said, "land", "`--yes` lands without asking", || {
        format!("Merge this into `{onto}`?")
    })? {
        print_line("nothing was changed");
        return Ok(());
    }
    let how = if no_ff {
        FastForwardPolicy::MergeCommit
    } else {
        FastForwardPolicy::ForwardOrMerge
    };
    print_line(&format!(
        "`{onto}` is at {}",
        tm_app::merge_into_checkout(project, branch, how)?
    ));
    Ok(())
}
