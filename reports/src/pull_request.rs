//! What a pull request says of the work of a run: a title, and a body that puts claim and proof side by side.

use crate::foundation::{base_lines, nothing_is_proven};
use crate::markdown::summary_markdown;
use crate::{AttemptSummary, Summary, TaskSummary};
use std::fmt::Write as _;
use tm_scheduler::{Phase, Strength, in_a_line};

/// So many characters of a body are kept; services refuse what is longer than 65,536.
const MOST_CHARACTERS: usize = 60_000;
/// So many new tests are named.
const MOST_TESTS: usize = 50;

/// A title and a body.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PullRequestText {
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
}

/// Returns the text for the whole work of a run, which is to go to `base`.
pub fn run_pull_request(summary: &Summary, base: &str) -> PullRequestText {
    let landed: Vec<&TaskSummary> = summary.tasks.iter().filter(|task| task.landed).collect();
    let whole: Vec<&&TaskSummary> = landed
        .iter()
        .filter(|task| task.phase != Phase::Red)
        .collect();
    let title = match whole.as_slice() {
        [only] => one_line(&only.title),
        several => format!("{}: {} tasks", one_line(&summary.tag), several.len()),
    };
    let body = with_audit(
        &bounded(summary_markdown(summary)),
        base,
        &summary.integration_branch,
    );
    PullRequestText { title, body }
}

/// A body with the command that does the proof again, for whoever does not want to believe it.
fn with_audit(body: &str, base: &str, branch: &str) -> String {
    format!(
        "{}\n\nTo do the proof again, in any clone: `tm audit {base}..{branch}`\n",
        body.trim_end()
    )
}

/// Returns the text for the work on one task, with its RED where it has one, which is to go to `base`. `stacked_on` is
/// the branch that has to be merged before.
pub fn task_pull_request(
    summary: &Summary,
    task: &TaskSummary,
    base: &str,
    stacked_on: Option<&str>,
) -> PullRequestText {
    let mut body = String::new();
    if let Some(branch) = stacked_on {
        let _ = writeln!(body, "Builds on `{branch}`: merge that one first.\n");
    }
    let _ = writeln!(
        body,
        "Task `{}` of run `{}`, {}.\n",
        task.id,
        summary.run_id,
        task.verdict.as_str()
    );
    if nothing_is_proven(summary) {
        for line in base_lines(summary) {
            let _ = writeln!(body, "{line}\n");
        }
    }
    let red = task
        .pair
        .as_ref()
        .and_then(|id| summary.tasks.iter().find(|other| other.id == *id));
    for part in red.into_iter().chain([task]) {
        work(&mut body, part);
    }
    let body = bounded(body);
    let body = task
        .branch
        .as_deref()
        .map_or_else(|| body.clone(), |branch| with_audit(&body, base, branch));
    PullRequestText {
        title: one_line(&task.title),
        body,
    }
}

fn work(body: &mut String, task: &TaskSummary) {
    let heading = match task.phase {
        Phase::Red => "RED: tests that fail first",
        Phase::Green => "GREEN: the implementation",
        Phase::None => "Work",
    };
    let _ = writeln!(body, "## {heading}\n");
    if let Some(commit) = &task.commit {
        let _ = writeln!(
            body,
            "- commit {commit}, after {} attempt(s)",
            task.attempts.len()
        );
    }
    if let Some(stat) = task.diffstat {
        let _ = writeln!(
            body,
            "- {} files, {} lines more, {} lines less",
            stat.files, stat.insertions, stat.deletions
        );
    }
    if let Some(last) = task.attempts.last() {
        claim_and_proof(body, last);
    }
    for attempt in task
        .attempts
        .iter()
        .filter(|attempt| attempt.failure.is_some())
    {
        let failure = attempt
            .failure
            .map_or("failed", tm_scheduler::Failure::as_str);
        let why = attempt
            .evidence
            .as_deref()
            .map(in_a_line)
            .unwrap_or_default();
        let _ = writeln!(
            body,
            "- attempt {} failed: {failure}: {}",
            attempt.n,
            one_line(&why)
        );
    }
    body.push('\n');
}

