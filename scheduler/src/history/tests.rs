//! Histories as lists of messages, the newest first, and what stands in them.

use super::*;
use crate::TddMark;
use std::convert::Infallible;

fn block(task: &str, phase: &str, run: &str) -> String {
    format!("Task: {task}\nPhase: {phase}\nTag: master\nRun: {run}\nTests: 3 passed, 0 failed\n")
}

fn work(title: &str, task: &str, phase: &str) -> String {
    format!("{title}\n\n{}", block(task, phase, "r1"))
}

fn takes_back(task: &str) -> String {
    format!(
        "Take back task {task}\n\nit is wrong\n\n{}{TAKES_BACK}: abc {task}\n",
        block(task, TAKEN_BACK_PHASE, "r2")
    )
}

/// Commits are `0`, `1` … from the newest on, each an ancestor of those with smaller numbers.
fn standing(newest_first: &[&str]) -> Vec<String> {
    let past: Vec<PastMessage> = newest_first
        .iter()
        .enumerate()
        .map(|(number, message)| PastMessage {
            commit: CommitId::new(number.to_string()),
            message: (*message).to_owned(),
            reverts: reverted(message)
                .into_iter()
                .map(|id| CommitId::new(id.as_str().trim_start_matches('f')))
                .collect(),
        })
        .collect();
    let is_before = |one: &CommitId, other: &CommitId| -> Result<bool, Infallible> {
        let number = |id: &CommitId| id.as_str().parse::<usize>().expect("a number");
        Ok(number(one) > number(other))
    };
    let Ok(works) = standing_work(&past, is_before);
    works
        .into_iter()
        .map(|work| format!("{} {:?} {}", work.task, work.kind, work.commit))
        .collect()
}

fn recognised(tasks: &[Task], messages: &[String]) -> Recognised {
    let past: Vec<PastMessage> = messages
        .iter()
        .map(|message| PastMessage {
            commit: "c".into(),
            message: message.clone(),
            reverts: Vec::new(),
        })
        .collect();
    let Ok(works) = standing_work(&past, |_, _| Ok::<_, Infallible>(false));
    Recognised::of(tasks, &"master".into(), &works, &BTreeSet::new())
}

fn done(found: &Recognised) -> Vec<&str> {
    found.done.iter().map(|(id, _)| id.as_str()).collect()
}

#[test]
fn what_was_taken_back_stands_no_more_until_it_is_done_again() {
    let (first, back) = (work("One", "1", "none"), takes_back("1"));
    assert_eq!(standing(&[&first]), ["1 Whole 0"]);
    assert_eq!(standing(&[&back, &first]), Vec::<String>::new());
    assert_eq!(standing(&[&first, &back, &first]), ["1 Whole 0"]);
    assert_eq!(
        standing(&[&back, &work("Two", "2", "none"), &first]),
        ["2 Whole 1"]
    );
}

#[test]
fn what_autopilot_committed_stands_by_its_id_and_title() {
    let message = "[1.2] feat: add store\n\nTask: #1.2 - Add store - twice\nPhase: COMMIT\nTag: master\n\
                   Tests: 2 passing\nCoverage: 92% lines\nRun: master__task-1__x\n";
    assert_eq!(standing(&[message]), ["1.2 Whole 0"]);
    let told = [message.to_owned()];
    let known = |title: &str| recognised(&[Task::new("1.2", title)], &told);
    assert_eq!(done(&known("Add store - twice")), ["1.2"]);
    assert_eq!(done(&known("Another one")), Vec::<&str>::new());
    assert_eq!(standing(&[&message.replace('#', "")]), Vec::<String>::new());
}

#[test]
fn git_revert_counts_and_its_own_revert_too() {
    let first = work("One", "1", "none");
    let revert = |number: usize| {
        format!("Revert \"x\"\n\nThis reverts commit ffffffff{number}, reversing\nchanges.\n")
    };
    assert_eq!(standing(&[&revert(1), &first]), Vec::<String>::new());
    assert_eq!(standing(&[&revert(1), &revert(2), &first]), ["1 Whole 2"]);
    assert_eq!(
        standing(&[&revert(1), &takes_back("1"), &first]),
        ["1 Whole 2"]
    );
}

#[test]
fn squashed_commits_hold_the_work_of_all_that_went_into_them() {
    let (red, green) = (
        work("Add tests for: One", "1:red", "red"),
        work("One", "1", "green"),
    );
    let hub = format!(
        "Night (#12)\n\n* {}\n\n* {}\n\n* Land task 1: One\n\nTask: 1\nRun: r1\n",
        red.trim(),
        green.trim()
    );
    assert_eq!(standing(&[&hub]), ["1 Whole 0", "1:red Red 0"]);
    // Done, taken back and done again, and the other way round: GitHub lists the oldest first, git the newest.
    let (done, back) = (
        format!("* {}\n", green.trim()),
        format!("* {}\n", takes_back("1").trim()),
    );
    assert_eq!(
        standing(&[&format!("Night\n\n{done}\n{back}")]),
        Vec::<String>::new()
    );
    assert_eq!(
        standing(&[&format!("Night\n\n{done}\n{back}\n{done}")]),
        ["1 Whole 0"]
    );
    assert_eq!(
        standing(&[&format!("{SQUASHED}\n\n{back}\n{done}")]),
        Vec::<String>::new()
    );
    assert_eq!(
        standing(&[&format!("{SQUASHED}\n\n{done}\n{back}")]),
        ["1 Whole 0"]
    );
}

