//! The message of a commit: the words of the user's template or the task's title, and trailers that say what was proven.

use super::blocking;
use super::commit::Proven;
use super::context::StepContext;
use super::trailers::without_words_of_ours;
use crate::conventional::{commit_type, scope};
use crate::step_error::StepError;
use tm_executors::testing::TestCommand;
use tm_presets::CommitWords;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{CommitId, Phase, TITLE};
use tm_worktrees::{Error, HookedWork};

/// The phase of a further commit that improves GREEN's code, as its trailer says it.
pub(super) const REFACTOR: &str = "refactor";

/// The words are the template's, else the task's title; the trailers say what was proven.
pub(super) async fn message(
    context: &StepContext,
    proven: &Proven,
    on: &CommitId,
) -> Result<String, StepError> {
    let (repository, tree, on) = (
        context.setup.repository.clone(),
        proven.tree.clone(),
        on.clone(),
    );
    let inner = context.clone();
    let (changed, command) = blocking(move || {
        Ok::<_, Error>((
            repository.changed_files(&on, &tree)?,
            inner.command_of_work(&on, &tree)?,
        ))
    })
    .await?;
    let files: Vec<String> = changed.into_iter().map(|file| file.path).collect();
    let templated = templated(context, &files, proven.phase);
    if proven.phase == REFACTOR {
        let subject =
            templated.unwrap_or_else(|| format!("Refactor: {}", one_line(&context.planned.title)));
        return Ok(format!(
            "{subject}\n\n{}",
            trailers(context, REFACTOR, command.as_ref())
        ));
    }
    let proof = context.proof();
    let tests = proof.map_or_else(
        || "none".to_owned(),
        |proof| format!("{} passed, {} failed", proof.passed, proof.failed),
    );
    let coverage = proof.and_then(|proof| proof.coverage);
    let coverage = coverage.map_or_else(String::new, |coverage| {
        format!("Coverage: {:.1} %\n", coverage.after)
    });
    let subject = templated.unwrap_or_else(|| match context.phase() {
        Phase::Red => format!("Add tests for: {}", one_line(&context.planned.title)),
        Phase::Green | Phase::None => one_line(&context.planned.title),
    });
    Ok(format!(
        "{subject}\n\n{}Tests: {tests}\n{coverage}",
        trailers(context, proven.phase, command.as_ref())
    ))
}

/// The words of the user's template; `None` without one. It was checked before the run, so where it fails on this task
/// alone, tm's own words keep the work from being lost.
fn templated(context: &StepContext, files: &[String], phase: &str) -> Option<String> {
    let template = context.setup.settings.git.commit_template.as_deref()?;
    let title = one_line(&context.planned.title);
    let kind = match phase {
        REFACTOR => "refactor".to_owned(),
        _ => commit_type(
            files,
            &title,
            &context.setup.settings.autopilot.default_commit_type,
        ),
    };
    let words = CommitWords {
        id: one_line(context.id().as_str()),
        description: context.task.description.trim().to_owned(),
        phase: phase.to_owned(),
        r#type: kind,
        scope: scope(files),
        tag: one_line(context.setup.header.tag.as_str()),
        run: context.setup.header.run_id.to_string(),
        title,
        files: files.to_vec(),
    };
    match tm_presets::commit_message(template, &words) {
        Ok(text) => Some(without_words_of_ours(&text, "")),
        Err(error) => {
            tracing::warn!("failed to {error}");
            None
        }
    }
}

fn trailers(context: &StepContext, phase: &str, command: Option<&TestCommand>) -> String {
    let header = &context.setup.header;
    let (task, tag) = (
        one_line(context.id().as_str()),
        one_line(header.tag.as_str()),
    );
    let command = context.command_trailers(command);
    let resolution = context.carried_over().map_or_else(String::new, |_| {
        format!("{}: {}\n", Resolution::TRAILER, Resolution::Agent)
    });
    format!(
        "Task: {task}\nPhase: {phase}\nTag: {tag}\nRun: {}\n{}{command}{resolution}",
        header.run_id,
        title(context)
    )
}

/// The trailer with the title, where the first line may be another one.
fn title(context: &StepContext) -> String {
    let setup = &context.setup;
    if setup.settings.git.commit_template.is_none()
        && !setup.repository.may_have_hooks(HookedWork::Commit)
    {
        return String::new();
    }
    format!("{TITLE}: {}\n", one_line(&context.planned.title))
}

/// Text from a backlog can't add lines of its own to a message.
pub(super) fn one_line(text: &str) -> String {
    let line = tm_scheduler::one_line(text);
    if line.is_empty() {
        "untitled".to_owned()
    } else {
        line
    }
}
