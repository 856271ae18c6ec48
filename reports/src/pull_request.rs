//! What a pull request says of the work of a run: a title, and a body that puts claim and proof side by side.

use crate::layout::{nobody_called, rendered};
use crate::run_reports::summary_markdown;
use crate::view::RunView;
use crate::{Summary, TaskSummary};
use itertools::Itertools as _;
use serde_json::json;
use tm_scheduler::{BranchName, Phase};

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
    let is_whole = |task: &&TaskSummary| task.landed && task.phase != Phase::Red;
    let whole = summary.tasks.iter().filter(is_whole).collect_vec();
    let title = match whole.as_slice() {
        [only] => nobody_called(&only.title),
        several => format!("{}: {} tasks", nobody_called(&summary.tag), several.len()),
    };
    let body = bounded(summary_markdown(summary));
    PullRequestText {
        title,
        body: with_audit(&body, base, &summary.integration_branch),
    }
}

/// A body with the command that does the proof again, for whoever does not want to believe it.
fn with_audit(body: &str, base: &str, branch: &BranchName) -> String {
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
    let parts = summary.partner(task).into_iter().chain([task]);
    let said = json!({
        "run": RunView::of(summary),
        "task": task,
        "parts": parts.collect_vec(),
        "stacked_on": stacked_on,
        "most_tests": MOST_TESTS,
    });
    let body = bounded(rendered("pull_request.md", &said));
    PullRequestText {
        title: nobody_called(&task.title),
        body: match &task.branch {
            Some(branch) => with_audit(&body, base, branch),
            None => body,
        },
    }
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

        - commit red0123456789, after 1 attempt
        - claimed by `scripted`: pass
        - proven: 0 tests passed, 1 failed (0 before), 1 new
          - `adds`
        - they differ: claims 1 tests passed, 0 do

        ## GREEN: the implementation

        - commit green0123456789, after 1 attempt
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
        assert_eq!(
            nobody_called("ask @octocat\nnow"),
            "ask @\u{200b}octocat now"
        );
    }
}