#[test]
fn words_that_are_no_whole_block_say_nothing() {
    for message in [
        "One\n\nTask: 1\n",
        "One\n\nTask: 1\nPhase: green\nRun: r\n",
        "Land task 1: One\n\nTask: 1\nRun: r1\n",
    ] {
        assert_eq!(standing(&[message]), Vec::<String>::new(), "{message}");
    }
    assert_eq!(
        standing(&["One\n\nTask: 1\nPhase: commit\nTag: master\nRun: r\n"]),
        Vec::<String>::new()
    );
}

#[test]
fn a_task_is_known_by_id_and_title_together() {
    let tasks = [
        Task::new("1", "Parse  the header"),
        Task::new("2", "Another one"),
        Task::new("3", "Parse the header"),
    ];
    let found = recognised(
        &tasks,
        &[
            work("Parse the header", "1", "green"),
            work("An old one", "2", "none"),
        ],
    );
    assert_eq!(done(&found), ["1"]);
    assert_eq!(
        found
            .other_title
            .iter()
            .map(|(id, _)| id.as_str())
            .collect::<Vec<_>>(),
        ["2"]
    );
    // The number of a pull request, tm's words and a template's are no part of it.
    assert_eq!(
        done(&recognised(
            &tasks,
            &[work("Parse the header (#7)", "1", "none")]
        )),
        ["1"]
    );
    let templated = format!(
        "feat: header\n\n{}{TITLE}: Parse the header\n",
        block("1", "none", "r1")
    );
    assert_eq!(
        done(&recognised(&tasks, std::slice::from_ref(&templated))),
        ["1"]
    );
    let other_tag = templated.replace("Tag: master", "Tag: other");
    assert_eq!(recognised(&tasks, &[other_tag]), Recognised::default());
}

#[test]
fn tests_alone_are_no_task_that_is_done() {
    let tasks = [Task::new("1", "Parse it")];
    let red = work("Add tests for: Parse it", "1:red", "red");
    let found = recognised(&tasks, std::slice::from_ref(&red));
    assert_eq!((done(&found).len(), found.tests_alone.len()), (0, 1));
    assert_eq!(
        done(&recognised(&tasks, &[red, work("Parse it", "1", "green")])),
        ["1"]
    );
}

#[test]
fn halves_of_an_explicit_pair_are_done_together() {
    let mut tasks = [
        Task::new("1", "Parse it"),
        Task::new("2", "Test the parser"),
    ];
    tasks[0].metadata.tdd = Some(TddMark {
        half: TddHalf::Green,
        paired_task_id: Some("2".into()),
    });
    tasks[1].metadata.tdd = Some(TddMark {
        half: TddHalf::Red,
        paired_task_id: None,
    });
    let red = work("Add tests for: Test the parser", "2", "red");
    assert_eq!(
        done(&recognised(&tasks, std::slice::from_ref(&red))),
        Vec::<&str>::new()
    );
    assert_eq!(
        done(&recognised(&tasks, &[red, work("Parse it", "1", "green")])),
        ["1", "2"]
    );
}

#[test]
fn subtasks_are_done_with_their_task_and_the_task_with_all_of_them() {
    let mut task = Task::new("1", "Parse it");
    task.subtasks = vec![Task::new("1.1", "Words"), Task::new("1.2", "Lines")];
    assert_eq!(
        done(&recognised(
            std::slice::from_ref(&task),
            &[work("Parse it", "1", "none")]
        )),
        ["1", "1.1", "1.2"]
    );
    let words = work("Words", "1.1", "none");
    assert_eq!(
        done(&recognised(
            std::slice::from_ref(&task),
            std::slice::from_ref(&words)
        )),
        ["1.1"]
    );
    let found = recognised(
        std::slice::from_ref(&task),
        &[words, work("Lines", "1.2", "none")],
    );
    assert_eq!(done(&found), ["1.1", "1.2", "1"]);
    let mut read = [task];
    found.apply(&mut read);
    assert!(
        read[0].status == Status::Done
            && read[0]
                .subtasks
                .iter()
                .all(|task| task.status == Status::Done)
    );
}

#[test]
fn what_a_person_wants_again_and_what_is_not_open_is_left_alone() {
    let mut tasks = [Task::new("1", "One"), Task::new("2", "Two")];
    tasks[1].status = Status::Deferred;
    let messages = [work("One", "1", "none"), work("Two", "2", "none")];
    assert_eq!(done(&recognised(&tasks, &messages)), ["1"]);
    let works: Vec<Work> = messages
        .iter()
        .flat_map(|message| {
            said(&PastMessage {
                commit: "c".into(),
                message: message.clone(),
                reverts: Vec::new(),
            })
        })
        .filter_map(|said| {
            if let Said::Work(work) = said {
                Some(work)
            } else {
                None
            }
        })
        .collect();
    let again = BTreeSet::from(["1".into()]);
    assert_eq!(
        Recognised::of(&tasks, &"master".into(), &works, &again),
        Recognised::default()
    );
}
