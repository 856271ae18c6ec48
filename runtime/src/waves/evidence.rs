//! Puts the prompt of an attempt together: the task, what earlier tasks found out, what went wrong before.
//!
//! What tasks found out is kept in one file and chosen for a prompt: by kinship, by size, each thing once.

use super::notes::{entries, quoted};
use super::steps::StepContext;
use crate::attempt::told_folder;
use itertools::Itertools as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use tm_presets::{Evidence, Prompt, PromptContext, PromptTask, RedReport, RejectedWork};
use tm_scheduler::{AttemptRecord, Failure, Phase, Reason, Task, TaskId};
use tm_store::run::MOST_NOTES;

/// So many bytes of one attempt's evidence go into a prompt.
const EVIDENCE_BYTES: usize = 6 * 1024;

/// So many of the last bytes of what all tasks found out are looked at.
const CONTEXT_BYTES: u64 = 16 * 1024 * 1024;

/// Returns which prompt a phase has.
pub(crate) const fn prompt_of(phase: Phase) -> Prompt {
    match phase {
        Phase::Red => Prompt::Red,
        Phase::Green => Prompt::Green,
        Phase::None => Prompt::Task,
    }
}

/// Returns everything that the prompt can speak of.
pub(crate) fn prompt_context(
    context: &StepContext,
    worktree: &Path,
    red_files: Vec<String>,
    rejected: Vec<RejectedWork>,
) -> PromptContext {
    let setup = &context.setup;
    let told = told_folder(&setup.executor, &context.directory);
    let found_out =
        tm_untrusted::read_end(&setup.directory.context(), CONTEXT_BYTES).unwrap_or_default();
    PromptContext {
        task: prompt_task(&context.task),
        attempt: context.attempt.0,
        attempts_allowed: attempts_allowed(context),
        tag: setup.header.tag.to_string(),
        run_id: setup.header.run_id.to_string(),
        worktree: worktree.display().to_string(),
        tm: tm_presets::shell_word(&setup.tm_program.display().to_string()),
        result_file: context
            .recipe()
            .output
            .writes_results()
            .then(|| told.result().display().to_string()),
        context_file: told.context().display().to_string(),
        test_command: context.test_words(),
        learnt: notes_for(
            &tm_untrusted::clean(&String::from_utf8_lossy(&found_out)),
            &context.ancestors,
            room_for_notes(&context.earlier),
        ),
        noted: noted(context),
        red_report: context.red.as_ref().map(|red| RedReport {
            files: red_files,
            tests: red.tests.clone(),
            issues: context
                .red_issues
                .iter()
                .map(|issue| one_line(issue))
                .take(MOST_ISSUES)
                .collect(),
        }),
        rejected,
        conflicted: Vec::new(),
        rivals: context.rivals.iter().map(prompt_task).collect(),
        evidence: context.earlier.iter().filter_map(evidence_of).collect(),
    }
}

/// So many of the points that RED left open are told, each in a line of so many letters.
const MOST_ISSUES: usize = 20;
const ISSUE_LETTERS: usize = 400;

fn one_line(issue: &str) -> String {
    tm_untrusted::line(&tm_untrusted::clean(issue), ISSUE_LETTERS)
}

/// What was found out in earlier runs, quoted.
fn noted(context: &StepContext) -> String {
    let wanted = context
        .setup
        .notes
        .as_ref()
        .filter(|_| room_for_notes(&context.earlier) > 0);
    let notes = wanted.and_then(|file| tm_untrusted::read_beginning(file, MOST_NOTES as u64).ok());
    quoted(&String::from_utf8_lossy(&notes.unwrap_or_default()))
}

/// What others found out has no room in a request that was too long without it.
fn room_for_notes(earlier: &[AttemptRecord]) -> usize {
    let is_too_long = |record: &AttemptRecord| record.failure() == Some(Failure::ContextTooLong);
    if earlier.iter().any(is_too_long) {
        0
    } else {
        NOTES_BYTES
    }
}

/// Attempts that were not charged, such as one that ran into a limit of a service, come on top.
fn attempts_allowed(context: &StepContext) -> u32 {
    let earlier = context.earlier.iter();
    let uncharged: u32 = earlier.map(|record| u32::from(!record.is_charged())).sum();
    (context.setup.header.limits.retries + 1).saturating_add(uncharged)
}

pub(crate) fn prompt_task(task: &Task) -> PromptTask {
    PromptTask {
        id: task.id.to_string(),
        title: task.title.to_string(),
        description: task.description.clone(),
        details: with_steps(task),
        test_strategy: task.test_strategy.clone(),
        acceptance_criteria: task.acceptance_criteria.clone(),
    }
}

/// The details, followed by the subtasks as steps.
fn with_steps(task: &Task) -> String {
    let mut details = task.details.clone();
    for step in &task.subtasks {
        let _ = write!(
            details,
            "\n- {} {}: {}",
            step.id, step.title, step.description
        );
        if !step.details.is_empty() {
            let _ = write!(details, "\n  {}", step.details.replace('\n', "\n  "));
        }
    }
    details.trim_start().to_owned()
}

fn evidence_of(record: &AttemptRecord) -> Option<Evidence> {
    let failed = record.failed()?;
    let of_proof = || record.proof()?.reason;
    let reason = failed.questioned.or_else(of_proof).map(Reason::as_str);
    Some(Evidence {
        attempt: record.number.0,
        failure: failed.failure.to_string(),
        text: bounded_end(&with_last_words(record), EVIDENCE_BYTES),
        what_to_try: tm_presets::what_to_try(failed.failure.as_str(), reason).to_owned(),
    })
}

