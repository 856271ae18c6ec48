//! Asks about one branch after the other, in the way of `git add --patch`. Answers come a line each from stdin, so that
//! a script can give them too.

use super::as_text;
use crate::commands::worktrees::{Tool, open_branch};
use crate::display::{print_line, print_question};
use crate::failure::Result;
use std::io::BufRead as _;
use tm_app::{ReviewedRun, TaskBranch, Tests};
use tm_scheduler::Phase;
use tm_store::run::Decision;

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
pub(crate) enum Asked {
    /// Those that nobody has reviewed.
    Open,
    /// All.
    All,
}

pub(crate) async fn review_all(run: &ReviewedRun, asked: Asked) -> Result {
    let is_asked_about = |branch: &TaskBranch| asked == Asked::All || branch.review.is_none();
    let mut open = run.branches()?;
    open.retain(is_asked_about);
    let onto = run.onto()?;
    let mut reviewed = 0;
    for (position, branch) in open.iter().enumerate() {
        // Its RED's review may have decided it, or the other way round.
        let branch = run.branch_of(&branch.task.id)?;
        if !is_asked_about(&branch) {
            continue;
        }
        let text = as_text(&branch, &run.conflicts(&branch)?, &onto);
        data!("\n[{}/{}] {text}", position + 1, open.len());
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
        Answer::Diff => {
            run.viewed()?.show_diff(&branch.base, &branch.commit)?;
            Next::Again
        }
        Answer::Log => {
            run.viewed()?.show_log(&branch.base, &branch.commit)?;
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
    let Some(red) = branch
        .task
        .pair
        .as_ref()
        .filter(|_| branch.task.phase == Phase::Green)
    else {
        return Ok(Tests::AsReviewed);
    };
    let review = run.branch_of(red)?.review;
    let is_approved = review.is_some_and(|review| review.decision == Decision::Approved);
    print_question(&format!(
        "keep its tests ({red})? [{}] ",
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
    let count = |is: fn(&TaskBranch) -> bool| branches.iter().filter(|branch| is(branch)).count();
    let rejected = count(TaskBranch::is_rejected);
    let open = count(|branch| branch.review.is_none());
    let (all, approved) = (branches.len(), branches.len() - rejected - open);
    if all == 0 {
        say!("no task of the run has proven work; `tm waves report` says why");
        return;
    }
    if reviewed == 0 && open == 0 {
        say!("everything is reviewed; `--again` goes through it once more");
    }
    let unit = if count(|branch| branch.task.phase == Phase::Red) > 0 {
        "branches, two a pair"
    } else {
        "branches"
    };
    say!("{approved} approved, {rejected} rejected, {open} open of {all} {unit}");
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
