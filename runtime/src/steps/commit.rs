//! Commits proven work on the task's branch.

use super::brief::{Brief, StepDone};
use super::prepare::at_hand;
use super::words;
use crate::conventional::{commit_type, scope};
use crate::trouble::Trouble;
use std::time::Duration;
use tm_executors::process::TreeRecord;
use tm_presets::CommitWords;
use tm_scheduler::{Answer, Phase};
use tm_worktrees::{Error, Worktree};

/// A commit that the disk or a lock refused is tried again after these pauses; git is not told to, since a commit must
/// not be made twice.
const AGAIN_AFTER: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(450), Duration::from_secs(4)];

pub(crate) async fn commit(brief: Brief, worktree: Option<Worktree>) -> StepDone {
    let worktree = match at_hand(&brief, worktree).await {
        Ok(worktree) => worktree,
        Err(answer) => return brief.done(answer, None),
    };
    let inner = brief.clone();
    let committed = tokio::task::spawn_blocking(move || {
        let answer = commit_now(&inner, &worktree);
        (worktree, answer)
    })
    .await;
    match committed {
        Ok((worktree, answer)) => brief.done(answer, Some(worktree)),
        Err(error) => brief.done(Answer::WorkLost(error.to_string()), None),
    }
}

fn commit_now(brief: &Brief, worktree: &Worktree) -> Answer {
    let _while_hooks_may_run = match written_down(brief, worktree) {
        Ok(record) => record,
        Err(trouble) => return trouble.answer(Answer::CommitRefused),
    };
    for pause in AGAIN_AFTER.into_iter().map(Some).chain([None]) {
        if let Some(commit) = already_made(brief, worktree) {
            return Answer::Committed { commit, proof: None };
        }
        // What was staged is what was proven; what the tests left behind is not part of it.
        match (worktree.commit(&message(brief, worktree)), pause) {
            (Ok(commit), _) => return Answer::Committed { commit, proof: None },
            (Err(error), Some(pause)) if error.is_of_surroundings() => std::thread::sleep(pause),
            (Err(error), _) => return refused(error),
        }
    }
    unreachable!("the last round returns")
}

/// Says that git, with the hooks of the user, is about to commit there: where tm is killed in the middle, neither may go
/// on beside the same commit of the next tm.
pub(super) fn written_down(brief: &Brief, worktree: &Worktree) -> Result<TreeRecord, Trouble> {
    let (name, value) = worktree.commit_mark();
    brief.setup.under_way.begin(&[(name.to_owned(), value)]).map_err(|error| Trouble::of(&error))
}

fn refused(error: Error) -> Answer {
    if error.is_of_surroundings() {
        return Answer::Surroundings(words(&error));
    }
    match error {
        Error::CommitRefused { output } => Answer::CommitRefused(output),
        other => Answer::CommitRefused(words(&other)),
    }
}

/// The commit that a process made which was gone before it could say so.
fn already_made(brief: &Brief, worktree: &Worktree) -> Option<tm_scheduler::CommitId> {
    let repository = &brief.setup.repository;
    let tip = repository.branch_tip(worktree.branch()).ok()??;
    if tip == *worktree.base() {
        return None;
    }
    let trailers = repository.trailers(&tip).ok()?;
    let has = |name: &str, value: &str| trailers.iter().any(|(key, text)| key == name && text == value);
    (has("Run", brief.setup.header.run_id.as_str()) && has("Task", brief.id().as_str())).then_some(tip)
}

/// The words are the template's, else the task's title; the trailers are how tm finds its commits again.
fn message(brief: &Brief, worktree: &Worktree) -> String {
    let proof = brief.record.as_ref().and_then(|record| record.proof.as_ref());
    let tests =
        proof.map_or_else(|| "none".to_owned(), |proof| format!("{} passed, {} failed", proof.passed, proof.failed));
    let coverage = proof.and_then(|proof| proof.coverage);
    let coverage = coverage.map_or_else(String::new, |coverage| format!("Coverage: {:.1} %\n", coverage.after));
    let phase = brief.phase().as_str();
    let subject = templated(brief, worktree, phase).unwrap_or_else(|| match brief.phase() {
        Phase::Red => format!("Add tests for: {}", one_line(&brief.planned.title)),
        Phase::Green | Phase::None => one_line(&brief.planned.title),
    });
    format!("{subject}\n\n{}Tests: {tests}\n{coverage}", trailers(brief, phase))
}

/// The words of the user's template; `None` without one. It was checked before the run, so where it fails on this task
/// alone, tm's own words keep the work from being lost.
fn templated(brief: &Brief, worktree: &Worktree, phase: &str) -> Option<String> {
    let template = brief.setup.settings.git.commit_template.as_deref()?;
    let files = worktree.staged_files().unwrap_or_default();
    let title = one_line(&brief.planned.title);
    let kind = match phase {
        "refactor" => "refactor".to_owned(),
        _ => commit_type(&files, &title, &brief.setup.settings.autopilot.default_commit_type),
    };
    let words = CommitWords {
        id: one_line(brief.id().as_str()),
        description: brief.task.description.trim().to_owned(),
        phase: phase.to_owned(),
        r#type: kind,
        scope: scope(&files),
        tag: one_line(brief.setup.header.tag.as_str()),
        run: brief.setup.header.run_id.to_string(),
        title,
        files,
    };
    match tm_presets::commit_message(template, &words) {
        Ok(text) => Some(text),
        Err(error) => {
            tracing::warn!("failed to {error}");
            None
        }
    }
}

/// The message of a further commit that improves GREEN's code.
pub(super) fn message_of_refactor(brief: &Brief, worktree: &Worktree) -> String {
    let subject = templated(brief, worktree, "refactor");
    let subject = subject.unwrap_or_else(|| format!("Refactor: {}", one_line(&brief.planned.title)));
    format!("{subject}\n\n{}", trailers(brief, "refactor"))
}

fn trailers(brief: &Brief, phase: &str) -> String {
    let header = &brief.setup.header;
    let (task, tag) = (one_line(brief.id().as_str()), one_line(header.tag.as_str()));
    format!("Task: {task}\nPhase: {phase}\nTag: {tag}\nRun: {}\n", header.run_id)
}

/// Text from a backlog can't add lines of its own to a message.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "untitled".to_owned() } else { line }
}
