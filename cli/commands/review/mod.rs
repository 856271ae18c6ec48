//! `tm review`: the work of a run branch after branch, and what a person decides about it.

mod interactive;

use super::Perform;
use super::landing::doubted;
use crate::display::{Output, print_json};
use crate::failure::Result;
use crate::project::open;
use clap::{Args, Subcommand};
use interactive::Asked;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_app::{DoubtedWork, ReviewedRun, TaskBranch, Tests};
use tm_reports::laid_out;
use tm_scheduler::Phase;
use tm_store::run::Decision;

/// `tm review`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct ReviewArguments {
    /// What to decide without being asked; branch after branch is shown and asked about when not given.
    #[command(subcommand)]
    command: Option<ReviewCommand>,
    /// The run; the live or last one when not given.
    #[arg(long, value_name = "RUN", global = true)]
    run: Option<String>,
    /// Ask about branches that have been reviewed too.
    #[arg(long)]
    again: bool,
    /// For programs: list the branches, or tell what was decided; nothing is asked.
    #[arg(long, global = true)]
    json: bool,
}

/// A decision.
#[derive(Subcommand)]
enum ReviewCommand {
    /// Approve the work of tasks; a GREEN's approval is its RED's too.
    Approve(ApproveArguments),
    /// Reject the work of tasks: each is to be done again, and the next attempt is told why.
    Reject(RejectArguments),
}

/// `tm review approve`.
#[derive(Args)]
struct ApproveArguments {
    /// The tasks.
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    tasks: Vec<String>,
    /// All that nobody has reviewed.
    #[arg(long)]
    all: bool,
}

/// `tm review reject`.
#[derive(Args)]
struct RejectArguments {
    /// The tasks.
    #[arg(value_name = "ID", required = true)]
    tasks: Vec<String>,
    /// Why: what is wrong, and what should be there instead.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Keep the tests of the pair: only what makes them pass is done again. So it is where the tests are approved.
    #[arg(long)]
    keep_tests: bool,
}

impl Perform for ReviewArguments {
    async fn perform(self, start: &Path) -> Result {
        let run = ReviewedRun::open(open(start)?, self.run.as_deref())?;
        let output = Output::from(self.json);
        match (self.command, output) {
            (Some(ReviewCommand::Approve(approve)), _) => {
                let branches = if approve.all {
                    let mut all = run.branches()?;
                    all.retain(|branch| branch.review.is_none());
                    all
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
                let asked = if self.again { Asked::All } else { Asked::Open };
                interactive::review_all(&run, asked).await
            }
        }
    }
}

fn tell(output: Output, decided: &[TaskBranch], rejected: &[DoubtedWork]) -> Result {
    let reviews = decided.iter().filter_map(|branch| branch.review.as_ref());
    let reviews = reviews.collect_vec();
    if output == Output::Json {
        return print_json(&reviews);
    }
    for review in &reviews {
        let task = &review.task;
        match &review.decision {
            Decision::Approved => say!("{task} is approved"),
            Decision::Rejected { .. } if keeps_tests(decided, task.as_str()) => {
                say!("{task} is rejected and pending again; its tests are kept");
            }
            Decision::Rejected { .. } => say!("{task} is rejected and pending again"),
        }
    }
    if reviews
        .iter()
        .any(|review| review.decision != Decision::Approved)
    {
        say!("`tm waves run` takes it back, does it again and tells the agent why");
        for work in rejected {
            say!("{}", doubted(work));
        }
    }
    if decided.is_empty() {
        say!("there is nothing to approve");
    }
    Ok(0)
}

/// Whether the tests of a pair stay, of which only what makes them pass was decided on.
fn keeps_tests(decided: &[TaskBranch], task: &str) -> bool {
    let is_decided = |id: &String| decided.iter().any(|branch| branch.task.id == *id);
    let branch = decided.iter().find(|branch| branch.task.id == task);
    branch.is_some_and(|branch| {
        branch.task.phase == Phase::Green && !branch.task.pair.iter().all(is_decided)
    })
}

fn list(run: &ReviewedRun) -> Result {
    let branches = run.branches()?;
    let conflicts = run.conflicts_in_turn(&branches)?;
    let rows = branches
        .iter()
        .zip(&conflicts)
        .map(|(branch, files)| as_json(branch, files));
    let tasks = run.summary.tasks.iter();
    let without_work = tasks.filter(|task| task.commit.is_none()).map(|task| {
        json!({"id": task.id, "title": task.title, "verdict": task.verdict, "failure": task.failure,
               "blocked_by": task.blocked_by})
    });
    print_json(&json!({
        "version": 1, "run_id": run.summary.run_id, "integration_branch": run.summary.integration_branch,
        "onto": run.onto()?, "branches": rows.collect_vec(), "without_work": without_work.collect_vec(),
    }))
}

/// Returns the branch as JSON.
pub(crate) fn as_json(branch: &TaskBranch, conflicts: &[String]) -> Value {
    let last = branch.task.attempts.last();
    json!({
        "id": branch.task.id, "title": branch.task.title, "phase": branch.task.phase, "pair": branch.task.pair,
        "verdict": branch.task.verdict, "landed": branch.task.landed, "attempts": branch.task.attempts.len(),
        "branch": branch.branch, "base_commit": branch.base, "commit": branch.commit,
        "diffstat": branch.task.diffstat, "claim": last.map(|last| &last.claim),
        "differences": last.map(|last| &last.differences), "proof": last.map(|last| &last.proof),
        "conflicts_ahead": conflicts, "review": branch.review, "built_on_rejected": branch.built_on_rejected,
    })
}

/// Returns the branch as lines for a person.
pub(crate) fn as_text(branch: &TaskBranch, conflicts: &[String], onto: &str) -> String {
    laid_out(
        "branch.txt",
        &json!({"task": branch.task, "branch": branch.branch, "conflicts": conflicts, "onto": onto, "review": branch.review}),
    )
}
