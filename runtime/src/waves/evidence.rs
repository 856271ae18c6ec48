//! Puts the prompt of an attempt together: the task, what earlier tasks found out, what went wrong before.

use crate::waves::shared_notes::{LEARNT_BYTES, learnt};
use crate::waves::steps::StepContext;
use std::fmt::Write as _;
use std::path::Path;
use tm_presets::{Evidence, Prompt, PromptContext, PromptTask, RedReport, RejectedWork};
use tm_scheduler::{Phase, Task};

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
            .then(|| context.directory.result().display().to_string()),
        context_file: context.directory.context().display().to_string(),
        test_command: context.test_words(),
        learnt: learnt(
            &tm_untrusted::clean(&String::from_utf8_lossy(&found_out)),
            &context.ancestors,
            LEARNT_BYTES,
        ),
        red_report: context.red.as_ref().map(|red| RedReport {
            files: red_files,
            tests: red.tests.clone(),
        }),
        rejected,
        conflicted: Vec::new(),
        rivals: context.rivals.iter().map(prompt_task).collect(),
        evidence: evidence(context),
    }
}

/// Attempts that were not charged, such as one that ran into a limit of a service, come on top.
fn attempts_allowed(context: &StepContext) -> u32 {
    let uncharged = context
        .earlier
        .iter()
        .filter(|record| !record.is_charged())
        .count();
    let uncharged = u32::try_from(uncharged).unwrap_or(u32::MAX);
    (context.setup.header.limits.retries + 1).saturating_add(uncharged)
}

fn prompt_task(task: &Task) -> PromptTask {
    PromptTask {
        id: task.id.to_string(),
        title: task.title.clone(),
        description: task.description.clone(),
        details: with_steps(task),
        test_strategy: task.test_strategy.clone(),
        acceptance_criteria: task.acceptance_criteria.clone(),
    }
}

/// The details, followed by the subtasks as steps.
fn with_steps(task: &Task) -> String {
    let mut details = task.details.clone();
    for subtask in &task.subtasks {
        let _ = write!(
            details,
            "\n- {} {}: {}",
            subtask.id, subtask.title, subtask.description
        );
        if !subtask.details.is_empty() {
            let _ = write!(details, "\n  {}", subtask.details.replace('\n', "\n  "));
        }
    }
    details.trim_start().to_owned()
}

fn evidence(context: &StepContext) -> Vec<Evidence> {
    let failed = context
        .earlier
        .iter()
        .filter_map(|record| Some((record, record.failed()?)));
    failed
        .map(|(record, failed)| Evidence {
            attempt: record.number.0,
            failure: failed.failure.to_string(),
            text: bounded_end(&with_last_words(record), EVIDENCE_BYTES),
            what_to_try: tm_presets::what_to_try(failed.failure.as_str(), reason(record))
                .to_owned(),
        })
        .collect()
}

fn reason(record: &tm_scheduler::AttemptRecord) -> Option<&'static str> {
    let of_proof = || record.proof().and_then(|proof| proof.reason);
    (record.failed())
        .and_then(|failed| failed.questioned)
        .or_else(of_proof)
        .map(tm_scheduler::Reason::as_str)
}

/// The evidence, what was noticed, and what the agent said last where nothing was measured.
fn with_last_words(record: &tm_scheduler::AttemptRecord) -> String {
    let mut text = record.evidence().to_owned();
    for noticed in record.report().iter().flat_map(|report| &report.noticed) {
        let _ = write!(text, "\n{noticed}");
    }
    let last_words = record
        .report()
        .map(|report| report.last_words.trim())
        .unwrap_or_default();
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