/// The evidence, what was noticed, and what the agent said last where nothing was measured.
fn with_last_words(record: &AttemptRecord) -> String {
    let mut text = record.evidence().to_owned();
    let Some(report) = record.report() else {
        return text;
    };
    for noticed in &report.noticed {
        let _ = write!(text, "\n{noticed}");
    }
    let last_words = report.last_words.trim();
    if record.proof().is_none() && !last_words.is_empty() {
        let _ = write!(text, "\n\nIts last words:\n\n{last_words}");
    }
    text
}

/// Returns the end of the text, cut at a line where it is too long.
fn bounded_end(text: &str, bytes: usize) -> String {
    let text = text.trim();
    if text.len() <= bytes {
        return text.to_owned();
    }
    let start = text.ceil_char_boundary(text.len() - bytes);
    let tail = &text[start..];
    let tail = tail.split_once('\n').map_or(tail, |(_, rest)| rest);
    format!("[…]\n{tail}")
}

/// So many bytes go into a prompt, and so many of what one task found out.
const NOTES_BYTES: usize = 16 * 1024;
const ENTRY_BYTES: usize = 4 * 1024;

/// Chooses from the file what a task may want to know: first what was found out by those that it builds on, `ancestors`, the
/// nearest first, then the latest of all others. What another one said already is left out.
fn notes_for(file: &str, ancestors: &[TaskId], bytes: usize) -> String {
    let entries = &entries(file);
    let near = ancestors
        .iter()
        .flat_map(|near| (0..entries.len()).filter(move |&at| entries[at].0 == *near));
    let is_other = |&at: &usize| !ancestors.contains(&entries[at].0);
    let others = (0..entries.len()).rev().filter(is_other);
    let (mut said, mut left) = (BTreeSet::new(), bytes);
    let (mut chosen, mut left_out) = (BTreeMap::new(), BTreeSet::new());
    for at in near.chain(others) {
        let (task, text) = &entries[at];
        let text = said_anew(text, &mut said);
        if text.is_empty() {
            continue;
        }
        match left.checked_sub(text.len() + 1) {
            Some(rest) => {
                left = rest;
                chosen.insert(at, text);
            }
            None => drop(left_out.insert(task)),
        }
    }
    let mut notes = chosen.into_values().join("\n\n");
    if !left_out.is_empty() {
        let names = left_out.into_iter().take(20).join(", ");
        let _ = write!(
            notes,
            "\n\n[… left out for its length: what {names} found out …]"
        );
    }
    notes
}

/// What an entry says that has not been said, bounded; empty when only its heading is left.
fn said_anew(text: &str, said: &mut BTreeSet<String>) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut length = 0;
    for line in text.lines().map(str::trim_end) {
        let is_said = match line {
            "" => kept.last().is_none_or(|last| last.is_empty()),
            line => !said.insert(line.to_owned()),
        };
        if is_said {
            continue;
        }
        length += line.len() + 1;
        if length > ENTRY_BYTES {
            kept.push("[…]");
            break;
        }
        kept.push(line);
    }
    if kept.iter().skip(1).all(|line| line.is_empty()) {
        return String::new();
    }
    kept.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_at_a_line_and_keeps_its_end() {
        let text = "first line\nsecond line\nthird line é";
        assert_eq!(bounded_end(text, 100), text);
        assert_eq!(bounded_end(text, 18), "[…]\nthird line é");
    }

    #[test]
    fn subtasks_become_steps() {
        let mut task = Task::new("1", "Build");
        task.details = "How".into();
        let mut step = Task::new("1.1", "First");
        step.description = "do it".into();
        step.details = "so\nand so".into();
        task.subtasks = vec![step];
        assert_eq!(with_steps(&task), "How\n- 1.1 First: do it\n  so\n  and so");
    }
}

#[cfg(test)]
mod shared_notes_tests {
    use super::*;
    use crate::waves::notes::entry;

    fn file(entries: &[(&str, &str)]) -> String {
        entries
            .iter()
            .map(|(task, text)| entry(&(*task).into(), "Build", text))
            .collect()
    }

    #[test]
    fn all_of_it_is_told_in_its_order_while_there_is_room() {
        let file = file(&[
            ("1", "Tests are in t/.\n### A heading of its own"),
            ("2", "Use `make`."),
        ]);
        assert_eq!(
            notes_for(&file, &[], NOTES_BYTES),
            "### 1 Build\n\nTests are in t/.\n### A heading of its own\n\n### 2 Build\n\nUse `make`."
        );
        assert_eq!(notes_for("", &[], NOTES_BYTES), "");
    }

    #[test]
    fn what_the_task_builds_on_comes_before_what_is_new() {
        let file = file(&[("1", "one"), ("2", "two"), ("3", "three")]);
        let room = "### 1 Build\n\none".len() + 1;
        let told = notes_for(&file, &["1".into()], room);
        assert!(
            told.starts_with("### 1 Build\n\none\n\n[… left out"),
            "{told}"
        );
        assert!(told.ends_with("what 2, 3 found out …]"), "{told}");
        assert!(notes_for(&file, &[], room + 2).starts_with("### 3 Build\n\nthree"));
    }

    #[test]
    fn what_was_said_already_is_not_said_again_and_long_entries_are_cut() {
        let lines: Vec<String> = (0..2_000).map(|number| format!("line {number}")).collect();
        let long = lines.join("\n");
        let file = file(&[("1", "Use `make`."), ("2", "Use `make`."), ("3", &long)]);
        let told = notes_for(&file, &[], NOTES_BYTES);
        assert_eq!(told.matches("Use `make`.").count(), 1, "{told}");
        assert!(
            told.len() < ENTRY_BYTES + 200 && told.ends_with("[…]"),
            "{}",
            told.len()
        );
    }
}
