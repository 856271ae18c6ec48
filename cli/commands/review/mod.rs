//! `tm review`: the work of a run branch after branch, and what a person decides about it.

mod interactive;
mod text;

pub(crate) use text::{as_json, as_text};

use super::landing::doubted;
use crate::arguments::{ReviewArguments, ReviewCommand};
use crate::display::{Output, print_json, print_line};
use crate::failure::CommandFailure;
use crate::project::open;
use interactive::Asked;
use serde_json::{Value, json};
use std::path::Path;
use tm_app::{DoubtedWork, ReviewedRun, TaskBranch, Tests};
use tm_scheduler::Phase;
use tm_store::run::{Decision, Review};

pub(crate) async fn review(
    start: &Path,
    arguments: &ReviewArguments,
) -> Result<u8, CommandFailure> {
    let run = ReviewedRun::open(open(start, Vec::new())?, arguments.run.as_deref())?;
    let output = Output::from(arguments.json);
    match (&arguments.command, output) {
        (Some(ReviewCommand::Approve(approve)), _) => {
            let is_open = |branch: &TaskBranch| branch.review.is_none();
            let branches = if approve.all {
                run.branches()?.into_iter().filter(is_open).collect()
            } else {
                run.named(&approve.tasks)?
            };
            tell(output, &run.approve(&branches)?, &[])
        }
        (Some(ReviewCommand::Reject(reject)), _) => {
            let tests = if reject.keep_tests {
                Tests::Kept
            } else {
                Tests::AsReviewed
            };
            let decided = run.reject(&run.named(&reject.tasks)?, &reject.reason, tests)?;
            tell(output, &decided, &run.reread()?.doubted())
        }
        (None, Output::Json) => list(&run),
        (None, Output::People) => {
            interactive::review_all(
                &run,
                if arguments.again {
                    Asked::All
                } else {
                    Asked::Open
                },
            )
            .await
        }
    }
}

fn tell(
    output: Output,
    decided: &[TaskBranch],
    rejected: &[DoubtedWork],
) -> Result<u8, CommandFailure> {
    let reviews = || decided.iter().filter_map(|branch| branch.review.as_ref());
    if output == Output::Json {
        let reviews: Vec<&Review> = reviews().collect();
        print_json(&reviews)?;
        return Ok(0);
    }
    let is_decided = |id: &String| decided.iter().any(|branch| branch.task.id == *id);
    let keeps = |review: &Review| {
        let branch = decided.iter().find(|branch| branch.id() == review.task);
        branch.is_some_and(|branch| {
            branch.task.phase == Phase::Green && !branch.task.pair.iter().all(is_decided)
        })
    };
    let kept = |review: &Review| {
        if keeps(review) {
            "; its tests are kept"
        } else {
            ""
        }
    };
    for review in reviews() {
        print_line(&match &review.decision {
            Decision::Approved => format!("{} is approved", review.task),
            Decision::Rejected { .. } => format!(
                "{} is rejected and pending again{}",
                review.task,
                kept(review)
            ),
        });
    }
    if reviews().any(|review| matches!(review.decision, Decision::Rejected { .. })) {
        print_line("`tm waves run` takes it back, does it again and tells the agent why");
        for work in rejected {
            print_line(&doubted(work));
        }
    }
    if decided.is_empty() {
        print_line("there is nothing to approve");
    }
    Ok(0)
}

fn list(run: &ReviewedRun) -> Result<u8, CommandFailure> {
    let branches = run.branches()?;
    let conflicts = run.conflicts_in_turn(&branches)?;
    let rows: Vec<Value> = branches
        .iter()
        .zip(&conflicts)
        .map(|(branch, files)| as_json(branch, files))
        .collect();
    let without_work: Vec<Value> = run
        .summary
        .tasks
        .iter()
        .filter(|task| task.commit.is_none())
        .map(|task| {
            json!({"id": task.id, "title": task.title, "verdict": task.verdict, "failure": task.failure,
                   "blocked_by": task.blocked_by})
        })
        .collect();
    let document = json!({
        "version": 1, "run_id": run.summary.run_id, "integration_branch": run.summary.integration_branch,
        "onto": run.onto()?, "branches": rows, "without_work": without_work,
    });
    print_json(&document)?;
    Ok(0)
}
