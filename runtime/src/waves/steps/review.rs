//! Has another agent read a piece of work before it lands: with the task, the difference, and files that it can't commit
//! to. Its verdict is a file, and nothing but a verdict that can be read lets work pass.

use super::agent::launch_of;
use super::context::{Gated, StepContext};
use crate::attempt::{Launch, Start, told_folder};
use crate::waves::evidence::prompt_task;
use crate::{StepError, briefly};
use serde::Deserialize;
use std::io;
use std::path::Path;
use std::time::Duration;
use tm_config::Gate;
use tm_executors::agent::{AgentCommand, Progress, adopt_attempt};
use tm_executors::process::Besides;
use tm_presets::{PromptTask, ReviewContext, recipe, review_prompt};
use tm_scheduler::{AgentReport, Ended, GateOutcome, GateResult, StopMode, Tokens};
use tm_store::run::AttemptDirectory;
use tokio::sync::watch;

/// So often a reviewer that gives no verdict is asked again, after these pauses.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Each start has a folder; there are no more of them.
const MOST_STARTS: u32 = 10_000;
/// A verdict is no longer.
const VERDICT_BYTES: u64 = 256 * 1024;
/// So much of a difference stands in the prompt; all of it is in a file.
const DIFF_BYTES: usize = 64 * 1024;
/// Where the work is in the folder in which a reviewer begins. Programs look for settings, hooks and instructions of theirs
/// there and above, and those in the work are part of what is judged.
const WORK: &str = "work";
/// So many reasons are kept, each with so many bytes.
const MOST_REASONS: usize = 50;
const REASON_BYTES: usize = 2 * 1024;

/// What a reviewer writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    verdict: Decision,
    #[serde(default)]
    reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Reject,
}

/// Adds what one try of a review has spent.
fn add(spent: &mut GateResult, mut report: AgentReport) {
    report.forget_impossible_figures();
    spent.tokens = [spent.tokens, report.tokens]
        .into_iter()
        .flatten()
        .reduce(Tokens::plus);
    spent.cost_usd = [spent.cost_usd, report.cost_usd]
        .into_iter()
        .flatten()
        .reduce(|sum, more| sum + more);
}

/// Asks the reviewer of a gate, again where there is no verdict. One that gives none on the work, and gives one where there
/// is nothing to judge, is kept from it by the work; one that gives none there, either, somebody has to see to.
pub(super) async fn review(
    context: &StepContext,
    gate: &Gate,
    work: &Gated<'_>,
) -> Result<GateResult, StepError> {
    let mut review = GateResult::new(&gate.name, GateOutcome::NoVerdict, Vec::new());
    end_what_was_left(context, gate).await?;
    for pause in std::iter::once(Duration::ZERO).chain(AGAIN_AFTER) {
        tokio::time::sleep(pause).await;
        if let Some(verdict) = judged(context, gate, Some(work), &mut review).await? {
            return Ok(with_verdict(review, verdict));
        }
    }
    let why = review.findings.last().cloned().unwrap_or_default();
    if judged(context, gate, None, &mut review).await?.is_none() {
        let agent = gate.agent.as_deref().unwrap_or_default();
        let gate = &gate.name;
        let why = format!(
            "failed to get a verdict of the reviewer `{agent}` for the gate `{gate}`: {why}"
        );
        return Err(StepError::of_surroundings(why).with_review(review));
    }
    // What kept it from one may have been over by then.
    Ok(
        match judged(context, gate, Some(work), &mut review).await? {
            Some(verdict) => with_verdict(review, verdict),
            None => review,
        },
    )
}

/// Asks once, about work or about nothing; a start without a verdict is told, and none where nobody could be asked.
async fn judged(
    context: &StepContext,
    gate: &Gate,
    work: Option<&Gated<'_>>,
    review: &mut GateResult,
) -> Result<Option<Verdict>, StepError> {
    let why = match asked(context, gate, work, review).await {
        Ok(verdict) => return Ok(Some(verdict)),
        Err(NoVerdict::Undone(trouble)) => return Err(trouble.with_review(review.clone())),
        Err(why) => why,
    };
    let of = work.map_or("nothing".to_owned(), |_| context.id().to_string());
    context.tell_warning(format!(
        "the gate `{}` has no verdict on {of}: {why}",
        gate.name
    ));
    review.findings.push(why.to_string());
    Ok(None)
}