fn claim_and_proof(body: &mut String, attempt: &AttemptSummary) {
    let agent = attempt.agent.as_deref().unwrap_or("the agent");
    let _ = writeln!(body, "- claimed by `{agent}`: {}", attempt.claim);
    let Some(proof) = &attempt.proof else {
        let _ = writeln!(body, "- proven: nothing, no tests were run");
        return;
    };
    let _ = match proof.strength.of(proof.passed, proof.failed) {
        Strength::PerTest => writeln!(
            body,
            "- proven: {} tests passed, {} failed ({} before), {} new",
            proof.passed,
            proof.failed,
            proof.baseline_failed,
            proof.new.len()
        ),
        Strength::ExitStatusOnly => {
            writeln!(
                body,
                "- exit status only: the test command was judged as a whole, no test was read one by one"
            )
        }
        Strength::Nothing => writeln!(body, "- proven: nothing, no tests were run"),
    };
    for test in proof.new.iter().take(MOST_TESTS) {
        let _ = writeln!(body, "  - `{}`", one_line(test).replace('`', "'"));
    }
    for difference in &attempt.differences {
        let _ = writeln!(body, "- they differ: {}", one_line(difference));
    }
    for gate in &proof.gates {
        let _ = writeln!(
            body,
            "- gate `{}`: {}",
            one_line(&gate.name),
            gate.outcome.as_str()
        );
    }
    for reason in &proof.waived {
        let _ = writeln!(body, "- waived: {reason}");
    }
}

/// Titles and evidence come from tasks and agents: one line, and nobody is called by name.
fn one_line(text: &str) -> String {
    let flat: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    flat.trim().replace('@', "@\u{200b}")
}

fn bounded(body: String) -> String {
    match body.char_indices().nth(MOST_CHARACTERS) {
        None => body,
        Some((end, _)) => format!("{}\n\n[…] `tm waves report` has the rest.\n", &body[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::summary;

    #[test]
    fn pull_request_of_a_pair_puts_claim_beside_proof() {
        let summary = summary();
        let task = summary
            .tasks
            .iter()
            .find(|task| task.id == "1")
            .expect("a task");
        let text = task_pull_request(&summary, task, "main", Some("tm/master/task-0"));
        assert_eq!(text.title, "Add numbers");
        insta::assert_snapshot!(text.body, @"
        Builds on `tm/master/task-0`: merge that one first.

        Task `1` of run `20261121-014512-3fa9`, pass.

        ## RED: tests that fail first

        - commit red0123456789, after 1 attempt(s)
        - claimed by `scripted`: pass
        - proven: 0 tests passed, 1 failed (0 before), 1 new
          - `adds`
        - they differ: claims 1 tests passed, 0 do

        ## GREEN: the implementation

        - commit green0123456789, after 1 attempt(s)
        - claimed by `scripted`: pass
        - proven: 4 tests passed, 0 failed (0 before), 0 new

        To do the proof again, in any clone: `tm audit main..tm/b`
        ");
    }

    #[test]
    fn pull_request_of_a_run_with_one_task_has_its_title() {
        let mut summary = summary();
        assert_eq!(run_pull_request(&summary, "main").title, "Add numbers");
        summary.tasks.iter_mut().for_each(|task| task.landed = true);
        assert_eq!(run_pull_request(&summary, "main").title, "master: 2 tasks");
    }

    #[test]
    fn long_bodies_are_cut_and_nobody_is_called_by_name() {
        let body = bounded("é".repeat(MOST_CHARACTERS + 1));
        assert!(body.chars().count() < 65_536 && body.contains("[…]"));
        assert_eq!(one_line("ask @octocat\nnow"), "ask @\u{200b}octocat now");
    }
}
