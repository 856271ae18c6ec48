//! `tm review`: the work of a run branch after branch, and what a person decides about it.
//!
//! Without a decision each branch is asked about, in the way of `git add --patch`. Answers come a line each from stdin,
//! so that a script can give them too.

use super::Perform;
use super::decisions::tell;
use super::worktrees::{Tool, open_branch};
use crate::display::{Output, print_json, print_line, print_question, print_text};
use crate::environment::colours_of_git;
use crate::failure::Result;
use crate::project::open;
use clap::{Args, Subcommand};
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::io::BufRead as _;
use std::path::Path;
use tm_app::{ReviewedRun, TaskBranch, Tests};
use tm_reports::laid_out;
use tm_scheduler::{TaskRow, counted, task_rows};
use tm_store::run::Decision;

/// `tm review`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct ReviewArguments {
    /// What to decide without being asked; branch after branch is shown and asked about when not given.
    #[command(subcommand)]
    command: Option<ReviewCommand>,
    /// The run; the live or last one when not given.
    #[arg(long, global = true)]
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
                review_all(&run, asked).await
            }
        }
    }
}

fn list(run: &ReviewedRun) -> Result {
    let branches = run.branches()?;
    let conflicts = run.conflicts_in_turn(&branches)?;
    let rows = branches
        .iter()
        .zip(&conflicts)
        .map(|(branch, files)| as_json(branch, files));
    let without_work = run.summary.tasks.iter().filter(|task| task.commit.is_none()).map(|task| {
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

/// Returns the branch as lines for a person, a GREEN's with its RED.
pub(crate) fn as_text(run: &ReviewedRun, branch: &TaskBranch, onto: &str) -> Result<String> {
    let (red, conflicts) = (run.red_of(branch)?, run.conflicts(branch)?);
    let red = red.map(|red| red.task);
    Ok(laid_out(
        "branch.txt",
        &json!({"task": branch.task, "red": red, "branch": branch.branch, "conflicts": conflicts, "onto": onto,
                "review": branch.review}),
    ))
}

const HELP: &str = "\
a  approve it
r  reject it: say why, and it is done again by the next run
d  show what it changed
l  show its commits
o  open a shell in a worktree on its branch
e  open an editor there
s  leave it for later
q  quit; what was decided stays decided
?  show this";

/// What a person answers.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Answer {
    Approve,
    Reject(String),
    Diff,
    Log,
    Open(Tool),
    Skip,
    Quit,
    Help,
}

/// Where the review goes next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Next {
    Again,
    Forward,
    End,
}

/// Which branches are asked about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asked {
    /// Those that nobody has reviewed.
    Open,
    /// All.
    All,
}

async fn review_all(run: &ReviewedRun, asked: Asked) -> Result {
    let is_asked_about = |branch: &TaskBranch| asked == Asked::All || branch.review.is_none();
    let branches = run.branches()?;
    let rows = task_rows(&branches).into_iter().map(|row| row.work);
    let open = rows.filter(|branch| is_asked_about(branch)).collect_vec();
    let onto = run.onto()?;
    let mut reviewed = 0;
    for (position, branch) in open.iter().enumerate() {
        // Its RED's review may have decided it, or the other way round.
        let branch = run.branch_of(&branch.task.id)?;
        if !is_asked_about(&branch) {
            continue;
        }
        let text = as_text(run, &branch, &onto)?;
        print_text(&format!("\n[{}/{}] {text}", position + 1, open.len()));
        match ask_until_decided(run, &branch).await? {
            Next::End => break,
            Next::Again | Next::Forward => reviewed += 1,
        }
    }
    tell_the_end(&run.branches()?, reviewed);
    Ok(0)
}

async fn ask_until_decided(run: &ReviewedRun, branch: &TaskBranch) -> Result<Next> {
    loop {
        print_question(&format!(
            "{}: approve, reject, diff, log, open, editor, skip, quit [a,r,d,l,o,e,s,q,?]? ",
            branch.task.id
        ));
        let Some(line) = read_line()? else {
            say!("");
            return Ok(Next::End);
        };
        let Some(answer) = answer(&line) else {
            print_line(HELP);
            continue;
        };
        // What can't be done now, such as rejecting while a run is live, doesn't end the review.
        match perform(run, branch, answer).await {
            Ok(Next::Again) => {}
            Ok(next) => return Ok(next),
            Err(failure) => {
                failure.print();
            }
        }
    }
}

