//! What a pull request says to a colleague: what was to be done, what was seen of it, how to try it. Nothing of the run.

use crate::layout::{nobody_called, rendered};
use crate::view::RunView;
use crate::{Summary, cleaned};
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::json;
use tm_scheduler::{BranchName, Task};

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

/// What a pull request brings, and what is known of it besides the run.
#[derive(Clone, Debug, Serialize)]
pub struct PullRequestFacts<'a> {
    /// The branch with the work.
    pub branch: &'a BranchName,
    /// The branch that is to have it.
    pub base: &'a str,
    /// Where the branch is pushed to.
    pub remote: &'a str,
    /// The branches that have to be merged before, the one that it is shown against last.
    pub stacked_on: Vec<&'a str>,
    /// Whether the branch has the proven change without what it was proven together with.
    pub is_put_together: bool,
    /// The command of its tests.
    pub test_command: Option<String>,
    /// The tasks that are done by it, as the run was given them.
    pub tasks: Vec<&'a Task>,
}

/// Returns the text of a pull request for whoever is to judge the work: what was to be done, what was proven, how to try
/// it. What tasks say is made safe before it is laid out: cleaning the text afterwards would take away what keeps it from
/// calling people and closing issues.
pub fn pull_request(summary: &Summary, facts: &PullRequestFacts<'_>) -> PullRequestText {
    let (tasks, test_command) = cleaned((
        facts.tasks.iter().copied().cloned().collect_vec(),
        facts.test_command.clone(),
    ));
    let facts = &PullRequestFacts {
        tasks: tasks.iter().collect(),
        test_command,
        ..facts.clone()
    };
    let task = |task: &&Task| {
        let of_run = summary
            .tasks
            .iter()
            .find(|one| one.id == task.id.as_str())?;
        Some(json!({"said": task, "red": summary.partner(of_run), "whole": of_run}))
    };
    let said = json!({
        "run": RunView::of(summary),
        "facts": facts,
        "tasks": facts.tasks.iter().filter_map(task).collect_vec(),
        "most_tests": MOST_TESTS,
    });
    let title = match facts.tasks.as_slice() {
        [] => nobody_called(&summary.tag),
        [only] => nobody_called(&only.title),
        [first, rest @ ..] => format!("{} and {} more", nobody_called(&first.title), rest.len()),
    };
    let body = bounded(rendered("pull_request.md", &said));
    // Whoever does not want to believe the proof does it again.
    let audit = format!("tm audit {}..{}", facts.base, facts.branch);
    let body = format!(
        "{}\n\nTo do the proof again, in any clone: `{audit}`\n",
        body.trim_end()
    );
    PullRequestText { title, body }
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

    fn task(id: &str, title: &str) -> Task {
        Task {
            description: "Adds two numbers.\n\nAs @octocat said.".to_owned(),
            test_strategy: "The sum of 1 and 2 is 3.".to_owned(),
            acceptance_criteria: vec!["It never overflows.".to_owned()],
            ..Task::new(id, title)
        }
    }

    fn text(tasks: &[Task], stacked_on: &[&'static str]) -> PullRequestText {
        let branch = BranchName::new("tm/b").expect("a name");
        let facts = PullRequestFacts {
            branch: &branch,
            base: "main",
            remote: "origin",
            stacked_on: stacked_on.to_vec(),
            is_put_together: !stacked_on.is_empty(),
            test_command: Some("npm test".to_owned()),
            tasks: tasks.iter().collect(),
        };
        pull_request(&summary(), &facts)
    }

    #[test]
    fn pull_request_says_what_was_to_be_done_what_was_proven_and_how_to_try_it() {
        let text = text(
            &[task("1", "Add numbers")],
            &["tm/master/task-0", "tm/master/task-3"],
        );
        assert_eq!(text.title, "Add numbers");
        insta::assert_snapshot!(text.body.replace('\u{200b}', ""), @"
        Builds on `tm/master/task-0`, `tm/master/task-3`: merge those first.
        It is shown against the last of them, so what the others change is shown too until they are merged.

        Adds two numbers.

        As @octocat said.

        The sum of 1 and 2 is 3.

        - It never overflows.

        Seen failing without the change, and passing with it:

        - `adds`

        With the change 4 tests pass and 0 fail (0 before).

        The change was proven together with other work of its run, which this branch leaves out.

        ## How to try it

            git fetch origin tm/b && git switch --detach FETCH_HEAD
            npm test

        To do the proof again, in any clone: `tm audit main..tm/b`
        ");
    }

    #[test]
    fn pull_request_of_several_tasks_has_a_part_for_each() {
        let text = text(&[task("1", "Add numbers"), task("2", "Print them")], &[]);
        assert_eq!(text.title, "Add numbers and 1 more");
        assert!(
            text.body.contains("## Add numbers\n") && text.body.contains("## Print them\n"),
            "{}",
            text.body
        );
        assert!(!text.body.contains("Builds on"), "{}", text.body);
    }

    #[test]
    fn no_issue_is_closed_by_what_a_task_says() {
        for said in [
            "Fixes #12",
            "fix: #12",
            "closed octo/cat#3",
            "Resolves\tGH-7",
            "Resolve [#9](x)",
            "Closing issue #4",
            "closes https://github.com/o/c/issues/1",
            "**Fixed** #2",
            "completes ENG-12",
        ] {
            let text = nobody_called(said);
            let shown = text.replace('\u{200b}', "");
            assert!(
                text.contains('\u{200b}') && shown == said.replace('\t', " "),
                "{text:?}"
            );
            assert_eq!(nobody_called(&text), text, "once");
        }
        for said in [
            "Fixes the parser of #12",
            "close the file",
            "prefix-12",
            "see #12",
            "a fixed-12 font",
        ] {
            assert_eq!(nobody_called(said), said);
        }
        let mut done = task("1", "Fixes #12");
        done.description = "As said.\n\nCloses\n#13.".to_owned();
        let text = text(&[done], &[]);
        assert_eq!(text.title, "F\u{200b}ixes #12");
        assert!(text.body.contains("C\u{200b}loses\n#13."), "{}", text.body);
    }

    #[test]
    fn long_bodies_are_cut_and_nobody_is_called_by_name() {
        let body = bounded("é".repeat(MOST_CHARACTERS + 1));
        assert!(body.chars().count() < 65_536 && body.contains("[…]"));
        assert_eq!(
            nobody_called("ask @octocat\nnow <!-- hidden"),
            "ask @\u{200b}octocat now <\u{200b}!-- hidden"
        );
    }
}
