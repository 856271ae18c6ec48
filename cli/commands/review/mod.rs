//! `tm review`: the work of a run branch after branch, and what a person decides about it.

mod branch;
mod decide;
mod doubted;
mod interactive;

pub(crate) use branch::{ReviewedRun, TaskBranch, as_json, as_text};
pub(crate) use doubted::Doubted;

use decide::Tests;
use interactive::Asked;

use crate::arguments::{ApproveArguments, RejectArguments, ReviewArguments, ReviewCommand};
use crate::display::{Output, print_data, print_line};
use crate::failure::CommandFailure;
use crate::project::Project;
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::Phase;
use tm_store::run::{Decision, Review};

pub(crate) fn review(start: &Path, arguments: &ReviewArguments) -> Result<u8, CommandFailure> {
    let project = Project::open(start, Vec::new())?;
    let run = ReviewedRun::open(project, arguments.run.as_deref())?;
    let output = Output::from(arguments.json);
    match (&arguments.command, output) {
        (Some(ReviewCommand::Approve(approve)), _) => tell(output, &approved(&run, approve)?, &[]),
        (Some(ReviewCommand::Reject(reject)), _) => {
            let decided = rejected(&run, reject)?;
            tell(output, &decided, &run.reread()?.doubted())
        }
        (None, Output::Json) => list(&run),
        (None, Output::People) => interactive::review_all(&run, if arguments.again { Asked::All } else { Asked::Open }),
    }
}

fn approved(run: &ReviewedRun, arguments: &ApproveArguments) -> Result<Vec<TaskBranch>, CommandFailure> {
    let branches = if arguments.all {
        run.branches()?.into_iter().filter(|branch| branch.review.is_none()).collect()
    } else {
        named(run, &arguments.tasks)?
    };
    let decided: Result<Vec<_>, _> = branches.iter().map(|branch| decide::approve(run, branch)).collect();
    Ok(without_twins(decided?.concat()))
}

fn rejected(run: &ReviewedRun, arguments: &RejectArguments) -> Result<Vec<TaskBranch>, CommandFailure> {
    let branches = named(run, &arguments.tasks)?;
    let tests = if arguments.keep_tests { Tests::Kept } else { Tests::AsReviewed };
    let decided: Result<Vec<_>, _> =
        branches.iter().map(|branch| decide::reject(run, branch, &arguments.reason, tests)).collect();
    Ok(without_twins(decided?.concat()))
}

/// All of them, before anything is decided.
fn named(run: &ReviewedRun, tasks: &[String]) -> Result<Vec<TaskBranch>, CommandFailure> {
    tasks.iter().map(|task| run.branch_of(task)).collect()
}

/// Both halves of a pair may have been named.
fn without_twins(mut branches: Vec<TaskBranch>) -> Vec<TaskBranch> {
    let mut seen = std::collections::BTreeSet::new();
    branches.retain(|branch| seen.insert(branch.task.id.clone()));
    branches
}

fn tell(output: Output, decided: &[TaskBranch], doubted: &[String]) -> Result<u8, CommandFailure> {
    let reviews = || decided.iter().filter_map(|branch| branch.review.as_ref());
    if output == Output::Json {
        let reviews: Vec<&Review> = reviews().collect();
        print_data(&format!("{}\n", serde_json::to_string_pretty(&reviews)?));
        return Ok(0);
    }
    let is_decided = |id: &String| decided.iter().any(|branch| branch.task.id == *id);
    let keeps = |review: &Review| {
        let branch = decided.iter().find(|branch| branch.id() == review.task);
        branch.is_some_and(|branch| branch.task.phase == Phase::Green && !branch.task.pair.iter().all(is_decided))
    };
    let kept = |review: &Review| if keeps(review) { "; its tests are kept" } else { "" };
    for review in reviews() {
        print_line(&match &review.decision {
            Decision::Approved => format!("{} is approved", review.task),
            Decision::Rejected { .. } => format!("{} is rejected and pending again{}", review.task, kept(review)),
        });
    }
    if reviews().any(|review| matches!(review.decision, Decision::Rejected { .. })) {
        print_line("`tm waves run` takes it back, does it again and tells the agent why");
        for line in doubted {
            print_line(line);
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
    let rows: Vec<Value> = branches.iter().zip(&conflicts).map(|(branch, files)| as_json(branch, files)).collect();
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
    print_data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    Ok(0)
}