async fn perform(run: &ReviewedRun, branch: &TaskBranch, answer: Answer) -> Result<Next> {
    let this = std::slice::from_ref(branch);
    Ok(match answer {
        Answer::Approve => {
            run.approve(this)?;
            Next::Forward
        }
        Answer::Reject(reason) => {
            let reason = if reason.is_empty() {
                ask_why()?
            } else {
                reason
            };
            run.reject(this, &reason, ask_about_tests(run, branch)?)?;
            Next::Forward
        }
        Answer::Diff | Answer::Log => {
            let (viewed, red) = (run.viewed()?, run.red_of(branch)?);
            let range = (branch.base_of_pair(red.as_ref()), &branch.commit);
            match answer {
                Answer::Diff => viewed.show_diff(range, colours_of_git())?,
                _ => viewed.show_log(range, colours_of_git())?,
            }
            Next::Again
        }
        Answer::Open(tool) => {
            open_branch(run, branch, tool).await?;
            Next::Again
        }
        Answer::Skip => Next::Forward,
        Answer::Quit => Next::End,
        Answer::Help => {
            print_line(HELP);
            Next::Again
        }
    })
}

fn ask_why() -> Result<String> {
    print_question("why? ");
    Ok(read_line()?.unwrap_or_default())
}

/// Asks whether the tests of a pair stay where what makes them pass is rejected; the answer at hand is what the tests'
/// own review says.
fn ask_about_tests(run: &ReviewedRun, branch: &TaskBranch) -> Result<Tests> {
    let Some(red) = run.red_of(branch)? else {
        return Ok(Tests::AsReviewed);
    };
    let review = red.review;
    let is_approved = review.is_some_and(|review| review.decision == Decision::Approved);
    print_question(&format!(
        "keep its tests ({})? [{}] ",
        red.task.id,
        if is_approved { "Y/n" } else { "y/N" }
    ));
    let answer = read_line()?.unwrap_or_default();
    Ok(match (answer.trim().to_lowercase().as_str(), is_approved) {
        ("y" | "yes", _) | ("", true) => Tests::Kept,
        (_, _) => Tests::Again,
    })
}

fn read_line() -> Result<Option<String>> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then_some(line))
}

/// Reads an answer: its letter or word, and for a rejection whatever follows.
fn answer(line: &str) -> Option<Answer> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some(match word {
        "a" | "approve" => Answer::Approve,
        "r" | "reject" => Answer::Reject(rest.trim().to_owned()),
        "d" | "diff" => Answer::Diff,
        "l" | "log" => Answer::Log,
        "o" | "open" => Answer::Open(Tool::Shell),
        "e" | "editor" => Answer::Open(Tool::Editor),
        "s" | "skip" => Answer::Skip,
        "q" | "quit" => Answer::Quit,
        "?" | "help" => Answer::Help,
        _ => return None,
    })
}

fn tell_the_end(branches: &[TaskBranch], reviewed: usize) {
    let rows = task_rows(branches);
    let is_rejected = |row: &&TaskRow<&TaskBranch>| row.halves().any(TaskBranch::is_rejected);
    let rejected = rows.iter().filter(is_rejected).count();
    let is_open = |row: &&TaskRow<&TaskBranch>| !is_rejected(row) && row.work.review.is_none();
    let open = rows.iter().filter(is_open).count();
    let (all, approved) = (rows.len(), rows.len() - rejected - open);
    if all == 0 {
        say!("no task of the run has proven work; `tm waves report` says why");
        return;
    }
    if reviewed == 0 && open == 0 {
        say!("everything is reviewed; `--again` goes through it once more");
    }
    let all = counted(all, "task");
    say!("{approved} approved, {rejected} rejected, {open} open of {all}");
    match (rejected, open) {
        (0, 0) => say!("`tm waves land` merges it into your branch, `tm pr` opens pull requests"),
        (0, _) => say!("`tm review` goes on with what is open"),
        (_, _) => say!("`tm waves run` does again what is rejected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_letters_or_words_and_a_rejection_says_why() {
        assert_eq!(answer(" a\n"), Some(Answer::Approve));
        assert_eq!(
            answer("reject  months are off by one\n"),
            Some(Answer::Reject("months are off by one".to_owned()))
        );
        assert_eq!(answer("r\n"), Some(Answer::Reject(String::new())));
        assert_eq!(answer("e"), Some(Answer::Open(Tool::Editor)));
        assert_eq!((answer(""), answer("yes please")), (None, None));
    }
}