fn with_verdict(review: GateResult, verdict: Verdict) -> GateResult {
    let cut = |mut reason: String| {
        reason.truncate(reason.floor_char_boundary(REASON_BYTES));
        reason
    };
    let outcome = match verdict.verdict {
        Decision::Approve => GateOutcome::Passed,
        Decision::Reject => GateOutcome::Rejected,
    };
    GateResult {
        outcome,
        findings: verdict
            .reasons
            .into_iter()
            .take(MOST_REASONS)
            .map(cut)
            .collect(),
        ..review
    }
}

/// Each start has a folder of its own, so that nothing of before is taken for its verdict.
fn next_number(context: &StepContext, gate: &Gate) -> u32 {
    (1..MOST_STARTS)
        .find(|number| {
            !context
                .directory
                .review(&gate.name, *number)
                .path()
                .exists()
        })
        .unwrap_or(MOST_STARTS)
}

/// Ends a reviewer that a tm which is gone has started; what it wrote counts for nothing.
async fn end_what_was_left(context: &StepContext, gate: &Gate) -> Result<(), StepError> {
    let number = next_number(context, gate);
    if number == 1 {
        return Ok(());
    }
    let directory = context.directory.review(&gate.name, number - 1);
    let (_sender, orders) = watch::channel(None);
    // Its time is over.
    let command = launch(
        context,
        gate,
        &directory,
        (directory.path(), "", Duration::ZERO),
    )?;
    // One that has ended is found to be gone.
    let _gone = adopt_attempt(command, orders, |_| {}).await;
    Ok(())
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
enum NoVerdict {
    #[error("the user's checkout changed while it worked: {}", .0.join(", "))]
    Escaped(Vec<String>),
    #[error("it ended with {}", .0.map_or("a signal".to_owned(), |code| code.to_string()))]
    Exited(Option<i32>),
    #[error("it did not end within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    #[error("it neither printed nor wrote anything")]
    Stalled,
    #[error("{0}")]
    NotStarted(String),
    #[error("it used more tokens than it may")]
    UsedUp,
    #[error("it was gone")]
    Gone,
    #[error("its verdict can't be read: {0}")]
    Unreadable(io::Error),
    #[error("its verdict makes no sense: {0}")]
    Senseless(serde_json::Error),
    #[error("it rejects the work without a reason")]
    WithoutReason,
    /// Nobody could be asked.
    #[error("{0}")]
    Undone(StepError),
}

impl From<StepError> for NoVerdict {
    fn from(trouble: StepError) -> Self {
        Self::Undone(trouble)
    }
}

/// One start; without work it is asked whether it can be asked.
async fn asked(
    context: &StepContext,
    gate: &Gate,
    work: Option<&Gated<'_>>,
    spent: &mut GateResult,
) -> Result<Verdict, NoVerdict> {
    let directory = &context
        .directory
        .review(&gate.name, next_number(context, gate));
    directory.create().map_err(StepError::from)?;
    let folder = tempfile::tempdir_in(directory.path()).map_err(StepError::from)?;
    let diff = laid_out(context, work, &folder.path().join(WORK), directory)?;
    let task = match work {
        Some(_) => of_task(context),
        None => of_nothing(context),
    };
    let prompt = prompt(context, gate, (task, &diff), directory)?;
    let start = (folder.path(), prompt.as_str(), gate.limit());
    let command = launch(context, gate, directory, start)?;
    let (sender, orders) = watch::channel(None);
    let most = gate.max_tokens;
    let bounded = move |progress: Progress| {
        let used = progress.tokens.map_or(0, Tokens::total);
        if most.is_some_and(|most| used > most) {
            sender.send_replace(Some(StopMode::Now));
        }
        if let Some(line) = progress.last_line {
            context.tell_output(line);
        }
    };
    let report = context
        .run_agent((Start::New, command, orders), bounded, |_| {})
        .await;
    // Whatever it made there; what stays goes with the run's folder.
    let _as_far_as_it_goes = tm_untrusted::remove_folder(folder.path());
    let report = report?;
    let (ended, escape) = (report.ended.clone(), report.escape.clone());
    add(spent, report);
    if !escape.is_empty() {
        return Err(NoVerdict::Escaped(escape));
    }
    Err(match ended {
        Ended::Exited(Some(0)) => return verdict(&directory.result()),
        Ended::Exited(code) => NoVerdict::Exited(code),
        Ended::TimedOut => NoVerdict::TimedOut(gate.limit()),
        Ended::Stalled => NoVerdict::Stalled,
        Ended::NotStarted(why) => NoVerdict::NotStarted(why),
        Ended::Killed => NoVerdict::UsedUp,
        Ended::Lingered | Ended::Lost => NoVerdict::Gone,
    })
}

fn verdict(file: &Path) -> Result<Verdict, NoVerdict> {
    let text = tm_untrusted::read(file, VERDICT_BYTES).map_err(NoVerdict::Unreadable)?;
    let verdict: Verdict = serde_json::from_slice(&text).map_err(NoVerdict::Senseless)?;
    let mut reasons = verdict.reasons.iter();
    if verdict.verdict == Decision::Reject && reasons.all(|reason| reason.trim().is_empty()) {
        return Err(NoVerdict::WithoutReason);
    }
    Ok(verdict)
}

/// Lays the files of the work out for the reviewer; returns the difference, which lies beside them as well.
fn laid_out(
    context: &StepContext,
    work: Option<&Gated<'_>>,
    folder: &Path,
    directory: &AttemptDirectory,
) -> Result<String, StepError> {
    std::fs::create_dir(folder)?;
    let diff = work.map_or(Ok(String::new()), |work| {
        let (repository, tree, base) = (context.repository(), work.tree, &work.before[0]);
        briefly(|| {
            repository.export(tree, folder)?;
            repository.diff(base, &repository.commit_to_test(tree, base)?)
        })
    })?;
    let file = directory.path().join("diff.patch");
    tm_store::atomic::replace_own(&file, diff.as_bytes())?;
    Ok(diff)
}

fn of_task(context: &StepContext) -> PromptTask {
    PromptTask {
        id: context.id().to_string(),
        title: context.planned.title.to_string(),
        details: context.task.details.clone(),
        ..prompt_task(&context.task)
    }
}

/// Nothing of an agent's, and nothing of a task that may be what keeps the reviewer from a verdict.
fn of_nothing(context: &StepContext) -> PromptTask {
    PromptTask {
        id: context.id().to_string(),
        title: "Nothing".to_owned(),
        details: "Nothing was to be done, and nothing was. Approve that.".to_owned(),
        ..PromptTask::default()
    }
}

fn prompt(
    context: &StepContext,
    gate: &Gate,
    (task, diff): (PromptTask, &str),
    directory: &AttemptDirectory,
) -> Result<String, StepError> {
    let end = diff.floor_char_boundary(DIFF_BYTES);
    let review_context = ReviewContext {
        task,
        phase: context.phase().to_string(),
        own_words: gate.prompt.clone().unwrap_or_default(),
        diff: diff[..end].to_owned(),
        diff_file: directory.path().join("diff.patch").display().to_string(),
        is_cut: end < diff.len(),
        verdict_file: told_folder(&context.setup.executor, directory)
            .result()
            .display()
            .to_string(),
        work_folder: WORK.to_owned(),
    };
    review_prompt(&review_context).map_err(StepError::from)
}

fn launch(
    context: &StepContext,
    gate: &Gate,
    directory: &AttemptDirectory,
    (folder, prompt, timeout): (&Path, &str, Duration),
) -> Result<Box<AgentCommand>, StepError> {
    let agent = gate.agent.as_deref().unwrap_or_default();
    let recipe = recipe(agent, &context.setup.settings)?;
    let launch = Launch {
        executor: context.setup.executor_of(&recipe),
        recipe: &recipe,
        directory,
        besides: Some(Besides {
            read: vec![folder.join(WORK)],
            ..Besides::default()
        }),
        ..launch_of(context, folder, prompt, timeout)
    };
    let mut command = launch.prepare()?;
    // The verdict is read once the agent is gone; it is none of an attempt's results.
    command.result_file = directory.path().join("no-result");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    fn nothing_but_a_verdict_that_can_be_read_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verdict");
        assert!(verdict(&file).is_err(), "there is none");
        for text in [
            "",
            "approve",
            "{}",
            r#"{"verdict": "yes"}"#,
            r#"{"verdict": "approve", "more": 1}"#,
            r#"{"verdict": "reject"}"#,
            r#"{"verdict": "reject", "reasons": [" "]}"#,
            r#"{"verdict": "approve"} {"verdict": "reject"}"#,
        ] {
            std::fs::write(&file, text).unwrap();
            assert!(verdict(&file).is_err(), "{text}");
        }
        std::fs::write(&file, r#"{"verdict": "reject", "reasons": ["no"]}"#).unwrap();
        assert_eq!(verdict(&file).unwrap().verdict, Decision::Reject);
        std::fs::write(&file, r#"{"verdict": "approve"}"#).unwrap();
        assert_eq!(verdict(&file).unwrap().verdict, Decision::Approve);
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert!(verdict(&file).is_err(), "a link");
    }
}
